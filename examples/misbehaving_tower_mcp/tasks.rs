//! A tool that is answered with a task, which ends as it is told.

use std::time::Duration;

use serde_json::json;
use tower_mcp::{CallToolResult, JsonRpcError, TaskContext, TaskOutcome, Tool, ToolBuilder};
use tower_outcome::{ToolError, binding::tower_mcp::contain_task};

use crate::params::{Ends, TaskArgs};

/// tower-mcp keeps a task for as long as the call's `task` says, and tells of its end those who
/// subscribed to it: `ttl_ms` and `notify` of the arguments have no say in that.
pub(crate) fn task() -> Tool {
    ToolBuilder::new("task")
        .description("Creates a task, which ends in the way that `ends` says, after `ms` ms.")
        .live_task_handler_with_context(contain_task(operate))
        .build()
}

/// What the task does. Not `async`, so that `panic_sync` panics before there is a future.
fn operate(
    task: TaskContext,
    TaskArgs { ends, ms, text, .. }: TaskArgs,
) -> impl Future<Output = Result<TaskOutcome, ToolError>> + Send {
    let text = text.unwrap_or_else(|| "as asked".to_owned());
    if let Ends::PanicSync = ends {
        panic!("{text}");
    }
    async move {
        tokio::select! {
            biased;
            () = task.cancelled() => Ok(TaskOutcome::Cancelled { message: None }),
            () = tokio::time::sleep(Duration::from_millis(ms)) => Ok(end(ends, text, &task).await),
        }
    }
}

async fn end(ends: Ends, text: String, task: &TaskContext) -> TaskOutcome {
    match ends {
        Ends::Ok => TaskOutcome::Completed(CallToolResult::text(text)),
        Ends::IsError => TaskOutcome::Completed(CallToolResult::error(text)),
        Ends::Soft => {
            let says = json!({ "status": "failed", "error": text });
            TaskOutcome::Completed(CallToolResult::json(says))
        }
        Ends::Error => TaskOutcome::Failed(JsonRpcError::internal_error(text)),
        Ends::Panic | Ends::PanicSync => panic!("{text}"),
        Ends::Never => {
            task.cancelled().await;
            TaskOutcome::Cancelled { message: None }
        }
    }
}
