//! One record for each request, shared by all layers and by the tool itself.
//!
//! A [`Call`] begins where the first of our layers meets a request, and travels with it. Each
//! layer that works on the request holds a *seat*. The verdict is set once, except that a failure
//! which is seen further out overrules a success seen further in. When the last seat is given up
//! the call is closed and its one terminal event written; what is known afterwards makes none.

mod background;
mod decision;
mod ending;
mod event;
mod facts;
mod hold;
mod id;
mod name;
mod record;
mod redaction;
mod scope;
mod seat;
mod sink;
mod task;
mod tasks;
mod verdict;

use std::{
    borrow::Cow,
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    task::Waker,
    time::Instant,
};

pub(crate) use self::{
    ending::report_without_call,
    hold::Hold,
    name::Name,
    sink::Sink,
    tasks::{Remembered, find as find_task},
};
use self::{facts::Traffic, id::CallIdText, sink::Sinks};
pub use self::{
    id::CallId,
    record::{Client, Kind, Origin, Record, RequestId, Session, TraceContext},
    scope::Scoped,
    seat::Seat,
    task::{NewTask, TaskForm, TaskStatus},
    verdict::Verdict,
};
#[cfg(feature = "http")]
pub(crate) use self::{scope::Reach, seat::Waiting};
use crate::{outcome::Reason, policy::Policy, text, unwind};

/// Notes that a tool can leave on its call.
const MAX_NOTES: usize = 16;
/// Bytes of each until it is redacted, and then cut: half a secret is not recognised.
const RAW_NOTE_BYTES: usize = 8 * text::NOTE_BYTES;

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
    /// Cut at [`text::RAW_NAME_CHARS`].
    tool: Option<Name>,
    request_id: Option<RequestId>,
    seats: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    has_started: bool,
    has_span: bool,
    verdict: Option<(Verdict, Instant)>,
    /// Who is to be woken when there is one.
    waker: Option<Waker>,
    deposit: Option<Box<Verdict>>,
    /// Known only where somebody listens.
    origin: Option<Arc<Origin>>,
    policy: Option<Arc<Policy>>,
    sinks: Sinks,
    notes: Vec<(&'static str, String)>,
    traffic: Traffic,
    /// The task that it is, or that it asks about.
    task_id: Option<Box<str>>,
    /// What of it goes on behind its answer.
    background: Option<Call>,
    /// It is what goes on of another one.
    is_background: bool,
    /// A failure of it was logged that no terminal event tells of.
    is_reported: bool,
    /// Why nobody waits for it where nobody works on it any more, without a verdict.
    dropped: Option<Reason>,
    /// How many wait for an end that may come on another connection, without working on it.
    waiting: u32,
}

impl Call {
    /// Begins the record of a request. Of the names as much is kept as is ever shown.
    #[must_use]
    pub fn begin(
        kind: Kind,
        method: Cow<'static, str>,
        tool: Option<&str>,
        request_id: Option<RequestId>,
    ) -> Self {
        let method = match method {
            Cow::Owned(method) if method.len() > text::RAW_NAME_CHARS => {
                text::cut(&method, text::RAW_NAME_CHARS).into_owned().into()
            }
            method => method,
        };
        Self::new(CallId::next(), kind, method, tool, request_id)
    }

    /// A call that no layer has a seat in: what is left with it is logged at once.
    pub(crate) fn begin_unrecorded(kind: Kind) -> Self {
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
            tool: tool.map(|tool| Name::new(text::prefix(tool, text::RAW_NAME_CHARS))),
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
        self.raw_tool().map(|tool| text::prefix(tool, text::NAME_CHARS))
    }

    /// As much of the tool's name as is kept.
    fn raw_tool(&self) -> Option<&str> {
        self.0.tool.as_ref().map(Name::as_str)
    }

    /// The tool's name, made fit to print.
    pub(crate) fn printable_tool(&self) -> Option<String> {
        let sinks = self.state().sinks.clone();
        self.raw_tool().map(|tool| event::name(&sinks, tool, text::NAME_CHARS).into_owned())
    }

