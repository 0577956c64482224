//! Ids of tasks that are longer than anything that is logged: both sorts of layers mean the same task.

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CreateTaskResult, DetailedTask, GetTaskParams,
        GetTaskResult, ServerCapabilities, ServerConfig, Task, TaskPayload, TaskStatus,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

use crate::{
    bench::{DEFERRED, FAULT, SECRET},
    kit::{line, until},
    polls::{Tasks, serve},
    support::{Client, Logs, Revision},
};

/// All of its tasks have one id.
#[derive(Clone)]
struct Long(String);

impl Long {
    fn task(&self, status: TaskStatus) -> Task {
        Task::new(self.0.clone(), status, "2025-11-25T10:30:00Z", "2025-11-25T10:30:01Z")
    }
}

impl ServerHandler for Long {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CreateTaskResult::new(self.task(TaskStatus::Working)).into())
    }

    async fn get_task(
        &self,
        _: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let Value::Object(error) = json!({ "code": -32603, "message": SECRET }) else {
            unreachable!()
        };
        let task = self.task(TaskStatus::Failed);
        Ok(GetTaskResult::new(DetailedTask::new(task, TaskPayload::Failed { error })))
    }
}

/// Created where one sort of layer sees it, asked for where another one does, or both.
#[tokio::test]
async fn a_long_id_is_one_task_to_all_layers() {
    for id in ["é".repeat(600), "x".repeat(900), "\u{1F980}".repeat(1_000), "\"\\\n".repeat(300)] {
        for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 2, 1]] {
            let (logs, _capture) = Logs::capture();
            let (handler, layer) = (Long(format!("{order:?} {id}")), OutcomeLayer::new);
            let typed = handler.clone().layered(layer());
            // All look into one log.
            let client =
                |at: &str, id| Client::at(at, Revision::V2025, logs.clone()).count_from(id);
            let apart = OutcomeLayer::new().events(false);
            let clients = [
                client(&serve(typed.clone(), layer()).await, 1),
                client(&serve(handler.clone(), layer()).await, 1001),
                client(&serve(typed, apart).await, 2001),
            ];
            let tasks = Tasks::of(clients.into(), false).await;
            let params = json!({ "name": "task", "arguments": {} });
            let client = tasks.client(order[0]);
            let _ = client.request("tools/call", params).await;
            for at in &order[1..] {
                tasks.ask(*at, "tasks/get", &handler.0).await;
            }
            let ping = client.start("ping", json!({})).await;
            logs.wait_for_end(&ping).await.unwrap();
            // A line may be written after its answer was read.
            let told = || {
                let mut told = logs.of_target("tower_outcome");
                told.retain(|it| {
                    it.message.starts_with("tool_") && !it.message.ends_with("_started")
                });
                told
            };
            until("it is told", || told().len() > 1).await;
            let told = told();
            let lines: Vec<_> = told.iter().map(line).collect();
            let what = format!("{order:?}, {} bytes", handler.0.len());
            assert_eq!(lines, [DEFERRED, FAULT], "{what}: {told:#?}");
            assert!(!tasks.received().contains(SECRET), "{what}");
        }
    }
}
