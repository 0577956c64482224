//! Work that goes on after nobody waits for it any more.

use std::{borrow::Cow, sync::Arc};

use serde_json::json;
use tokio::sync::Notify;
use tower_outcome::{OutcomeLayer, Redact, ToolError};

use crate::{
    kit::{Asked, Tools, boom, connect, connect_in, end, line, until},
    limits::{assert_healthy, lost, start},
};

/// How a tool ends after its client has cancelled.
fn lingering(gate: &Arc<Notify>) -> Tools {
    let gated = |gate: &Arc<Notify>| {
        let gate = Arc::clone(gate);
        move || {
            let gate = Arc::clone(&gate);
            async move { gate.notified().await }
        }
    };
    let (a, b, c, d) = (gated(gate), gated(gate), gated(gate), gated(gate));
    Tools::new()
        .with("fails", move |_| {
            let gate = a();
            async {
                gate.await;
                Err::<String, ToolError>(std::io::Error::other("password=hunter2, disk").into())
            }
        })
        .with("panics", move |_| {
            let gate = b();
            async {
                gate.await;
                boom("disk")
            }
        })
        .with("rejects", move |_| {
            let gate = c();
            async {
                gate.await;
                Err::<String, _>(ToolError::rejected("unknown_note", "No."))
            }
        })
        .with("succeeds", move |_| {
            let gate = d();
            async {
                gate.await;
                "done".to_owned()
            }
        })
}

#[tokio::test]
async fn a_tool_that_fails_after_its_cancel_has_a_line_for_its_cause() {
    let gate = Arc::new(Notify::new());
    let client = connect(lingering(&gate)).await;
    for (tool, cause) in [
        ("fails", Some("ERROR tool_failed fault internal_error")),
        ("panics", Some("ERROR tool_failed fault panic")),
        // These have no cause that anybody would miss.
        ("rejects", None),
        ("succeeds", None),
    ] {
        let id = start(&client, tool).await;
        client.cancel(&id).await;
        let event = end(&client, &id).await;
        assert_eq!(line(&event), "INFO tool_call_cancelled cancelled -", "{tool}");
        gate.notify_waiters();
        if cause.is_some() {
            until("its cause is logged", || !lost(&client, &event).is_empty()).await;
        }
        assert_healthy(&client).await;
        let lost = lost(&client, &event);
        assert_eq!(lost.iter().map(line).collect::<Vec<_>>(), Vec::from_iter(cause), "{tool}");
        for event in lost {
            let cause = event.field("cause").unwrap();
            assert!(cause.contains("disk") && !cause.contains("hunter2"), "{cause}");
            assert_eq!(event.field("tool"), Some(tool));
        }
        assert_eq!(client.logs().terminal(&id).len(), 1, "{tool}");
    }
}

/// Takes out what only its author knows to be secret.
struct OwnRedactor;

impl Redact for OwnRedactor {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text.replace("db1.corp.example", "[a host]").into()
    }
}

#[tokio::test]
async fn a_redactor_of_ones_own_sees_the_causes_of_cancelled_calls_too() {
    let gate = Arc::new(Notify::new());
    let gated = Arc::clone(&gate);
    let tools = Tools::new().with("fails", move |_| {
        let gate = Arc::clone(&gated);
        async move {
            gate.notified().await;
            Err::<String, ToolError>(std::io::Error::other("no db1.corp.example").into())
        }
    });
    let client = connect_in(tools, OutcomeLayer::new().redactor(OwnRedactor)).await;
    let id = start(&client, "fails").await;
    gate.notify_one();
    assert_eq!(end(&client, &id).await.field("cause"), Some("no [a host]"));

    let id = start(&client, "fails").await;
    client.cancel(&id).await;
    let event = end(&client, &id).await;
    gate.notify_one();
    until("its cause is logged", || !lost(&client, &event).is_empty()).await;
    assert_eq!(lost(&client, &event)[0].field("cause"), Some("no [a host]"));
}

/// The token fires before the notification that says why is there.
#[tokio::test]
async fn a_tool_that_fails_because_of_its_cancel_is_cancelled() {
    let tools = Tools::new()
        .with("fails", |Asked { context, .. }| async move {
            context.ct.cancelled().await;
            Err::<String, ToolError>(std::io::Error::other("disk").into())
        })
        .with("stops", |Asked { context, .. }| async move {
            context.ct.cancelled().await;
            "stopped early".to_owned()
        });
    let client = connect(tools).await;
    for (tool, lines) in [("fails", 1), ("stops", 0)] {
        for _ in 0..5 {
            let id = start(&client, tool).await;
            client.cancel(&id).await;
            let event = end(&client, &id).await;
            assert_eq!(line(&event), "INFO tool_call_cancelled cancelled -", "{tool}");
            assert_healthy(&client).await;
            assert_eq!(lost(&client, &event).len(), lines, "{tool}");
            assert_eq!(client.logs().terminal(&id).len(), 1, "{tool}");
        }
    }
}

/// Cancels that cross the answer on their way: one end each, whichever it is.
#[tokio::test]
async fn a_cancel_that_comes_as_the_call_ends() {
    let tools = Tools::new().with("quick", |asked| async move {
        let turns = asked.params.arguments.unwrap()["turns"].as_u64().unwrap();
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        "done".to_owned()
    });
    let client = connect(tools).await;
    let mut sent = Vec::new();
    for turns in (0..8).cycle().take(200) {
        let id = client.start_call("quick", json!({ "turns": turns })).await;
        client.cancel(&id).await;
        sent.push(id);
    }
    for id in &sent {
        let event = end(&client, id).await;
        let outcome = event.field("outcome").unwrap();
        assert!(["completed", "cancelled"].contains(&outcome), "{event:?}");
    }
    assert_healthy(&client).await;
    for id in &sent {
        assert_eq!(client.logs().terminal(id).len(), 1);
    }
}
