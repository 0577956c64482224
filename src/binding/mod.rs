//! How a protocol library's types teach the layers what they carry.
//!
//! [`rmcp`] and [`tower_mcp`] are such bindings, made of nothing that is not public here; [`http`] is
//! one of another kind, since an HTTP request has yet to be read.
//!
//! A binding that wraps more than a service, as [`rmcp`] does, works on calls itself: [`call_of`] finds
//! a request's, a [`Seat`] keeps it open, [`Call::decide`] and [`Call::report`] say what became of it,
//! and [`catch`] makes errors of panics. Work behind an answer goes in [`contain`](crate::contain).
//!
//! The layers know no protocol library. A binding implements [`McpRequest`] and [`McpReply`] for
//! the request and the answer of a tower service, and every layer of this crate works on it.
//!
//! All that it takes, for a framework that is made up:
//!
//! ```
//! use std::{borrow::Cow, convert::Infallible};
//!
//! use serde_json::{Map, Value};
//! use tower::{Layer as _, ServiceExt as _, service_fn};
//! use tower_outcome::{
//!     Call, Declaration, Kind, McpReply, McpRequest, Origin, OutcomeLayer, Rendering, RequestId,
//!     ToolError,
//!     binding::{Answer, NeverGone, ResultView},
//! };
//!
//! /// The framework's request for a tool.
//! struct Ask {
//!     id: i64,
//!     tool: String,
//!     call: Option<Call>,
//! }
//!
//! /// Its answer.
//! struct Told {
//!     text: String,
//!     is_error: bool,
//!     meta: Map<String, Value>,
//! }
//!
//! impl McpRequest for Ask {
//!     type Reply = Told;
//!     type Gone = NeverGone;
//!
//!     fn kind(&self) -> Kind {
//!         Kind::ToolCall
//!     }
//!     fn method(&self) -> Cow<'static, str> {
//!         "tools/call".into()
//!     }
//!     fn tool(&self) -> Option<&str> {
//!         Some(&self.tool)
//!     }
//!     fn id(&self) -> Option<RequestId> {
//!         Some(RequestId::Number(self.id))
//!     }
//!     fn origin(&self) -> Origin {
//!         Origin::default()
//!     }
//!     fn call(&self) -> Option<&Call> {
//!         self.call.as_ref()
//!     }
//!     fn set_call(&mut self, call: Call) {
//!         self.call = Some(call);
//!     }
//!     fn gone(&self) -> NeverGone {
//!         NeverGone
//!     }
//! }
//!
//! impl McpReply for Told {
//!     fn answer(&self) -> Answer<'_> {
//!         Answer::Result(ResultView {
//!             is_error: self.is_error,
//!             meta: Some(&self.meta),
//!             text: Some(&self.text),
//!             is_text_alone: true,
//!             ..ResultView::default()
//!         })
//!     }
//!     fn failure(_: Kind, _: Option<&RequestId>, rendering: Rendering) -> Self {
//!         let record = (Declaration::KEY.to_owned(), rendering.declaration.to_value());
//!         Self { text: rendering.text, is_error: true, meta: Map::from_iter([record]) }
//!     }
//! }
//!
//! // A tool's failure becomes an answer of the framework's in the same way.
//! impl From<ToolError> for Told {
//!     fn from(error: ToolError) -> Self {
//!         Self::failure(Kind::ToolCall, None, error.render(Kind::ToolCall))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Infallible> {
//! let broken = |_: Ask| async { Ok::<Told, Infallible>(panic!("out of order")) };
//! let ask = Ask { id: 1, tool: "sort".to_owned(), call: None };
//! let told = OutcomeLayer::new().layer(service_fn(broken)).oneshot(ask).await?;
//! assert!(told.is_error && told.text.starts_with("This call was fine"));
//! # Ok(())
//! # }
//! ```

mod client;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "rmcp")]
pub mod rmcp;
#[cfg(feature = "rmcp")]
mod schema;
#[cfg(feature = "tower-mcp")]
pub mod tower_mcp;
mod view;

use std::{
    borrow::Cow,
    pin::Pin,
    task::{Context, Poll},
};

pub use self::{
    client::InlineClient,
    view::{Answer, ErrorView, ResultView, TaskEnd, TaskView},
};
use crate::{
    call::{Call, Kind, Origin, RequestId, Scoped},
    outcome::Reason,
    tool_error::Rendering,
};
pub use crate::{
    call::{NewTask, Seat, TaskForm, TaskStatus},
    unwind::catch,
};

/// The key in `_meta` under which a result names the task that it is of.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// A request as the layers see it.
pub trait McpRequest {
    /// What a service answers it with.
    type Reply: McpReply;
    /// Whether the innermost service runs the handler in the [scope](crate::Scoped::new) of the
    /// request's call, which keeps it also behind a layer that spawns. Where it does not, as by
    /// default, each layer has what is inside of it run in there.
    const IS_SCOPED: bool = false;
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

    /// Why nobody waits any more where the work for it is dropped before it has ended:
    /// [`ClientCancelled`](Reason::ClientCancelled) where that is how its client cancels. `None`, as by
    /// default, where nobody knows. Asked once, when its record begins.
    fn dropped(&self) -> Option<Reason> {
        None
    }
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

/// `future`, the work for a request, with its call in scope unless the binding sees to that.
pub(crate) fn scoped<R: McpRequest, F>(call: Option<Call>, kind: Kind, future: F) -> Scoped<F> {
    if R::IS_SCOPED {
        return Scoped::unchanged(future);
    }
    Scoped::new(call, kind, future)
}

/// The call of a request: the one that a layer further out has begun, or, where the caller needs one, a
/// new one. For layers and bindings that work on a call themselves, in a [`Seat`].
pub fn call_of<R: McpRequest>(request: &mut R, is_needed: bool) -> Option<Call> {
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
        _ if is_needed => {
            let call = Call::begin(kind, method, request.tool(), id);
            call.set_dropped(request.dropped());
            call
        }
        _ => return None,
    };
    if let Some(task_id) = request.task_id() {
        call.set_asked_task(task_id);
    }
    request.set_call(call.clone());
    Some(call)
}