    /// Notes a fact of the tool's own for the call's log line, such as how many rows it read. They
    /// stand together in the field `notes`, redacted like any text. At most 16 names, 256 bytes
    /// each; a name that is noted again is replaced, more are left out.
    pub fn note(&self, name: &'static str, value: impl Into<String>) {
        let value = text::cut_bytes(&value.into(), RAW_NOTE_BYTES).into_owned();
        let mut state = self.state();
        if let Some(known) = state.notes.iter_mut().find(|(known, _)| *known == name) {
            known.1 = value;
        } else if state.notes.len() < MAX_NOTES && !state.closed {
            state.notes.push((name, value));
        }
    }

    /// Whether this is the record of such a request: a handler that calls another one with its
    /// own context hands on an id, but asks for something else. Where it asks for the same tool
    /// under the same id it counts as the same call, and a failure further in as its end.
    #[must_use]
    pub fn matches(
        &self,
        kind: Kind,
        method: &str,
        tool: Option<&str>,
        id: Option<&RequestId>,
    ) -> bool {
        self.0.kind == kind
            && self.0.method == text::cut(method, text::RAW_NAME_CHARS)
            && self.0.request_id.as_ref() == id
            && match (self.raw_tool(), tool) {
                (Some(known), Some(tool)) => known == text::prefix(tool, text::RAW_NAME_CHARS),
                (None, None) => true,
                _ => false,
            }
    }

    /// Whether the terminal event is written.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// The policy in force: the innermost layer's, within what those further out decide.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.state().policy.clone().unwrap_or_else(Policy::default_shared)
    }

    pub(crate) fn set_policy(&self, policy: &Arc<Policy>) {
        let outer = self.state().policy.clone();
        let policy = match outer {
            Some(outer) if !Arc::ptr_eq(&outer, policy) => Arc::new(policy.within(&outer)),
            _ => Arc::clone(policy),
        };
        self.state().policy = Some(policy);
    }

    /// Has the end told to `sink`.
    pub(crate) fn add_sink(&self, sink: Arc<dyn Sink>) {
        self.state().sinks.add(sink);
    }

    /// Whether the call's start is still to be logged; it is then taken for logged.
    pub(crate) fn starts(&self) -> bool {
        !std::mem::replace(&mut self.state().has_started, true)
    }

    /// Whether the call has no span of ours yet; it is then taken to have one.
    pub(crate) fn takes_span(&self) -> bool {
        !std::mem::replace(&mut self.state().has_span, true)
    }

    /// Writes the event about the call's start.
    pub(crate) fn tell_start(&self) {
        let sinks = self.state().sinks.clone();
        unwind::shielded(|| event::started(self, &sinks));
    }

    /// Tells why nobody waits for it, should nobody work on it any more before it has ended.
    pub(crate) fn set_dropped(&self, reason: Option<Reason>) {
        if reason.is_some() {
            self.state().dropped = reason;
        }
    }

    /// The verdict that this is.
    fn verdict_of_dropped(&self) -> Verdict {
        let dropped = self.state().dropped;
        match dropped {
            Some(Reason::ClientCancelled) => Verdict::cancelled(),
            reason => Verdict::abandoned(reason),
        }
    }

    /// Takes a seat: the call stays open at least until it is given up.
    pub fn sit(self) -> Seat {
        self.0.seats.fetch_add(1, Ordering::Relaxed);
        Seat::new(self)
    }

    /// Whether no layer works on it any more.
    fn is_idle(&self) -> bool {
        self.0.seats.load(Ordering::Acquire) == 0
    }

    /// Keeps the call open without working on it, until somebody decides how it ended.
    #[cfg(feature = "http")]
    pub(crate) fn wait(self) -> Waiting {
        self.state().waiting += 1;
        Waiting::new(self)
    }

    /// The JSON-RPC id.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        self.0.request_id.as_ref()
    }

    /// What is known by now about where it came from.
    pub(crate) fn origin(&self) -> Arc<Origin> {
        self.state().origin.clone().unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing of ours panics under the lock, and if it did, half a record beats none.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
