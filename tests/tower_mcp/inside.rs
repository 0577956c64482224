//! The layers in this process: round one tool, round the router, and round both.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt as _, timeout::TimeoutLayer, util::BoxCloneService};
use tower_mcp::{
    CallToolResult, Extensions, McpRouter, NoParams, RouterRequest, RouterResponse, TaskContext,
    TaskOutcome, TaskSupportMode, Tool, ToolBuilder,
    protocol::{CallToolParams, McpNotification, McpRequest, McpResponse, RequestId},
};
use tower_outcome::{
    ContainLayer, LogLayer, OutcomeLayer, ToolError,
    binding::tower_mcp::{answering, contain_task},
    only_tools,
};

use crate::support::{GUARD, Logs};

const SECRET: &str = "postgres://notes:hunter2@db";
const PANIC: &str = "a tool that panics";

/// How a tool ends, and what comes of it with our layers.
const ENDS: [(&str, &str); 5] = [
    ("works", "INFO tool_call_completed -"),
    ("panics", "ERROR tool_call_failed panic"),
    ("fails", "ERROR tool_call_failed internal_error"),
    ("declares", "INFO tool_call_failed unknown_note"),
    ("hangs", "WARN tool_call_failed timeout"),
];

async fn end(how: &'static str) -> Result<CallToolResult, ToolError> {
    match how {
        "works" => Ok(CallToolResult::text("fine")),
        "panics" => panic!("{PANIC}"),
        "fails" => Err(std::io::Error::other(SECRET).into()),
        "declares" => Err(ToolError::rejected("unknown_note", "No such note.")),
        _ => std::future::pending().await,
    }
}

/// Where the layers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Tool,
    Server,
    Both,
}

fn tool(how: &'static str, round: Round) -> Tool {
    let tool = ToolBuilder::new(how).handler(answering(move |NoParams {}| end(how)));
    let deadline = TimeoutLayer::new(Duration::from_millis(20));
    match round {
        Round::Server => tool.layer(deadline).build(),
        Round::Tool | Round::Both => tool.layer(OutcomeLayer::new()).layer(deadline).build(),
    }
}

/// A router with one tool, after its handshake.
fn router(tool: Tool) -> McpRouter {
    let router = McpRouter::new().server_info("inside", "1").tool(tool);
    router.session().mark_initializing();
    router.session().mark_initialized();
    router
}

fn call(id: i64, tool: &str) -> RouterRequest {
    let params: CallToolParams =
        serde_json::from_value(json!({ "name": tool, "arguments": {} })).unwrap();
    let inner = McpRequest::CallTool(params);
    RouterRequest { id: RequestId::Number(id), inner, extensions: Extensions::new() }
}

type Server = BoxCloneService<RouterRequest, RouterResponse, Infallible>;

fn server(router: McpRouter, round: Round) -> Server {
    match round {
        Round::Tool => BoxCloneService::new(router),
        Round::Server | Round::Both => {
            BoxCloneService::new(ServiceBuilder::new().layer(OutcomeLayer::new()).service(router))
        }
    }
}

async fn answer(server: Server, request: RouterRequest) -> CallToolResult {
    let answer = tokio::time::timeout(GUARD, server.oneshot(request)).await.expect("an answer");
    match answer.unwrap().inner {
        Ok(McpResponse::CallTool(result)) => result,
        other => panic!("no result of a tool: {other:?}"),
    }
}

fn lines(logs: &Logs) -> Vec<String> {
    let events = logs.of_target("tower_outcome").into_iter();
    let ends = events.filter(|event| !event.message.ends_with("_started"));
    let line = |event: crate::support::Event| {
        let code = event.field("code").unwrap_or("-").to_owned();
        format!("{} {} {code}", event.level, event.message)
    };
    ends.map(line).collect()
}

