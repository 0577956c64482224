//! Live tasks, whose handlers tower-mcp runs outside of all layers.

use std::{future::Future, pin::Pin};

use tower_mcp::{Error, RequestContext, TaskContext, TaskOutcome, protocol::CallToolResult};

use super::{
    Carried,
    reply::{error_view, rpc_error},
};
use crate::{
    call::{Call, Kind, Scoped},
    contain::contain,
    tool_error::ToolError,
};

/// The error of a live task: a [`ToolError`], or tower-mcp's `Error`.
pub trait TaskError {
    /// What the task ends in.
    ///
    /// # Errors
    ///
    /// Where tower-mcp is to say so: of a task that was cancelled.
    fn into_end(self) -> Result<TaskOutcome, Error>;
}

/// A result with the `isError` flag, as that of a tool: the task has `completed`.
impl TaskError for ToolError {
    fn into_end(self) -> Result<TaskOutcome, Error> {
        Ok(self.into())
    }
}

/// As tower-mcp takes it: a task that is cancelled ends so, a JSON-RPC error is what it has `failed`
/// with, but for the text of one that blames the server, and of any other error it tells nothing.
impl TaskError for Error {
    fn into_end(self) -> Result<TaskOutcome, Error> {
        Err(self)
    }
}

/// What a live task ends in: a result with the `isError` flag, as that of a tool.
impl From<ToolError> for TaskOutcome {
    fn from(error: ToolError) -> Self {
        Self::Completed(CallToolResult::from(error))
    }
}

/// The future of [`contain_task`].
type TaskFuture = Pin<Box<dyn Future<Output = Result<TaskOutcome, Error>> + Send>>;

/// A handler for tower-mcp's `ToolBuilder::live_task_handler_with_context`, whose panics end the task:
/// `failed`, with the fixed text, instead of `working` until its time is up. It takes what a handler
/// of `live_task_handler` takes.
///
/// A panic in making the handler's future, in a poll, and in the destructor of what it holds is caught.
/// What the client is not told of a failure is logged with what the task ended in, once that is asked
/// for; see [tasks](crate#tasks). A task that fails after it was told to stop counts as cancelled.
///
/// ```
/// use tower_mcp::{CallToolResult, TaskContext, TaskOutcome, ToolBuilder};
/// use tower_outcome::{ToolError, binding::tower_mcp::contain_task};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Rebuild {
///     index: String,
/// }
///
/// async fn rebuild(_task: TaskContext, rebuild: Rebuild) -> Result<TaskOutcome, ToolError> {
///     let text = std::fs::read_to_string(&rebuild.index)?;
///     Ok(TaskOutcome::Completed(CallToolResult::text(text)))
/// }
///
/// let tool =
///     ToolBuilder::new("rebuild").live_task_handler_with_context(contain_task(rebuild)).build();
/// # let _ = tool;
/// ```
pub fn contain_task<I, F, Fut, E>(
    handler: F,
) -> impl Fn(RequestContext, TaskContext, I) -> TaskFuture + Send + Sync + 'static
where
    F: Fn(TaskContext, I) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<TaskOutcome, E>> + Send + 'static,
    E: TaskError,
    I: Send + 'static,
{
    move |context, task, input| {
        let handler = handler.clone();
        let call = call_of(&context);
        let watched = task.clone();
        // Made in there, where the call is in scope.
        let work = async move {
            let contained = contain(|| {
                let work = handler(task, input);
                async move {
                    let ended = work.await;
                    let is_left = ended.is_err() && watched.is_cancelled();
                    // What it failed with is logged beside its cancel.
                    let told = told(ended.or_else(TaskError::into_end));
                    Ok::<_, ToolError>(if is_left { Err(Error::TaskCancelled) } else { told })
                }
            });
            contained.await.unwrap_or_else(|panicked| {
                Ok(TaskOutcome::Failed(rpc_error(panicked.render(Kind::ToolCall))))
            })
        };
        Box::pin(Scoped::new(call, Kind::ToolCall, work))
    }
}

/// What may be told of it: tower-mcp does so in notifications as well, which pass the layers by.
fn told(ended: Result<TaskOutcome, Error>) -> Result<TaskOutcome, Error> {
    match ended {
        Ok(TaskOutcome::Failed(error)) | Err(Error::JsonRpc(error)) => {
            let withheld = error_view(&error).withheld();
            Ok(TaskOutcome::Failed(withheld.map_or(error, rpc_error)))
        }
        ended => ended,
    }
}

/// The call that has created a task: that of layers round the router, or, where it was bridged, of
/// those round the HTTP service.
fn call_of(context: &RequestContext) -> Option<Call> {
    match context.extension::<Carried>() {
        Some(carried) => Some(carried.call.clone()),
        None => context.extension::<Call>().filter(|call| call.kind() == Kind::ToolCall).cloned(),
    }
}
