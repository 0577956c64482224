//! The example itself: without the layers, with a deadline, and what both layers say in one line.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::{
    EXAMPLE,
    support::{self, Client, Layers, Transport},
};

#[test]
fn its_flags_are_those_of_the_other_server() {
    for (flags, says) in [
        (&["--mode", "statefull"][..], "write one of stateful, stateless, json, websocket"),
        (&["--layers", "http"], "write --http ADDR, or --layers typed"),
        (&["--verbose"], "--deadline, --panic-hook, --help"),
    ] {
        let binary = support::binary(EXAMPLE);
        let output = Command::new(binary).args(flags).stdin(Stdio::null()).output();
        let output = output.expect("the example runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.starts_with("misbehaving_tower_mcp: "), "{flags:?}: {stderr}");
        assert!(stderr.contains(says), "{flags:?}: {stderr}");
    }
}

/// What the table would look like without this crate; and that these clients would notice.
#[tokio::test]
async fn without_the_layers_a_panic_is_not_answered_and_errors_tell_everything() {
    for transport in [Transport::Stdio, Transport::Stateful] {
        let client = Client::connect_to(EXAMPLE, transport, Layers::None).await;
        let panics = json!({ "text": "boom", "when": "first_poll" });
        let panicked = client.start_call("panic", panics).await;
        let failed = client.call("fail_internal", json!({ "text": "SECRET" })).await;
        assert!(failed.text().contains("SECRET"), "{transport:?}: {failed:?}");
        // Anything that the panicked call might still say would be here by now.
        client.call("slow", json!({ "ms": 200 })).await;
        let answers = client.inbox().answers(&panicked);
        // Over HTTP the connection is closed, which is no answer either.
        assert!(answers.iter().all(support::Answer::is_none), "{transport:?}: {answers:?}");
        assert_eq!(client.logs().of_target("tower_outcome"), [], "{transport:?}");
    }
}

#[tokio::test]
async fn a_panic_at_initialize_is_answered_and_logged() {
    for (transport, layers) in [
        (Transport::Stdio, Layers::Typed),
        (Transport::Stateful, Layers::Typed),
        (Transport::Stateful, Layers::Http),
        (Transport::Json, Layers::Both),
    ] {
        let client = Client::open_example(EXAMPLE, transport, layers, &[]).await;
        let answer = client.initialize("panic-at-initialize").await;
        assert_eq!(answer.error_code(), Some(-32603), "{transport:?}: {answer:?}");
        assert!(!format!("{answer:?}").contains("asked to panic"), "{transport:?}: {answer:?}");
        let id = client.sent()[0].clone();
        let event = client.logs().wait_for_end(&id).await.expect("an end");
        assert_eq!(event.message, "request_failed", "{transport:?}: {event:?}");
        assert_eq!(event.field("code"), Some("panic"), "{transport:?}: {event:?}");
        assert_eq!(event.field("client_name"), Some("panic-at-initialize"), "{event:?}");
        assert_eq!(client.logs().terminal(&id).len(), 1, "{transport:?}");
    }
}

#[tokio::test]
async fn a_deadline_answers_in_a_tools_place() {
    for (transport, layers) in [
        (Transport::Stdio, Layers::Typed),
        (Transport::Stateful, Layers::Http),
        (Transport::Stateful, Layers::Both),
    ] {
        let flags = ["--deadline", "100"];
        let client = Client::open_example(EXAMPLE, transport, layers, &flags).await;
        client.initialize("raw").await;
        let id = client.start_call("hang", json!({})).await;
        let answer = client.wait(&id).await;
        assert!(answer.is_error(), "{transport:?}: {answer:?}");
        let event = client.logs().wait_for_end(&id).await.expect("an end");
        assert_eq!(event.field("code"), Some("timeout"), "{transport:?}: {event:?}");
        assert_eq!(event.level, "WARN", "{transport:?}: {event:?}");
    }
}

/// The HTTP layers know of the client and its session, those inside of the cause.
#[tokio::test]
async fn in_both_layers_one_line_has_the_facts_of_both() {
    for transport in [Transport::Stateful, Transport::Json] {
        let client = Client::connect_to(EXAMPLE, transport, Layers::Both).await;
        let id = client.start_call("fail_unknown", json!({ "text": "SECRET" })).await;
        client.wait(&id).await;
        let event = client.logs().wait_for_end(&id).await.expect("an end");
        for field in ["route", "session", "client_name", "protocol_version", "cause", "error_type"]
        {
            assert!(event.fields.contains_key(field), "{transport:?}: no {field}: {event:?}");
        }
        let about_it = client.logs().of_target("tower_outcome");
        let about_it: Vec<_> = about_it.iter().filter(|event| event.is_about(&id)).collect();
        let messages: Vec<_> = about_it.iter().map(|event| event.message.as_str()).collect();
        assert_eq!(messages, ["tool_call_started", "tool_call_failed"], "{transport:?}");
    }
}

/// With the hook, the log line says where, and the payload stays off stderr.
#[tokio::test]
async fn the_panic_hook_adds_the_place_and_hides_the_payload() {
    let client =
        Client::open_example(EXAMPLE, Transport::Stdio, Layers::Typed, &["--panic-hook"]).await;
    client.initialize("raw").await;
    let id = client.start_call("panic", json!({ "text": "PAYLOAD", "when": "first_poll" })).await;
    let event = client.logs().wait_for_end(&id).await.expect("an end");
    assert!(event.field("location").unwrap_or_default().contains("trouble.rs:"), "{event:?}");
    let raw = client.logs().raw();
    assert!(!raw.contains("thread '"), "{raw}");
}
