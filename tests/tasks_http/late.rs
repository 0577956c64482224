//! Ends that come when a task's time is up. Each test has a process of its own: whoever forgets for all
//! of them runs on one test's thread, and logs there.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::BodyExt as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
        GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    task_manager::{TaskManager, TaskOptions},
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::Layer as _;
use tower_outcome::{
    Call, OutcomeLayer, ServerHandlerExt as _, ToolError, binding::rmcp::contain_operation, contain,
};

use crate::{
    bench::{Carrier, DEFERRED, FAULT, Form, SECRET, ask_for, fresh_id, told, told_lines},
    kit::{call, fake, line, send, until},
    polls::Tasks,
    support::{Logs, alone::is_alone},
};

const FORGOTTEN: &str = "INFO tool_call_abandoned abandoned -";

/// Has a task that never ends, but that rmcp gives up when its time is up.
#[derive(Clone)]
struct Never(TaskManager, u64);

impl ServerHandler for Never {
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
        let operation = contain_operation(|_| std::future::pending::<Result<String, ToolError>>());
        let options = TaskOptions::default().with_ttl_ms(self.1);
        Ok(CreateTaskResult::new(self.0.spawn(options, operation)).into())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.0.get_task(&params.task_id).map(GetTaskResult::new)
    }
}

/// A client that polls to the end sees what the server says of that, and so does the log: the time for
/// which the layers remember a task is over only later.
#[tokio::test]
async fn what_a_server_says_when_the_time_is_up_is_the_end() {
    if !is_alone("late::what_a_server_says_when_the_time_is_up_is_the_end") {
        return;
    }
    // A busy machine may poll too late for a short time.
    for ttl in [500, 2_000, 8_000, 32_000] {
        let handler = Never(TaskManager::new(), ttl).layered(OutcomeLayer::new());
        let tasks = Tasks::serve(handler).await;
        let begun = Instant::now();
        let created = tasks.create(json!({})).await;
        let (_, last) = tasks.until_ended(0, &created.task).await.pop().unwrap();
        if begun.elapsed() >= Duration::from_millis(2 * ttl) {
            continue;
        }
        assert!(begun.elapsed() >= Duration::from_millis(ttl), "too early: {last:?}");
        for _ in 0..2 {
            tasks.ask(0, "tasks/get", &created.task).await;
        }
        let end = tasks.end(&created).await;
        assert_eq!(line(&end), FAULT, "{end:?}");
        let cause = end.field("cause").unwrap();
        assert!(cause.contains("expired") && !tasks.received().contains(cause), "{end:?}");
        // Nor is there another one once that time is over as well.
        let over = begun + Duration::from_millis(2 * ttl);
        tokio::time::sleep(over.saturating_duration_since(Instant::now())).await;
        let other = tasks.create(json!({})).await;
        assert_eq!(tasks.ends(&created).len(), 1, "{:?}, {other:?}", tasks.ends(&created));
        return;
    }
    panic!("no time was long enough");
}

/// What is known of it only then is one line, however often it is asked for.
#[tokio::test]
async fn a_panic_after_the_task_was_forgotten_is_one_line() {
    if !is_alone("late::a_panic_after_the_task_was_forgotten_is_one_line") {
        return;
    }
    for form in Form::ALL {
        for is_asked_first in [false, true] {
            let what = format!("{form:?}, {is_asked_first}");
            let (logs, _capture) = Logs::capture();
            let (id, goes_on) = (fresh_id(), Arc::new(Notify::new()));
            let (task, gate) = (id.clone(), Arc::clone(&goes_on));
            let service = OutcomeLayer::new().layer(fake(move |request| {
                let (task, gate) = (task.clone(), Arc::clone(&gate));
                async move {
                    let call = request.extensions().get::<Call>().cloned();
                    let message: Value =
                        serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
                    let carrier = Carrier::ALL[0];
                    if message["method"] != "tools/call" {
                        return Ok(carrier.carry(&form.failed(&message, &task)));
                    }
                    let begin = async { drop(tokio::spawn(contain(|| panics(gate)))) };
                    call.unwrap().scope(begin).await;
                    Ok(carrier.carry(&form.created_for(&message, &task, Some(20))))
                }
            }));
            send(service.clone(), call()).await;
            let is_forgotten = || told_lines(&logs, &id) == [DEFERRED, FORGOTTEN];
            until("it is forgotten", is_forgotten).await;
            let ask = async |request| {
                let got = send(service.clone(), ask_for(request, form.question(), &id)).await;
                assert!(!got.text().contains(SECRET), "{what}: {}", got.text());
            };
            if is_asked_first {
                ask(8).await;
                assert_eq!(told(&logs, &id).len(), 3, "{what}");
            }
            goes_on.notify_one();
            let panic = "ERROR tool_failed fault panic";
            let has_panicked = || lines_of_call(&logs, &id).iter().any(|line| line == panic);
            until("it panics", has_panicked).await;
            for request in [9, 10] {
                ask(request).await;
            }
            let asked = is_asked_first.then_some("ERROR tool_failed fault internal_error");
            let expected: Vec<_> =
                [DEFERRED, FORGOTTEN].into_iter().chain(asked).chain([panic]).collect();
            assert_eq!(lines_of_call(&logs, &id), expected, "{what}");
        }
    }
}

async fn panics(gate: Arc<Notify>) -> Result<(), ToolError> {
    gate.notified().await;
    panic!("{SECRET}")
}

/// All that is told of the call that a task was created by.
fn lines_of_call(logs: &Logs, id: &str) -> Vec<String> {
    let told = told(logs, id);
    let call = told[0].field("call_id");
    let mut ours = logs.of_target("tower_outcome");
    ours.retain(|it| it.field("call_id") == call && it.message != "tool_call_started");
    ours.iter().map(line).collect()
}
