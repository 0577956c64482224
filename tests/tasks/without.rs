//! What the table would look like without the layers, or without `contain_operation`; and that
//! these clients would notice.

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
        GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    task_manager::{TaskManager, TaskOptions},
};
use serde_json::json;
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

use crate::{
    kit::{Tasks, line, status},
    support::{Event, Layers, Transport},
};

#[tokio::test]
async fn without_the_layers_errors_tell_everything_and_the_log_nothing() {
    for transport in [Transport::Duplex, Transport::Stateful, Transport::Json2026] {
        let tasks = Tasks::connect(transport, Layers::None).await;
        for (ends, told) in [
            ("ok", "/result/content/0/text"),
            ("is_error", "/result/content/0/text"),
            ("soft", "/result/structuredContent/error"),
            ("error", "/error/message"),
        ] {
            let arguments = json!({ "ends": ends, "ms": 0, "text": "SECRET" });
            let task = create(&tasks, arguments).await;
            let (_, answer) = tasks.until_ended(0, &task).await.pop().unwrap();
            let said = answer.result().unwrap().pointer(told);
            assert_eq!(said, Some(&json!("SECRET")), "{transport:?}, {ends}: {answer:?}");
        }
        let lines = tasks.logs().of_target("tower_outcome");
        assert_eq!(lines, [], "{transport:?}");
    }
}

/// A panic is contained by the operation itself, and logged where the server says so.
#[tokio::test]
async fn without_the_layers_a_contained_operation_still_ends() {
    for ends in ["panic", "panic_sync"] {
        let tasks = Tasks::connect(Transport::Stateful, Layers::None).await;
        let task = create(&tasks, json!({ "ends": ends, "ms": 5, "text": "SECRET" })).await;
        let (_, answer) = tasks.until_ended(1, &task).await.pop().unwrap();
        let error = &answer.result().unwrap()["error"];
        let failed = |event: &&Event| event.message == "tool_failed";
        let came = tasks.logs().wait_for(|events| events.iter().find(failed).map(|_| ())).await;
        assert!(came.is_some(), "{ends}: {}", tasks.logs().raw());
        let events = tasks.logs().of_target("tower_outcome");
        let lines: Vec<_> = events.iter().map(line).collect();
        assert_eq!(lines, ["ERROR tool_failed fault panic"], "{ends}");
        assert_eq!(events[0].field("cause"), Some("SECRET"), "{ends}: {events:?}");
        assert_eq!((status(&answer), &error["code"]), ("failed", &json!(-32603)), "{answer:?}");
        let reference = error["data"]["tower-outcome/failure"]["reference"].as_str().unwrap();
        let logged = events[0].field("reference").or(events[0].field("call_id"));
        assert_eq!(logged, Some(reference), "{ends}: {events:?}");
        assert!(!tasks.received().contains("SECRET"), "{ends}: {answer:?}");
    }
}

/// Without layers nothing is deferred, as far as the log knows.
async fn create(tasks: &Tasks, arguments: serde_json::Value) -> String {
    let answer = tasks.call("task", arguments).await;
    let task = answer.result().and_then(|result| result["taskId"].as_str());
    task.unwrap_or_else(|| panic!("no task: {answer:?}")).to_owned()
}

/// Spawns what panics as rmcp has it.
#[derive(Clone, Default)]
struct Bare(TaskManager);

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if params.name != "task" {
            return Ok(CallToolResult::success(vec![ContentBlock::text("fine")]).into());
        }
        let task = self.0.spawn(TaskOptions::new(), |_| Box::pin(async { panic!("SECRET") }));
        Ok(CreateTaskResult::new(task).into())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.0.get_task(&params.task_id).map(GetTaskResult::new)
    }
}

#[tokio::test]
async fn without_contain_operation_a_task_that_panics_works_on_as_far_as_anybody_knows() {
    let tasks = Tasks::serve(Bare::default().layered(OutcomeLayer::new())).await;
    let created = tasks.create(json!({})).await;
    for _ in 0..3 {
        let (_, answer) = tasks.ask(0, "tasks/get", &created.task).await;
        assert_eq!(status(&answer), "working", "{answer:?}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(tasks.ends(&created), []);
}
