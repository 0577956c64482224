//! The memory of tasks is one for the process, whoever created them and whoever asks.

use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::json;
use tower_outcome::{LogLayer, OutcomeLayer, ServerHandlerExt as _};

use crate::{
    kit::{Tasks, line, status},
    support::{Client, Layers, Logs, Revision, Transport, server},
};

/// A pipe to this handler, whose client counts its requests from `id`.
fn pipe(handler: impl ServerHandler, id: u64, logs: &Logs) -> Client {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        if let Ok(session) = handler.serve(theirs).await {
            let _ = session.waiting().await;
        }
    });
    Client::over_pipe(ours, Revision::V2025, logs.clone()).count_from(id)
}

/// Layers that were made apart, as rmcp's factories make them for each session.
#[tokio::test]
async fn the_end_is_one_line_whichever_layers_see_it() {
    let (logs, _capture) = Logs::capture();
    let server = server::Misbehaving::new();
    let apart = || server.clone().layered(OutcomeLayer::new());
    let clients = vec![pipe(apart(), 1, &logs), pipe(apart(), 1001, &logs)];
    let tasks = Tasks::of(clients, false).await;
    for (ends, expected) in [
        ("ok", "INFO tool_call_completed completed -"),
        ("is_error", "ERROR tool_call_failed undeclared undeclared_error"),
        ("panic", "ERROR tool_call_failed fault panic"),
    ] {
        let created = tasks.create(json!({ "ends": ends, "ms": 5 })).await;
        tasks.polled(&created).await;
        assert_eq!(line(&tasks.end(&created).await), expected, "{ends}");
    }
}

/// Two stacks of layers round one another write one line, as about any call.
#[tokio::test]
async fn layers_written_twice_write_one_line() {
    let server = server::Misbehaving::new();
    let twice = server.layered(OutcomeLayer::new()).layered_uncontained(LogLayer::new());
    let tasks = Tasks::serve(twice).await;
    for (ends, expected) in [
        ("ok", "INFO tool_call_completed completed -"),
        ("error", "ERROR tool_call_failed fault internal_error"),
    ] {
        let created = tasks.create(json!({ "ends": ends, "ms": 5 })).await;
        tasks.polled(&created).await;
        assert_eq!(line(&tasks.end(&created).await), expected, "{ends}");
    }
}

/// Who created it is gone with its session when it ends.
#[tokio::test]
async fn a_task_outlives_the_session_that_created_it() {
    for layers in [Layers::Typed, Layers::Http, Layers::Both] {
        let tasks = Tasks::connect(Transport::Stateful, layers).await;
        let created = tasks.create(json!({ "ends": "is_error", "ms": 150 })).await;
        tasks.first().close().await;
        let (_, answer) = tasks.until_ended(1, &created.task).await.pop().unwrap();
        assert_eq!(status(&answer), "completed", "{layers:?}");
        for _ in 0..2 {
            tasks.ask(1, "tasks/get", &created.task).await;
        }
        let id = tasks.client(1).start("ping", json!({})).await;
        tasks.logs().wait_for_end(&id).await.unwrap();
        let ends: Vec<_> = tasks.ends(&created).iter().map(line).collect();
        let expected = ["ERROR tool_call_failed undeclared undeclared_error"];
        assert_eq!(ends, expected, "{layers:?}");
    }
}
