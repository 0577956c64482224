//! What was decided about a call.

use super::task::{CreatedTask, NewTask};
use crate::outcome::{Actor, Cause, Code, Declared, Failure, Level, Outcome, Reason};

/// How a call ended, as one of the layers saw it.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) failure: Option<Box<Failure>>,
    pub(super) reason: Option<Reason>,
    /// The task that goes on with it.
    pub(super) task: Option<Box<CreatedTask>>,
    /// The failure's text is what went out, whatever came from further in.
    is_told: bool,
}

impl Verdict {
    fn plain(outcome: Outcome) -> Self {
        Self { outcome, failure: None, reason: None, task: None, is_told: false }
    }

    /// The result fits the contract.
    #[must_use]
    pub fn completed() -> Self {
        Self::plain(Outcome::Completed)
    }

    /// The server asked for input.
    #[must_use]
    pub fn input_required() -> Self {
        Self::plain(Outcome::InputRequired)
    }

    /// The call goes on as this task, whose end is told when it is seen. Of one without an id
    /// nothing more is known.
    #[must_use]
    pub fn deferred(task: Option<NewTask<'_>>) -> Self {
        let task = task.map(|task| Box::new(CreatedTask::of(task)));
        Self { task, ..Self::plain(Outcome::Deferred) }
    }

    /// The client asked for the call to stop.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::cancelled_by(Some(Reason::ClientCancelled))
    }

    /// The call was stopped, for this reason where it is known.
    pub(crate) fn cancelled_by(reason: Option<Reason>) -> Self {
        Self { reason, ..Self::plain(Outcome::Cancelled) }
    }

    /// The client left.
    #[must_use]
    pub fn abandoned(reason: Option<Reason>) -> Self {
        Self { reason, ..Self::plain(Outcome::Abandoned) }
    }

    /// A failure that says what it means.
    #[must_use]
    pub fn declared(outcome: Declared, failure: Failure) -> Self {
        Self { failure: Some(Box::new(failure)), ..Self::plain(outcome.into()) }
    }

    /// A fault that nobody declared: a panic, an unknown error, a timeout.
    #[must_use]
    pub fn fault(code: Code, actor: Actor, cause: Option<Cause>) -> Self {
        let failure = Failure { cause, ..Failure::new(code, actor) };
        Self::declared(Declared::Fault, failure)
    }

    /// A JSON-RPC error that tells the client what is wrong with its request.
    #[must_use]
    pub fn protocol_error(code: Code, error: Option<String>) -> Self {
        let failure = Failure { error, ..Failure::new(code, Actor::Model) };
        Self { failure: Some(Box::new(failure)), ..Self::plain(Outcome::ProtocolError) }
    }

    /// A request that was turned away before anybody looked at what it says.
    #[cfg(feature = "http")]
    pub(crate) fn refused(failure: Failure) -> Self {
        Self { failure: Some(Box::new(failure)), ..Self::plain(Outcome::ProtocolError) }
    }

    /// A failure whose author did not say what it means.
    #[must_use]
    pub fn undeclared(error: Option<String>) -> Self {
        let failure = Failure {
            code: Code::UNDECLARED_ERROR,
            actor: None,
            level: Level::Error,
            retryable: None,
            error,
            reference: None,
            cause: None,
        };
        Self { failure: Some(Box::new(failure)), ..Self::plain(Outcome::Undeclared) }
    }

    /// A result that says, without a flag, that it failed.
    #[must_use]
    pub fn soft_error(error: String) -> Self {
        let verdict = Self::undeclared(Some(error));
        let failure =
            verdict.failure.map(|failure| Box::new(Failure { code: Code::SOFT_ERROR, ..*failure }));
        Self { outcome: Outcome::SoftError, failure, ..verdict }
    }

    /// The same, with `error` as what the client was told.
    #[must_use]
    pub fn with_error(mut self, error: impl Into<String>) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.error = Some(error.into());
        }
        self
    }

    /// The same, where `error` was put in the place of what came from further in.
    #[must_use]
    pub fn told(mut self, error: impl Into<String>) -> Self {
        self.is_told = true;
        self.with_error(error)
    }

    /// The same, with `cause` as what the client was not told.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.cause = Some(cause);
        }
        self
    }

    /// The same, with more of a cause that it has.
    #[cfg(feature = "http")]
    pub(crate) fn with_more_cause(mut self, more: &str) -> Self {
        let cause = self.failure.as_mut().and_then(|failure| failure.cause.as_mut());
        if let Some(cause) = cause {
            if !cause.chain.is_empty() {
                cause.chain.push(' ');
            }
            cause.chain.push_str(more);
        }
        self
    }

    /// The same at another level. Ends that are no failures have theirs by their event.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.level = level;
        }
        self
    }

    /// What sort of end it is.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_deref()
    }

    /// Whether `later`, seen further out, is what the client really got: an answer that looked
    /// like an end can still be replaced by a failure on its way.
    pub(super) fn is_overruled_by(&self, later: &Self) -> bool {
        later.outcome.is_failure()
            && matches!(
                self.outcome,
                Outcome::Completed | Outcome::Deferred | Outcome::InputRequired
            )
    }

    /// Whether it tells what the client was not told.
    pub(super) fn has_cause(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.cause.is_some())
    }

    /// Whether it is only that a layer of ours did not want to wait any longer.
    pub(super) fn is_deadline(&self) -> bool {
        let cause = self.failure.as_ref().and_then(|failure| failure.cause.as_ref());
        cause.is_some_and(Cause::is_deadline)
    }

    /// Takes over what `later`, the same failure seen further out, knows more about it.
    pub(super) fn complete_with(&mut self, later: Self) {
        let later_is_told = later.is_told;
        if let (Some(own), Some(later)) = (&mut self.failure, later.failure) {
            own.error = match own.error.take() {
                Some(earlier) if !later_is_told => Some(earlier),
                earlier => later.error.or(earlier),
            };
            own.cause = own.cause.take().or(later.cause);
            own.reference = own.reference.take().or(later.reference);
        }
    }
}
