//! Contained operations for rmcp's `TaskManager`.

use rmcp::{
    ErrorData,
    handler::server::tool::IntoCallToolResult,
    model::{CallToolResponse, CallToolResult},
    task_manager::{TaskContext, TaskExit, TaskFuture},
};

use super::reply::error_data;
use crate::{call::Kind, contain::contain, tool_error::ToolError};

/// The error of an operation: a [`ToolError`], rmcp's `ErrorData`, or rmcp's `TaskExit`.
pub trait OperationError {
    /// What the task ends in.
    ///
    /// # Errors
    ///
    /// Where it ends in no result.
    fn into_end(self) -> Result<CallToolResult, TaskExit>;
}

/// A result with the `isError` flag, as that of a tool: the task has `completed`.
impl OperationError for ToolError {
    fn into_end(self) -> Result<CallToolResult, TaskExit> {
        end_of(self)
    }
}

/// A JSON-RPC error: the task has `failed`. Of one that blames the server (-32603) the layers withhold
/// the text in their answers; what the server sends of its own accord, `notifications/tasks`, passes
/// typed layers by, so that a [`ToolError`] is the better choice there.
impl OperationError for ErrorData {
    fn into_end(self) -> Result<CallToolResult, TaskExit> {
        Err(self.into())
    }
}

/// As it says: the task was `cancelled`, or has `failed`.
impl OperationError for TaskExit {
    fn into_end(self) -> Result<CallToolResult, TaskExit> {
        Err(self)
    }
}

/// `operation` for [`TaskManager::spawn`](rmcp::task_manager::TaskManager::spawn), whose panics
/// end the task: `failed`, with the fixed text, instead of `working` until its time is up. It
/// returns what a tool returns.
///
/// A panic in making the operation's future, in a poll, and in the destructor of what it holds is
/// caught. What the client is not told of a failure is logged with what the task ended in, once that
/// is asked for; see [tasks](crate#tasks).
///
/// ```
/// use rmcp::{
///     RoleServer,
///     model::{CallToolResponse, CreateTaskResult},
///     service::RequestContext,
///     task_manager::{TaskManager, TaskOptions},
/// };
/// use tower_outcome::{ToolError, binding::rmcp::contain_operation};
///
/// async fn rebuild() -> Result<String, ToolError> {
///     # let path = "index";
///     Ok(std::fs::read_to_string(path)?)
/// }
///
/// // In `ServerHandler::call_tool`, for a client that has declared the extension.
/// fn call_tool(tasks: &TaskManager) -> CallToolResponse {
///     let task = tasks.spawn(TaskOptions::default(), contain_operation(|_context| rebuild()));
///     CallToolResponse::Task(CreateTaskResult::new(task))
/// }
/// # let _ = call_tool;
/// ```
pub fn contain_operation<F, Fut, T, E>(operation: F) -> impl FnOnce(TaskContext) -> TaskFuture
where
    F: FnOnce(TaskContext) -> Fut,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: IntoCallToolResult,
    E: OperationError,
{
    move |context| {
        // Converted in there, where the call is in scope, and what panics meanwhile is caught.
        let contained = contain(|| {
            let operation = operation(context);
            async move {
                Ok::<_, ToolError>(match operation.await {
                    Ok(value) => end_of(value),
                    Err(error) => error.into_end(),
                })
            }
        });
        Box::pin(async move {
            contained
                .await
                .unwrap_or_else(|panicked| Err(error_data(panicked.render(Kind::ToolCall)).into()))
        })
    }
}

/// What a tool returns, as what a task ends in.
fn end_of(value: impl IntoCallToolResult) -> Result<CallToolResult, TaskExit> {
    match value.into_call_tool_result()? {
        CallToolResponse::Complete(result) => Ok(result),
        _ => {
            let text = "an operation ends in a result, not in a task or a question";
            Err(ErrorData::internal_error(text, None).into())
        }
    }
}
