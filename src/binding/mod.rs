//! How a protocol library's types teach the layers what they carry.
//!
//! [`rmcp`] is such a binding; [`http`] is one of another kind, since an HTTP request has yet to be
//! read.
//!
//! The layers know no protocol library. A binding implements [`McpRequest`] and [`McpReply`] for
//! the request and the answer of a tower service, and every layer of this crate works on it. Its
//! innermost service runs the handler in the [scope](crate::Scoped::new) of the request's call.

#[cfg(any(feature = "http", feature = "rmcp"))]
mod client;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "rmcp")]
pub mod rmcp;
#[cfg(feature = "rmcp")]
mod schema;
mod view;

use std::{
    borrow::Cow,
    pin::Pin,
    task::{Context, Poll},
};

pub use self::view::{Answer, ErrorView, ResultView, TaskEnd, TaskView};
pub use crate::call::{NewTask, TaskForm, TaskStatus};
use crate::{
    call::{Call, Kind, Origin, RequestId},
    outcome::Reason,
    tool_error::Rendering,
};

/// The key in `_meta` under which a result names the task that it is of.
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// A request as the layers see it.
pub trait McpRequest {
    /// What a service answers it with.
    type Reply: McpReply;
    /// How the layers learn that nobody waits for the answer any more; [`NeverGone`] where the
    /// protocol library cannot tell.
    type Gone: Gone;

    /// What sort of message it is.
    fn kind(&self) -> Kind;

    /// The JSON-RPC method.
    fn method(&self) -> Cow<'static, str>;

    /// The name of the tool that is called, on tool calls.
    fn tool(&self) -> Option<&str>;

    /// The JSON-RPC id, on requests.
    fn id(&self) -> Option<RequestId>;

    /// The task that it asks about: on `tasks/get`, `tasks/result`, `tasks/cancel` and
    /// `tasks/update`. `None` by default, for protocol libraries without tasks.
    fn task_id(&self) -> Option<&str> {
        None
    }

    /// Where it came from. Asked once a call, and only where somebody listens.
    fn origin(&self) -> Origin;

    /// The call that was handed on with [`set_call`](Self::set_call).
    fn call(&self) -> Option<&Call>;

    /// Hands the call on to the layers further in, and to the handler, which has to run in its
    /// [scope](crate::Scoped::new).
    fn set_call(&mut self, call: Call);

    /// A call that may have been begun for this request outside of this stack of layers: in scope
    /// of the task, or carried by the transport. The layers check that it
    /// [matches](Call::matches) the request. Each layer that is reached without a call asks; a
    /// request may remember that there is none.
    fn outer_call(&mut self) -> Option<Call> {
        Call::current()
    }

    /// Watches whether somebody still waits for the answer.
    fn gone(&self) -> Self::Gone;
}

/// An answer as the layers see it.
pub trait McpReply: Sized {
    /// What the answer says.
    fn answer(&self) -> Answer<'_>;

    /// The answer that a failure is told with to the request of this kind with this id: an
    /// `isError` result with the record in `_meta` for a [tool call](Kind::ToolCall), a JSON-RPC
    /// error with the record in `data` for anything else that has an id, and nothing for a
    /// notification.
    fn failure(kind: Kind, id: Option<&RequestId>, rendering: Rendering) -> Self;

    /// This answer, which is [one about a task](Answer::Task), with `rendering` in the place of
    /// what the task ended in and of its status message: the text of neither is for the client. By
    /// default the request for it fails instead.
    #[must_use]
    fn with_task_end(self, id: Option<&RequestId>, rendering: Rendering) -> Self {
        Self::failure(Kind::Request, id, rendering)
    }
}

/// Watches whether somebody still waits for an answer.
pub trait Gone {
    /// Whether the protocol library has told the handler to stop, for whatever reason. An answer
    /// that comes now may still be wanted or not: [`poll_gone`](Self::poll_gone) tells.
    fn fired(&self) -> bool;

    /// Resolves once it is known that nobody waits, or why the handler was told to stop. Polled
    /// after each pending poll of the handler and, where it has [fired](Self::fired), before its
    /// answer is judged; `answered` says so. After [`WhoLeft::StillServed`] it
    /// is polled on.
    fn poll_gone(self: Pin<&mut Self>, cx: &mut Context<'_>, answered: bool) -> Poll<WhoLeft>;
}

/// Why nobody waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhoLeft {
    /// The client asked for the call to stop.
    Cancelled,
    /// The client is gone.
    Gone(Option<Reason>),
    /// Nobody left: an answer that comes is delivered.
    StillServed,
}

/// For requests whose protocol library cannot tell whether somebody still waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverGone;

impl Gone for NeverGone {
    fn fired(&self) -> bool {
        false
    }

    fn poll_gone(self: Pin<&mut Self>, _: &mut Context<'_>, _: bool) -> Poll<WhoLeft> {
        Poll::Pending
    }
}

/// The call of a request: the one that a layer further out has begun, or, where this layer needs
/// one, a new one.
pub(crate) fn call_of<R: McpRequest>(request: &mut R, is_needed: bool) -> Option<Call> {
    if let Some(call) = request.call() {
        return Some(call.clone());
    }
    let outer = request.outer_call();
    if outer.is_none() && !is_needed {
        return None;
    }
    let (kind, method, id) = (request.kind(), request.method(), request.id());
    let call = match outer {
        Some(call) if call.matches(kind, &method, request.tool(), id.as_ref()) => call,
        _ if is_needed => Call::begin(kind, method, request.tool(), id),
        _ => return None,
    };
    if let Some(task_id) = request.task_id() {
        call.set_asked_task(task_id);
    }
    request.set_call(call.clone());
    Some(call)
}
