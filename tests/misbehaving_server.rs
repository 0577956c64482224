//! The bench itself: its flags, what it does without the layers, and the ways to fail that are no
//! row of the table in `endings.rs` because they end a session or have no answer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{Client, Event, Layers, Transport};

#[test]
fn a_flag_that_does_not_fit_says_which_value_and_what_to_write_instead() {
    for (flags, says) in [
        (&["--mode", "statefull"][..], &["--mode", "'statefull'", "stateful, stateless, json"][..]),
        (&["--mode=x"], &["--mode", "'x'"]),
        (&["--layers", "all"], &["--layers", "'all'", "none, typed"]),
        (&["--layers"], &["--layers", "none, typed"]),
        (&["--http", "localhost"], &["--http", "'localhost'", "127.0.0.1:8080"]),
        (&["--http"], &["--http", "127.0.0.1:8080"]),
        (&["--panic-hook=yes"], &["--panic-hook", "'yes'"]),
        (&["--verbose"], &["'--verbose'", "--http"]),
        (&["stdio"], &["'stdio'", "--http"]),
    ] {
        let run = Command::new(support::binary("misbehaving_server"))
            .args(flags)
            .stdin(Stdio::null())
            .output();
        let output = run.expect("the example runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{flags:?}");
        for part in says {
            assert!(stderr.contains(part), "{flags:?}: no {part} in: {stderr}");
        }
    }
}

#[test]
fn a_server_whose_client_never_comes_exits_well() {
    let run = Command::new(support::binary("misbehaving_server")).stdin(Stdio::null()).output();
    let output = run.expect("the example runs");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
}

/// What the table in `endings.rs` would look like without this crate; and that these clients
/// would notice.
#[tokio::test]
async fn without_the_layers_a_panic_is_never_answered_and_errors_tell_everything() {
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateful] {
        let client = Client::connect(transport, Layers::None).await;
        let panicked =
            client.start_call("panic", json!({ "text": "boom", "when": "first_poll" })).await;
        let failed = client.call("fail_internal", json!({ "text": "SECRET" })).await;
        assert_eq!(failed.text(), "SECRET", "{transport:?}");
        // Anything that the panicked call might still say would be here by now.
        client.call("slow", json!({ "ms": 200 })).await;
        assert_eq!(client.inbox().answers(&panicked), [], "{transport:?}");
        assert_eq!(client.logs().of_target("tower_outcome"), [], "{transport:?}");
    }
}

#[tokio::test]
async fn a_panic_at_initialize_is_answered_and_logged() {
    for transport in [
        Transport::Duplex,
        Transport::Stdio,
        Transport::Stateful,
        Transport::Stateless,
        Transport::Json,
    ] {
        let client = Client::open(transport, Layers::Typed).await;
        let answer = client.initialize("panic-at-initialize").await;
        assert_eq!(answer.error_code(), Some(-32603), "{transport:?}: {answer:?}");
        assert!(!format!("{answer:?}").contains("asked to panic"), "{transport:?}: {answer:?}");
        check_failed_request(&client, transport, "initialize").await;
    }
}

#[tokio::test]
async fn a_panic_at_discover_is_answered_and_logged() {
    for transport in [Transport::Stdio2026, Transport::Http2026, Transport::Json2026] {
        let client = Client::connect(transport, Layers::Typed).await;
        let name = json!({ "name": "panic-at-discover", "version": "0" });
        let meta = json!({ "io.modelcontextprotocol/clientInfo": name });
        let answer = client.request("server/discover", json!({ "_meta": meta })).await;
        assert_eq!(answer.error_code(), Some(-32603), "{transport:?}: {answer:?}");
        check_failed_request(&client, transport, "server/discover").await;
        let healthy = client.call("ok", json!({})).await;
        assert_eq!(healthy.text(), "ok", "{transport:?}");
    }
}

#[tokio::test]
async fn a_notification_that_panics_is_logged_and_the_session_goes_on() {
    // Without sessions rmcp ignores all notifications.
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateful] {
        let client = Client::connect(transport, Layers::Typed).await;
        for how in ["ok", "panic"] {
            client.notify("notifications/misbehave", json!({ "how": how })).await;
        }
        let event = client.logs().wait_for(|events| named(events, "notification_failed")).await;
        let event = event.unwrap_or_else(|| panic!("{transport:?}: {}", client.logs().raw()));
        assert_eq!(event.level, "ERROR", "{transport:?}: {event:?}");
        assert_eq!(event.field("outcome"), Some("fault"), "{transport:?}: {event:?}");
        assert_eq!(event.field("code"), Some("panic"), "{transport:?}: {event:?}");
        assert_eq!(event.field("method"), Some("notifications/misbehave"), "{transport:?}");
        let received = client.logs().wait_for(|events| {
            let is_it = |event: &&Event| {
                event.message == "notification_received"
                    && event.field("method") == Some("notifications/misbehave")
            };
            events.iter().find(is_it).cloned()
        });
        assert_eq!(received.await.expect("the event").level, "DEBUG", "{transport:?}");
        assert_eq!(client.call("ok", json!({})).await.text(), "ok", "{transport:?}");
    }
}

/// With the hook, the log line says where, and the payload stays off stderr.
#[tokio::test]
async fn the_panic_hook_adds_the_place_and_hides_the_payload() {
    let client = Client::open_with(Transport::Stdio, Layers::Typed, &["--panic-hook"]).await;
    client.initialize("raw").await;
    let id = client.start_call("panic", json!({ "text": "PAYLOAD", "when": "first_poll" })).await;
    let event = client.logs().wait_for_end(&id).await.expect("an end");
    let location = event.field("location").unwrap_or_default();
    assert!(location.contains("trouble.rs:"), "{event:?}");
    let is_plain = |line: &&str| serde_json::from_str::<Value>(line).is_err();
    let raw = client.logs().raw();
    assert_eq!(raw.lines().find(is_plain), None, "only JSON lines on stderr");
}

async fn check_failed_request(client: &Client, transport: Transport, method: &str) {
    let id = client.sent()[0].clone();
    let event = client.logs().wait_for_end(&id).await;
    let event = event.unwrap_or_else(|| panic!("{transport:?}: {}", client.logs().raw()));
    assert_eq!(event.message, "request_failed", "{transport:?}: {event:?}");
    assert_eq!(event.level, "ERROR", "{transport:?}: {event:?}");
    assert_eq!(event.field("method"), Some(method), "{transport:?}: {event:?}");
    assert_eq!(event.field("code"), Some("panic"), "{transport:?}: {event:?}");
    assert_eq!(client.logs().terminal(&id).len(), 1, "{transport:?}");
}

fn named(events: &[Event], message: &str) -> Option<Event> {
    events.iter().find(|event| event.message == message).cloned()
}
