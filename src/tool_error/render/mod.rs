//! How a failure reads, and where its cause goes.

mod fault;
mod refused;
mod words;

use super::{Declaration, Inner, Source, ToolError};
use crate::{
    call::{self, Call, CallId, Kind, Verdict},
    cause::{self, Diagnosis},
    outcome::{Actor, Code, Declared, Failure},
    policy::{Heals, Policy},
    unwind,
};

/// What a binding turns into an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rendering {
    /// What the model reads: at most 2000 characters, and it stands on its own.
    pub text: String,
    /// The record that goes with it, complete: with code, actor, advice and reference.
    pub declaration: Declaration,
    /// Whether the record also goes into `structuredContent`.
    pub structured: bool,
    /// The task whose result it takes the place of, which a result names in `_meta` as
    /// `io.modelcontextprotocol/related-task`.
    pub related_task: Option<Box<str>>,
}

impl Rendering {
    /// The fixed text for a fault that nobody declared: a panic, an unknown error, a deadline.
    /// `heals` is what is known about when it goes away.
    ///
    /// ```
    /// use tower_outcome::{CallId, Kind, Rendering};
    ///
    /// let reference = CallId::next();
    /// let rendering = Rendering::fault(Kind::ToolCall, None, reference);
    /// assert_eq!(
    ///     rendering.text,
    ///     format!(
    ///         "This call was fine, but the server could not complete it. Nothing about it should \
    ///          change and sending it again will not help: tell the user that the server has a \
    ///          problem (reference {reference})."
    ///     )
    /// );
    /// ```
    #[must_use]
    pub fn fault(kind: Kind, heals: Option<Heals>, reference: CallId) -> Self {
        Self::fault_with_code(kind, None, heals, reference)
    }

    /// The same, where the client may know what it was.
    pub(crate) fn fault_with_code(
        kind: Kind,
        code: Option<Code>,
        heals: Option<Heals>,
        reference: CallId,
    ) -> Self {
        let mut declaration = Declaration { code, ..Declaration::new(Declared::Fault) };
        settle(&mut declaration, heals);
        declaration.reference = Some(reference.to_string());
        let text = compose(&mut declaration, kind, heals);
        Self { text, declaration, structured: false, related_task: None }
    }
}

impl ToolError {
    /// Turns it into what an answer to a `kind` of request is made of. From here on it counts as
    /// what the client was told: its cause is left with the [current call](Call::current) for the
    /// log line, or, with none, logged at once as `tool_failed`.
    ///
    /// For bindings, and for tests of what a tool says.
    #[must_use]
    pub fn render(self, kind: Kind) -> Rendering {
        let Inner { mut declaration, source, structured, call, .. } = *self.0;
        let call = call.or_else(Call::current);
        let policy = call.as_ref().map_or_else(Policy::default_shared, Call::policy);
        let diagnosis = source.as_ref().map(|source| diagnose(source, &policy));
        let heals = diagnosis.as_ref().and_then(|diagnosis| diagnosis.heals);
        settle(&mut declaration, heals);
        let id = call.as_ref().map_or_else(CallId::next, Call::id);
        if declaration.outcome == Declared::Fault {
            declaration.reference = Some(id.to_string());
        }
        let text = compose(&mut declaration, kind, heals);
        if let Some(diagnosis) = diagnosis {
            let failure = failure(&declaration, diagnosis, &policy, &text);
            let failure = Verdict::declared(declaration.outcome, failure);
            match call {
                Some(call) => call.deposit(failure),
                None => call::report_without_call(id, kind, "", failure),
            }
        }
        // Its destructor is somebody else's code.
        unwind::drop_shielded(source);
        Rendering { text, declaration, structured, related_task: None }
    }

    /// What the model would read of it, without a reference.
    pub(super) fn text(&self) -> String {
        let mut declaration = self.0.declaration.clone();
        let policy = Policy::default_shared();
        let heals = self.0.source.as_ref().and_then(|source| diagnose(source, &policy).heals);
        settle(&mut declaration, heals);
        compose(&mut declaration, Kind::ToolCall, heals)
    }
}

fn diagnose(source: &Source, policy: &Policy) -> Diagnosis {
    cause::diagnose(&*source.error, source.type_name, policy)
}

/// The text of a settled declaration, whose `message` and, of a fault, `recover` are filled in
/// with the fixed words where the author gave none.
fn compose(declaration: &mut Declaration, kind: Kind, heals: Option<Heals>) -> String {
    let word = if kind == Kind::ToolCall { "call" } else { "request" };
    match declaration.outcome {
        Declared::Rejected | Declared::Stale => refused::text(declaration, word),
        Declared::Fault => fault::text(declaration, heals, word),
    }
}

/// Fills in what follows from the declaration and from what the cause is, so that a reader of the
/// record need not know the defaults.
fn settle(declaration: &mut Declaration, heals: Option<Heals>) {
    if declaration.outcome == Declared::Fault {
        match declaration.effects.as_ref().filter(|effects| !effects.is_none()) {
            // Whatever it was, the same call must not be sent again unseen.
            Some(effects) => {
                let code =
                    if effects.unknown { Code::OUTCOME_UNKNOWN } else { Code::PARTIAL_FAILURE };
                declaration.code.get_or_insert(code);
            }
            None if declaration.actor.is_none() => {
                if let Some(heals) = heals {
                    settle_healing(declaration, heals);
                }
            }
            None => {}
        }
    }
    let (code, actor) = (declaration.code(), declaration.actor());
    declaration.code = Some(code);
    declaration.actor = Some(actor);
    declaration.retryable = Some(declaration.retryable());
    if actor != Actor::Time {
        // Waiting does not help.
        declaration.retry_after_seconds = None;
    }
    if actor == Actor::User {
        declaration.user_action_required.get_or_insert(true);
    }
}

fn settle_healing(declaration: &mut Declaration, heals: Heals) {
    let (code, delay) = match heals {
        Heals::Timeout => (Code::TIMEOUT, None),
        Heals::RateLimit(delay) => (Code::RATE_LIMITED, delay),
        Heals::Unavailable(delay) => (Code::UPSTREAM_ERROR, delay),
    };
    declaration.code.get_or_insert(code);
    declaration.actor = Some(Actor::Time);
    let seconds = delay.map(super::bounds::seconds_of);
    declaration.retry_after_seconds = declaration.retry_after_seconds.or(seconds);
}

/// What the log gets: what the client was told, and what it was not.
fn failure(
    declaration: &Declaration,
    diagnosis: Diagnosis,
    policy: &Policy,
    text: &str,
) -> Failure {
    // The wire says `internal_error` of a panic; an author's own code stands.
    let declared = declaration.code();
    let is_panic = declared == Code::INTERNAL_ERROR && diagnosis.code == Code::PANIC;
    let code = if is_panic { diagnosis.code } else { declared };
    let actor = declaration.actor();
    Failure {
        level: policy.level_of(&code, declaration.level, actor.default_level()),
        code,
        actor: Some(actor),
        retryable: Some(declaration.retryable()),
        error: Some(text.to_owned()),
        reference: None,
        cause: Some(diagnosis.cause),
    }
}
