//! A task that asks its client something, and goes on.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
        GetTaskParams, GetTaskResult, InputRequest, ServerCapabilities, ServerConfig,
        UpdateTaskParams,
    },
    service::RequestContext,
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use serde_json::json;
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _, binding::rmcp::contain_operation};

use crate::{
    kit::{Tasks, line, serve, status},
    support::{Client, Logs, Revision},
};

/// What the call does before there is a task.
const BEFORE: Duration = Duration::from_millis(150);

#[derive(Clone, Default)]
struct Asks(TaskManager);

async fn ask(task: TaskContext) -> Result<String, TaskExit> {
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "message": "Whose?", "requestedSchema": schema });
    let asks = json!({ "method": "elicitation/create", "params": params });
    let question: InputRequest = serde_json::from_value(asks).unwrap();
    let answer = task.request_input("whose", question).await?;
    match answer["action"].as_str() {
        Some("accept") => Ok("thank you".to_owned()),
        _ => panic!("nobody's"),
    }
}

impl ServerHandler for Asks {
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
        tokio::time::sleep(BEFORE).await;
        let task = self.0.spawn(TaskOptions::new(), contain_operation(ask));
        Ok(CreateTaskResult::new(task).into())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.0.get_task(&params.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        params: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.update_task(&params.task_id, params.input_responses)
    }
}

#[tokio::test]
async fn a_question_is_no_end_and_its_answer_is_a_request_of_its_own() {
    for is_round_http in [false, true] {
        let (logs, _capture) = Logs::capture();
        let tasks = if is_round_http {
            let address = serve(Asks::default(), OutcomeLayer::new()).await;
            Tasks::of(vec![Client::at(&address, Revision::V2025, logs)], false).await
        } else {
            Tasks::serve(Asks::default().layered(OutcomeLayer::new())).await
        };
        for (action, expected) in [
            ("accept", "INFO tool_call_completed completed -"),
            // Its panic is contained where no call is in reach but round the handler.
            (
                "decline",
                match is_round_http {
                    true => "ERROR tool_call_failed fault internal_error",
                    false => "ERROR tool_call_failed fault panic",
                },
            ),
        ] {
            let created = tasks.create(json!({})).await;
            let asked = async {
                loop {
                    let (_, answer) = tasks.ask(0, "tasks/get", &created.task).await;
                    match status(&answer) {
                        "input_required" => return answer,
                        other => assert_eq!(other, "working", "{answer:?}"),
                    }
                }
            };
            let asked = tokio::time::timeout(crate::support::GUARD, asked).await.unwrap();
            let question = &asked.result().unwrap()["inputRequests"]["whose"];
            assert_eq!(question["params"]["message"], "Whose?", "{asked:?}");
            assert_eq!(tasks.ends(&created), [], "{is_round_http}");
            let responses = json!({ "whose": { "action": action } });
            let params = json!({ "taskId": created.task, "inputResponses": responses });
            let id = tasks.first().start("tasks/update", params).await;
            let updated = tasks.first().wait(&id).await;
            assert!(updated.result().is_some(), "{updated:?}");
            let end = tasks.logs().wait_for_end(&id).await.unwrap();
            assert_eq!(line(&end), "DEBUG request_completed completed -", "{is_round_http}");
            assert_eq!(end.field("method"), Some("tasks/update"), "{end:?}");
            assert_eq!(end.field("task_id"), Some(&*created.task), "{end:?}");
            tasks.polled(&created).await;
            let end = tasks.end(&created).await;
            assert_eq!(line(&end), expected, "{is_round_http}");
            // As long as the whole of it took, and not only the task.
            let took = end.fields["duration_ms"].as_f64().unwrap();
            assert!(took >= BEFORE.as_secs_f64() * 1000.0, "{is_round_http}: {end:?}");
        }
    }
}