#[tokio::test]
async fn one_tool_may_have_layers_of_its_own() {
    for round in [Round::Tool, Round::Both] {
        for (how, expected) in ENDS {
            let (logs, _guard) = Logs::capture();
            let server = server(router(tool(how, round)), round);
            let result = answer(server, call(7, how)).await;
            assert_eq!(result.is_error, how != "works", "{round:?} {how}");
            let told = serde_json::to_string(&result).unwrap();
            assert!(!told.contains(SECRET) && !told.contains(PANIC), "{round:?} {how}: {told}");
            assert_eq!(lines(&logs), [expected], "{round:?} {how}");
            let events = logs.of_target("tower_outcome");
            let event = events.last().unwrap();
            // tower-mcp does not say it there; layers round the server do.
            let name = (round == Round::Both).then_some(how);
            assert_eq!(event.field("tool"), name, "{round:?}: {event:?}");
            assert_eq!(event.field("request_id"), Some("7"), "{round:?}: {event:?}");
            if matches!(how, "panics" | "fails") {
                let cause = event.field("cause").unwrap_or_default();
                assert!(!cause.is_empty(), "{round:?}: {event:?}");
                let reference = event.field("call_id").unwrap();
                assert!(told.contains(reference), "{round:?}: {told}");
            }
        }
    }
}

/// What fails in a layer of the tool's own, tower-mcp makes a text of; layers round the server are told
/// no more than that.
#[tokio::test]
async fn a_timeout_in_a_tools_own_layers_needs_ours_there_too() {
    let (logs, _guard) = Logs::capture();
    let server = server(router(tool("hangs", Round::Server)), Round::Server);
    let result = answer(server, call(7, "hangs")).await;
    assert!(result.is_error);
    assert_eq!(lines(&logs), ["ERROR tool_call_failed undeclared_error"]);
}

#[tokio::test]
async fn parts_of_the_layers_go_round_one_tool() {
    let build = |how| ToolBuilder::new(how).handler(answering(move |NoParams {}| end(how)));
    let logging = build("works").layer(LogLayer::new()).build();
    let containing = build("panics").layer(ContainLayer::new()).build();
    let limited = build("hangs")
        .layer(OutcomeLayer::new())
        .layer(only_tools(TimeoutLayer::new(Duration::from_millis(20))))
        .build();
    for (tool, how, expected) in [
        (logging, "works", "INFO tool_call_completed -"),
        (containing, "panics", "ERROR tool_failed panic"),
        (limited, "hangs", "WARN tool_call_failed timeout"),
    ] {
        let (logs, _guard) = Logs::capture();
        let result = answer(server(router(tool), Round::Tool), call(7, how)).await;
        assert_eq!(result.is_error, how != "works");
        assert_eq!(lines(&logs), [expected]);
    }
}

