//! One record for each request, shared by all layers and by the tool itself.
//!
//! A [`Call`] begins where the first of our layers meets a request, and travels with it. Each
//! layer that works on the request holds a *seat*. The verdict is set once, except that a failure
//! which is seen further out overrules a success seen further in. When the last seat is given up
//! the call is closed and its one terminal event written; what is known afterwards makes none.

mod id;
mod name;
mod record;
mod scope;
mod seat;
mod verdict;

use std::{
    borrow::Cow,
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

pub use self::{
    id::CallId,
    record::{Cause, Client, Failure, Kind, Origin, Record, RequestId, Session, TraceContext},
    scope::Scoped,
    verdict::Verdict,
};
pub(crate) use self::{id::CallIdText, seat::Seat};
use crate::{
    event,
    outcome::{Code, Level, Outcome},
    policy::Policy,
    text, unwind,
};

/// How long a verdict waits for layers further out before it is logged as it is.
pub(crate) const VERDICT_HOLD: Duration = Duration::from_secs(5);
/// Notes that a tool can leave on its call.
const MAX_NOTES: usize = 16;
/// Bytes that are kept of each until it is redacted, and then cut at 256: a secret that is cut in
/// half is not recognised.
const NOTE_BYTES: usize = 2048;

/// A handle to the record of one request. Clones are handles to the same record.
///
/// A tool gets its own with [`Call::current`]:
///
/// ```
/// use tower_outcome::Call;
///
/// fn rebuild_index() -> usize {
///     let rows = 3;
///     if let Some(call) = Call::current() {
///         call.note("rows", rows.to_string());
///     }
///     rows
/// }
/// # rebuild_index();
/// ```
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    id: CallId,
    started: Instant,
    kind: Kind,
    method: Cow<'static, str>,
    /// Cut at [`text::NAME_CHARS`].
    tool: Option<name::Name>,
    request_id: Option<RequestId>,
    seats: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    has_sink: bool,
    verdict: Option<(Verdict, Instant)>,
    deposit: Option<Box<Verdict>>,
    /// Known only where somebody listens.
    origin: Option<Arc<Origin>>,
    policy: Option<Arc<Policy>>,
    sinks: Sinks,
    notes: Vec<(&'static str, String)>,
}

/// Where finished calls go: implemented by what a [`LogLayer`](crate::LogLayer) is configured with.
pub(crate) trait Sink: Send + Sync {
    /// Whether anybody would see the end of a call that is logged at `level`.
    fn wants(&self, level: Level) -> bool;
    /// Takes secrets out of the record.
    fn redact(&self, record: &mut Record);
    /// Writes the event about it, unless it is not to write any: `false`.
    fn write(&self, record: &Record) -> bool;
    /// Tells its hooks.
    fn tell(&self, record: &Record);
}

/// The sinks of a call. There is nearly always one: a second needs a second `LogLayer`.
#[derive(Default)]
struct Sinks {
    first: Option<Arc<dyn Sink>>,
    more: Vec<Arc<dyn Sink>>,
}

impl Sinks {
    fn add(&mut self, sink: Arc<dyn Sink>) {
        match &self.first {
            None => self.first = Some(sink),
            // The same layer applied twice tells its hooks once.
            Some(first) if Arc::ptr_eq(first, &sink) => {}
            Some(_) if self.more.iter().any(|known| Arc::ptr_eq(known, &sink)) => {}
            Some(_) => self.more.push(sink),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<dyn Sink>> {
        self.first.iter().chain(&self.more)
    }

    fn want(&self, level: Level) -> bool {
        self.iter().any(|sink| sink.wants(level))
    }
}

impl Call {
    /// Begins the record of a request.
    #[must_use]
    pub fn begin(
        kind: Kind,
        method: Cow<'static, str>,
        tool: Option<&str>,
        request_id: Option<RequestId>,
    ) -> Self {
        Self::new(CallId::next(), kind, method, tool, request_id)
    }

    /// A call that no layer has a seat in: what is left with it is logged at once.
    fn begin_unrecorded(kind: Kind) -> Self {
        let method = if kind.is_tool() { "tools/call" } else { "" };
        let call = Self::new(CallId::next(), kind, Cow::Borrowed(method), None, None);
        call.state().closed = true;
        call
    }

    fn new(
        id: CallId,
        kind: Kind,
        method: Cow<'static, str>,
        tool: Option<&str>,
        request_id: Option<RequestId>,
    ) -> Self {
        Self(Arc::new(Inner {
            id,
            started: Instant::now(),
            kind,
            method,
            tool: tool.map(|tool| name::Name::new(&text::cut(tool, text::NAME_CHARS))),
            request_id,
            seats: AtomicU32::new(0),
            state: Mutex::default(),
        }))
    }

    /// The call that the code on this thread works for: inside a tool, prompt or other handler
    /// that a binding runs. `None` elsewhere, in tasks that a tool has spawned too; give those the
    /// call with [`scope`](Self::scope).
    #[must_use]
    pub fn current() -> Option<Self> {
        scope::current()
    }

    /// `future`, with this call as the [current](Self::current) one in it: for work that a tool
    /// spawns.
    ///
    /// ```no_run
    /// # async fn rebuild() {}
    /// # use tower_outcome::Call;
    /// # fn tool() {
    /// match Call::current() {
    ///     Some(call) => tokio::spawn(call.scope(rebuild())),
    ///     None => tokio::spawn(rebuild()),
    /// };
    /// # }
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped::new(Some(self.clone()), self.kind(), future)
    }

    /// The call's short name: `call_id` in the log, the reference in a fault's text.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.0.id
    }

    /// What sort of message it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The JSON-RPC method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// The tool's name, cut at 128 characters; on tool calls.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.0.tool.as_ref().map(name::Name::as_str)
    }

    /// Notes a fact of the tool's own for the call's log line, such as how many rows it read. They
    /// stand together in the field `notes`, redacted like any text. At most 16 names, 256 bytes
    /// each; a name that is noted again is replaced, more are left out.
    pub fn note(&self, name: &'static str, value: impl Into<String>) {
        let value = text::cut_bytes(&value.into(), NOTE_BYTES).into_owned();
        let mut state = self.state();
        if let Some(known) = state.notes.iter_mut().find(|(known, _)| *known == name) {
            known.1 = value;
        } else if state.notes.len() < MAX_NOTES && !state.closed {
            state.notes.push((name, value));
        }
    }

    /// Whether this is the record of such a request: a handler that calls another one with its
    /// own context hands on an id, but asks for something else.
    #[must_use]
    pub fn matches(
        &self,
        kind: Kind,
        method: &str,
        tool: Option<&str>,
        id: Option<&RequestId>,
    ) -> bool {
        self.0.kind == kind
            && self.0.method == method
            && self.0.request_id.as_ref() == id
            && match (self.tool(), tool) {
                (Some(known), Some(tool)) => known == text::cut(tool, text::NAME_CHARS),
                (None, None) => true,
                _ => false,
            }
    }

    /// Whether the terminal event is written.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Decides how the call ended. The first to say so is right, except that a failure overrules
    /// an end that is none; who says later why, or what the client was told, adds to it. Once the
    /// call is closed, only a cause is still logged, as `tool_failed`.
    pub fn decide(&self, verdict: Verdict) {
        let late = {
            let mut state = self.state();
            if state.closed {
                Some(verdict).filter(Verdict::has_cause)
            } else {
                match &mut state.verdict {
                    Some((earlier, _)) if !earlier.is_overruled_by(&verdict) => {
                        earlier.complete_with(verdict);
                    }
                    decided => *decided = Some((verdict, Instant::now())),
                }
                None
            }
        };
        if let Some(verdict) = late {
            self.report(verdict);
        }
    }

    /// Logs at once, as `tool_failed`, a failure that no terminal event tells of.
    pub(crate) fn report(&self, verdict: Verdict) {
        event::lost(self.record_of_lost(verdict, self.origin()));
    }

    /// When the verdict was reached, if it was.
    pub(crate) fn decided_at(&self) -> Option<Instant> {
        self.state().verdict.as_ref().map(|(_, at)| *at)
    }

    /// Leaves with the call what the client is not told about a failure that is about to be its
    /// answer. After the terminal event it is logged at once, as `tool_failed`.
    pub fn deposit(&self, failure: Verdict) {
        let late = {
            let mut state = self.state();
            if state.closed {
                Some(failure)
            } else {
                state.deposit = Some(Box::new(failure));
                None
            }
        };
        if let Some(failure) = late {
            self.report(failure);
        }
    }

    /// Adds to what is known about where the call came from; what is known already stays.
    pub fn add_origin(&self, origin: Origin) {
        let mut state = self.state();
        match &mut state.origin {
            Some(known) => Arc::make_mut(known).fill_from(origin),
            unknown => *unknown = Some(Arc::new(origin)),
        }
    }

    /// The policy in force, which the innermost layer that has one decides about.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.state().policy.clone().unwrap_or_else(Policy::default_shared)
    }

    pub(crate) fn set_policy(&self, policy: &Arc<Policy>) {
        self.state().policy = Some(Arc::clone(policy));
    }

    /// Has the end told to `sink`. `true` where this is the first: the call's start is not logged.
    pub(crate) fn add_sink(&self, sink: Arc<dyn Sink>) -> bool {
        let mut state = self.state();
        state.sinks.add(sink);
        !std::mem::replace(&mut state.has_sink, true)
    }

    /// Takes a seat: the call stays open at least until it is given up.
    pub(crate) fn sit(self) -> Seat {
        self.0.seats.fetch_add(1, Ordering::Relaxed);
        Seat::new(self)
    }

    /// The JSON-RPC id.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        self.0.request_id.as_ref()
    }

    /// What is known by now about where it came from.
    pub(crate) fn origin(&self) -> Arc<Origin> {
        self.state().origin.clone().unwrap_or_default()
    }

    /// Closes the call and writes its terminal event. `otherwise` is the verdict where there is
    /// none. Whatever happens in there costs at most the event.
    pub(crate) fn close(&self, otherwise: impl FnOnce() -> Verdict) {
        let (record, sinks, lost) = {
            let mut state = self.state();
            if std::mem::replace(&mut state.closed, true) {
                return;
            }
            let (verdict, at) = match state.verdict.take() {
                Some(decided) => decided,
                None => (otherwise(), Instant::now()),
            };
            let deposit = state.deposit.take();
            let sinks = std::mem::take(&mut state.sinks);
            // Nobody would see it; only a cause must not get lost.
            let level = record::level_of(self.0.kind, verdict.failure.as_deref());
            if deposit.is_none() && verdict.failure.is_none() && !sinks.want(level) {
                return;
            }
            let origin = state.origin.clone().unwrap_or_default();
            let notes = std::mem::take(&mut state.notes);
            drop(state);
            let (record, lost) = self.finish(verdict, at, deposit, origin, notes);
            (record, sinks, lost)
        };
        // A subscriber, hook or redactor that panics costs its own output and no answer.
        unwind::shielded(|| tell(record, &sinks));
        if let Some(lost) = lost {
            event::lost(lost);
        }
    }

    fn finish(
        &self,
        verdict: Verdict,
        at: Instant,
        deposit: Option<Box<Verdict>>,
        origin: Arc<Origin>,
        notes: Vec<(&'static str, String)>,
    ) -> (Record, Option<Record>) {
        let Verdict { outcome, mut failure, reason, task_id } = verdict;
        let mut lost = None;
        if let Some(deposit) = deposit {
            match (&mut failure, deposit.failure) {
                (Some(failure), Some(deposit)) => {
                    // The wire says `internal_error` where the log may say more.
                    if failure.code == Code::INTERNAL_ERROR && deposit.code == Code::PANIC {
                        failure.code = deposit.code;
                    }
                    if failure.cause.is_none() {
                        failure.cause = deposit.cause;
                    }
                }
                // The tool failed while its client was leaving: no terminal line says so.
                (None, Some(failure))
                    if matches!(outcome, Outcome::Cancelled | Outcome::Abandoned) =>
                {
                    let verdict = Verdict { failure: Some(failure), ..*deposit };
                    lost = Some(self.record_of_lost(verdict, Arc::clone(&origin)));
                }
                // The tool met a failure and got over it.
                _ => {}
            }
        }
        let record = Record {
            outcome,
            failure,
            reason,
            task_id,
            duration: at.saturating_duration_since(self.0.started),
            notes,
            ..self.blank_record(origin)
        };
        (record, lost)
    }

    fn blank_record(&self, origin: Arc<Origin>) -> Record {
        Record {
            call_id: self.0.id,
            kind: self.0.kind,
            method: self.0.method.clone(),
            tool: self.tool().map(Into::into),
            request_id: self.0.request_id.clone(),
            origin,
            outcome: Outcome::Completed,
            failure: None,
            reason: None,
            task_id: None,
            duration: Duration::ZERO,
            request_bytes: None,
            result_bytes: None,
            result_scanned: true,
            notes: Vec::new(),
        }
    }

    fn record_of_lost(&self, verdict: Verdict, origin: Arc<Origin>) -> Record {
        Record {
            outcome: verdict.outcome,
            failure: verdict.failure,
            duration: self.0.started.elapsed(),
            ..self.blank_record(origin)
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing of ours panics under the lock, and if it did, half a record beats none.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs at once what the client is not told about a failure, where no call is in reach: in a task
/// of its own. `reference` is what the client is told to refer to.
pub(crate) fn deposit_without_call(reference: CallId, kind: Kind, failure: Verdict) {
    let call = Call::new(reference, kind, Cow::Borrowed(""), None, None);
    event::lost(call.record_of_lost(failure, Arc::default()));
}

/// Logs at once a panic in code that a binding runs outside of any request.
#[cfg(feature = "rmcp")]
pub(crate) fn report_without_call(method: &'static str, cause: Cause) {
    let verdict = Verdict::fault(Code::PANIC, crate::Actor::Operator, Some(cause));
    Call::begin(Kind::Request, method.into(), None, None).report(verdict);
}

fn tell(mut record: Record, sinks: &Sinks) {
    let Some(first) = &sinks.first else {
        // No LogLayer: the cause is all that is written.
        if record.failure.as_ref().is_some_and(|failure| failure.cause.is_some()) {
            event::lost(record);
        }
        return;
    };
    if !sinks.want(record.level()) {
        return;
    }
    first.redact(&mut record);
    // Two layers that log tell of one call once.
    let _ = sinks.iter().any(|sink| sink.write(&record));
    sinks.iter().for_each(|sink| sink.tell(&record));
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.0.id)
            .field("method", &self.0.method)
            .field("tool", &self.0.tool)
            .finish_non_exhaustive()
    }
}
