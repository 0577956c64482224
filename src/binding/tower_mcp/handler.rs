use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower_mcp::{Error, protocol::CallToolResult};

use super::reply::{rpc_error, tool_failure};
use crate::{call::Kind, tool_error::ToolError};

/// A handler that fails with a [`ToolError`], for tower-mcp's `ToolBuilder::handler`.
///
/// tower-mcp makes a text of what a handler returns as its own `Error`, before any layer sees it,
/// and with that what it declares is lost; this makes a result of it, with the record.
///
/// ```
/// use tower_mcp::{CallToolResult, ToolBuilder};
/// use tower_outcome::{ToolError, binding::tower_mcp::answering};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Read {
///     path: String,
/// }
///
/// async fn read_note(read: Read) -> Result<CallToolResult, ToolError> {
///     if read.path.starts_with('/') {
///         return Err(ToolError::rejected("absolute_path", "The path must be relative.")
///             .field("path")
///             .received(read.path)
///             .recover("Call read_note with a path that search_notes returned."));
///     }
///     Ok(CallToolResult::text(std::fs::read_to_string(&read.path)?))
/// }
///
/// let tool = ToolBuilder::new("read_note").handler(answering(read_note)).build();
/// # let _ = tool;
/// ```
pub fn answering<I, F, Fut, T>(handler: F) -> impl Fn(I) -> Answering<Fut> + Send + Sync + 'static
where
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, ToolError>>,
    T: Into<CallToolResult>,
{
    move |input| answered(handler(input))
}

/// What [`answering`] makes of a handler's future: for handlers that take something else than the
/// arguments.
///
/// ```
/// use tower_mcp::{
///     CallToolResult, NoParams, ToolBuilder,
///     extract::{Json, State},
/// };
/// use tower_outcome::{ToolError, binding::tower_mcp::answered};
///
/// async fn count_notes(path: String) -> Result<CallToolResult, ToolError> {
///     Ok(CallToolResult::text(std::fs::read_dir(path)?.count().to_string()))
/// }
///
/// let tool = ToolBuilder::new("count_notes")
///     .extractor_handler("notes".to_owned(), |State(path), Json(NoParams {})| {
///         answered(count_notes(path))
///     })
///     .build();
/// # let _ = tool;
/// ```
pub fn answered<Fut, T>(handler: Fut) -> Answering<Fut>
where
    Fut: Future<Output = Result<T, ToolError>>,
    T: Into<CallToolResult>,
{
    Answering { handler }
}

pin_project! {
    /// The future of [`answering`] and [`answered`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Answering<F> {
        #[pin]
        handler: F,
    }
}

impl<F, T> Future for Answering<F>
where
    F: Future<Output = Result<T, ToolError>>,
    T: Into<CallToolResult>,
{
    type Output = Result<CallToolResult, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(self.project().handler.poll(cx));
        Poll::Ready(Ok(ended.map_or_else(CallToolResult::from, Into::into)))
    }
}

/// What a tool answers with: an `isError` result, with the record in `_meta`.
impl From<ToolError> for CallToolResult {
    fn from(error: ToolError) -> Self {
        tool_failure(error.render(Kind::ToolCall))
    }
}

/// For prompts, resources and everything else that is not a tool: `rejected` and `stale` are -32602,
/// a fault is -32603, with the record in `data`. Of a tool's error tower-mcp makes a text that
/// declares nothing: use [`answering`] there.
impl From<ToolError> for Error {
    fn from(error: ToolError) -> Self {
        Self::JsonRpc(rpc_error(error.render(Kind::Request)))
    }
}
