//! A tool that is answered with a task (SEP-2663), which ends as it is told.

use std::time::Duration;

use rmcp::{
    ErrorData, Peer, RoleServer,
    handler::server::wrapper::Parameters,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, ServerNotification,
        TASKS_EXTENSION_ID, TaskStatusNotification, TaskStatusNotificationParams,
    },
    service::RequestContext,
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
    tool, tool_router,
};
use serde_json::json;
use tower_outcome::{ToolError, binding::rmcp::contain_operation};

use super::{
    Misbehaving,
    params::{Ends, TaskArgs},
};

/// How often to look whether a task has ended that a client is to be told of.
const LOOK: Duration = Duration::from_millis(5);

#[tool_router(router = task_router, vis = "pub(super)")]
impl Misbehaving {
    /// Creates a task, which ends in the way that `ends` says, once `ms` milliseconds have passed.
    #[tool]
    async fn task(
        &self,
        Parameters(args): Parameters<TaskArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolError> {
        let client = context.client_capabilities();
        // Not done in the call's own time instead: a task is all that there is to see here, and
        // `never` would hang. Other tools end like this without one.
        if !client.is_some_and(|client| client.supports_tasks()) {
            return Err(cannot_poll());
        }
        let tell = args.notify == Some(true);
        let mut options = TaskOptions::new();
        options.ttl_ms = args.ttl_ms.or(options.ttl_ms);
        let operation = contain_operation(move |task| operate(args, task));
        let task = self.tasks.spawn(options, operation);
        if tell {
            tokio::spawn(tell_the_end(self.tasks.clone(), task.task_id.clone(), context.peer));
        }
        Ok(CreateTaskResult::new(task).into())
    }
}

fn cannot_poll() -> ToolError {
    let says = format!(
        "This tool answers with a task, and the client has not declared the extension \
         '{TASKS_EXTENSION_ID}' in its capabilities, at initialize or in the request's _meta."
    );
    ToolError::rejected("tasks_not_declared", says).recover(
        "With a client that cannot, call ok, fail_is_error, fail_payload, fail_internal, panic or \
         hang, which end in the same ways without a task.",
    )
}

/// What the task does. Not `async`, so that `panic_sync` panics before there is a future.
fn operate(
    TaskArgs { ends, ms, text, .. }: TaskArgs,
    task: TaskContext,
) -> impl Future<Output = Result<CallToolResult, TaskExit>> + Send {
    let text = text.unwrap_or_else(|| "as asked".to_owned());
    if let Ends::PanicSync = ends {
        panic!("{text}");
    }
    async move {
        tokio::select! {
            biased;
            () = task.cancelled() => Err(TaskExit::Cancelled),
            () = tokio::time::sleep(Duration::from_millis(ms)) => end(ends, text, &task).await,
        }
    }
}

async fn end(ends: Ends, text: String, task: &TaskContext) -> Result<CallToolResult, TaskExit> {
    match ends {
        Ends::Ok => Ok(CallToolResult::success(vec![ContentBlock::text(text)])),
        Ends::IsError => Ok(CallToolResult::error(vec![ContentBlock::text(text)])),
        Ends::Soft => Ok(CallToolResult::structured(json!({ "status": "failed", "error": text }))),
        Ends::Error => Err(ErrorData::internal_error(text, None).into()),
        Ends::Panic | Ends::PanicSync => panic!("{text}"),
        Ends::Never => {
            task.cancelled().await;
            Err(TaskExit::Cancelled)
        }
    }
}

/// Sends `notifications/tasks` once the task has ended. rmcp's manager does not.
async fn tell_the_end(tasks: TaskManager, id: String, client: Peer<RoleServer>) {
    while let Ok(task) = tasks.get_task(&id) {
        if task.status().is_terminal() {
            let params = TaskStatusNotificationParams::new(task);
            let told = TaskStatusNotification::new(params);
            // A client that is gone has no use for it.
            let _ =
                client.send_notification(ServerNotification::TaskStatusNotification(told)).await;
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}
