//! Tasks that their client stops.

use serde_json::json;

use crate::{
    kit::{Tasks, line, status},
    support::{Layers, Transport, server},
};

const PLACES: [(Transport, Layers); 8] = [
    (Transport::Duplex, Layers::Typed),
    (Transport::Stdio2026, Layers::Typed),
    (Transport::Stateful, Layers::Typed),
    (Transport::Stateful, Layers::Http),
    (Transport::Stateless, Layers::Both),
    (Transport::Json, Layers::Http),
    (Transport::Http2026, Layers::Both),
    (Transport::Json2026, Layers::Http),
];

/// Cancelled by whom did not create it, where there are two.
#[tokio::test]
async fn a_task_that_its_client_cancels_is_cancelled_once() {
    for (transport, layers) in PLACES {
        let tasks = Tasks::connect(transport, layers).await;
        let created = tasks.create(json!({ "ends": "never", "ms": 0 })).await;
        let (_, working) = tasks.ask(0, "tasks/get", &created.task).await;
        assert_eq!(status(&working), "working", "{transport:?}, {layers:?}");
        let (id, acknowledged) = tasks.ask(1, "tasks/cancel", &created.task).await;
        assert!(acknowledged.result().is_some(), "{transport:?}, {layers:?}: {acknowledged:?}");
        let asked = tasks.logs().wait_for_end(&id).await.unwrap();
        assert_eq!(line(&asked), "DEBUG request_completed completed -", "{asked:?}");
        assert_eq!(asked.field("method"), Some("tasks/cancel"), "{asked:?}");
        assert_eq!(asked.field("task_id"), Some(&*created.task), "{asked:?}");
        let answer = tasks.polled(&created).await;
        assert_eq!(status(&answer), "cancelled", "{transport:?}, {layers:?}");
        let end = tasks.end(&created).await;
        assert_eq!(line(&end), "INFO tool_call_cancelled cancelled -", "{transport:?}, {layers:?}");
        assert_eq!(end.field("reason"), Some("client_cancelled"), "{transport:?}, {layers:?}");
        assert_eq!(end.field("task_id"), Some(&*created.task), "{transport:?}, {layers:?}");
        assert_eq!(end.field("tool"), Some("task"), "{transport:?}, {layers:?}");
    }
}

/// A cancel is a wish: what the task ends in counts.
#[tokio::test]
async fn a_cancel_that_comes_too_late_changes_nothing() {
    for (ends, expected) in [
        ("ok", "INFO tool_call_completed completed -"),
        ("is_error", "ERROR tool_call_failed undeclared undeclared_error"),
        ("panic_sync", "ERROR tool_call_failed fault panic"),
    ] {
        for is_seen in [false, true] {
            let server = server::Misbehaving::new();
            let bare = Tasks::serve(server.clone()).await;
            let tasks = Tasks::serve(server::layered(server, &server::layer(None))).await;
            let created = tasks.create(json!({ "ends": ends, "ms": 0 })).await;
            // It has ended, which the layers have seen or not.
            let watch = if is_seen { &tasks } else { &bare };
            watch.until_ended(0, &created.task).await;
            tasks.ask(0, "tasks/cancel", &created.task).await;
            tasks.polled(&created).await;
            let end = tasks.end(&created).await;
            assert_eq!(line(&end), expected, "{ends}, seen: {is_seen}");
            assert_eq!(end.field("reason"), None, "{ends}, seen: {is_seen}");
        }
    }
}

/// A cancel of a task that is not there is the client's mistake, as a poll of it is.
#[tokio::test]
async fn a_task_that_is_not_there_is_no_tools_failure() {
    for (transport, layers) in PLACES {
        let tasks = Tasks::connect(transport, layers).await;
        for method in ["tasks/get", "tasks/cancel"] {
            let (id, answer) = tasks.ask(0, method, "no-such-task").await;
            assert_eq!(answer.error_code(), Some(-32602), "{transport:?}, {layers:?}: {answer:?}");
            let end = tasks.logs().wait_for_end(&id).await.unwrap();
            let expected = "INFO request_failed protocol_error invalid_params";
            assert_eq!(line(&end), expected, "{transport:?}, {layers:?}");
            assert_eq!(end.field("task_id"), Some("no-such-task"), "{transport:?}, {layers:?}");
        }
        let events = tasks.logs().of_target("tower_outcome");
        let of_tools = events.iter().find(|event| event.message.starts_with("tool_"));
        assert_eq!(of_tools, None, "{transport:?}, {layers:?}");
    }
}