/// Says when it is dropped.
struct Watch(Arc<AtomicBool>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn hanging(is_dropped: &Arc<AtomicBool>) -> Tool {
    let is_dropped = Arc::clone(is_dropped);
    let hang = move |NoParams {}| {
        let watch = Watch(Arc::clone(&is_dropped));
        async move {
            let _watch = watch;
            std::future::pending().await
        }
    };
    ToolBuilder::new("hang").handler(hang).build()
}

fn cancel(router: &McpRouter, id: i64) {
    let params = serde_json::from_value(json!({ "requestId": id })).unwrap();
    router.handle_notification(McpNotification::Cancelled(params));
}

async fn until_started(logs: &Logs) {
    let started = logs.wait_for(|events| {
        events.iter().any(|event| event.message == "tool_call_started").then_some(())
    });
    started.await.expect("it starts");
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_where_that_is_asked_for() {
    for aborts in [false, true] {
        let (logs, _guard) = Logs::capture();
        let is_dropped = Arc::default();
        let router = router(hanging(&is_dropped));
        let contain = ContainLayer::new().abort_on_cancel(aborts);
        let server = ServiceBuilder::new().layer(LogLayer::new()).layer(contain);
        let running = tokio::spawn(server.service(router.clone()).oneshot(call(7, "hang")));
        until_started(&logs).await;
        cancel(&router, 8);
        cancel(&router, 7);
        let ended = logs.wait_for(|events| {
            events.iter().find(|event| event.message == "tool_call_cancelled").cloned()
        });
        let ended = ended.await.expect("it is logged");
        assert_eq!(ended.field("reason"), Some("client_cancelled"));
        if aborts {
            tokio::time::timeout(GUARD, running).await.expect("it ends").unwrap().unwrap();
        } else {
            assert!(!running.is_finished());
            running.abort();
            assert!(running.await.is_err());
        }
        assert!(is_dropped.load(Ordering::Relaxed));
        assert_eq!(lines(&logs), ["INFO tool_call_cancelled -"], "aborts: {aborts}");
    }
}

/// A handler is told to stop, as without the layers.
#[tokio::test]
async fn a_handler_is_told_of_its_cancel() {
    use tower_mcp::extract::Context;
    let (logs, _guard) = Logs::capture();
    let tool = ToolBuilder::new("stops").extractor_handler((), |context: Context| async move {
        context.cancelled().await;
        Ok(CallToolResult::text("stopped"))
    });
    let router = router(tool.build());
    let running = tokio::spawn(answer(server(router.clone(), Round::Server), call(7, "stops")));
    until_started(&logs).await;
    cancel(&router, 7);
    let result = tokio::time::timeout(GUARD, running).await.expect("it stops").unwrap();
    assert!(!result.is_error);
    assert_eq!(lines(&logs), ["INFO tool_call_cancelled -"]);
}

/// A tool that a client may call as a task, which tower-mcp then runs in a task of its own.
#[tokio::test]
async fn a_tool_that_is_run_as_a_task_is_contained_by_its_own_layer() {
    let (logs, _guard) = Logs::capture();
    let tool = ToolBuilder::new("panics")
        .task_support(TaskSupportMode::Optional)
        .handler(answering(|NoParams {}| end("panics")))
        .layer(ContainLayer::new());
    let server = server(router(tool.build()), Round::Server);
    let task = create_task(&server, "panics").await;
    let told = until_ended(&server, &task).await;
    assert_eq!(told["status"], "completed", "{told}");
    assert!(told.to_string().contains("This call was fine"), "{told}");
    let all = lines(&logs);
    let of_tool: Vec<_> = all.iter().filter(|line| line.contains("tool_")).collect();
    assert_eq!(of_tool, ["INFO tool_call_deferred -", "ERROR tool_call_failed panic"], "{all:?}");
}

/// What a task fails with that was told to stop is logged, as what any tool fails with after its cancel.
#[tokio::test]
async fn a_cancelled_task_leaves_its_cause() {
    let (logs, _guard) = Logs::capture();
    let stop = contain_task(|task: TaskContext, NoParams {}| async move {
        task.cancelled().await;
        Err::<TaskOutcome, ToolError>(std::io::Error::other("cannot close the index").into())
    });
    let tool = ToolBuilder::new("stop").live_task_handler_with_context(stop).build();
    let server = server(router(tool), Round::Server);
    let task = create_task(&server, "stop").await;
    let params = serde_json::from_value(json!({ "taskId": task })).unwrap();
    let request = RouterRequest { inner: McpRequest::CancelTask(params), ..call(9, "") };
    server.clone().oneshot(request).await.unwrap().inner.unwrap();
    assert_eq!(until_ended(&server, &task).await["status"], "cancelled");
    let all = lines(&logs);
    let mut of_tool: Vec<_> = all.iter().filter(|line| line.contains("tool_")).collect();
    of_tool.sort();
    let expected = [
        "ERROR tool_failed internal_error",
        "INFO tool_call_cancelled -",
        "INFO tool_call_deferred -",
    ];
    assert_eq!(of_tool, expected, "{all:?}");
}

/// Calls a tool as a task; gives the task's id.
async fn create_task(server: &Server, tool: &str) -> String {
    let mut request = call(7, tool);
    if let McpRequest::CallTool(params) = &mut request.inner {
        params.task = Some(serde_json::from_value(json!({ "ttl": 60_000 })).unwrap());
    }
    let created = server.clone().oneshot(request).await.unwrap().inner.unwrap();
    let created = serde_json::to_value(&created).unwrap();
    created["task"]["taskId"].as_str().expect("a task").to_owned()
}

async fn until_ended(server: &Server, task: &str) -> Value {
    let asked = async {
        loop {
            let params = serde_json::from_value(json!({ "taskId": task })).unwrap();
            let request = RouterRequest { inner: McpRequest::GetTaskInfo(params), ..call(8, "") };
            let told = server.clone().oneshot(request).await.unwrap().inner.unwrap();
            let told: Value = serde_json::to_value(&told).unwrap();
            if told["status"] != "working" {
                return told;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, asked).await.expect("it ends")
}
