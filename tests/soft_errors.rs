//! Failures that come dressed as successes: one table, over every binding.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::{Value, json};
use support::{Client, Layers, Transport};

/// What a tool's payload is, and what it says of a failure; `None` where it is a success.
fn rows() -> Vec<(Value, Option<&'static str>)> {
    vec![
        // 1. A status, in any case.
        (json!({"status": "failed"}), Some("status=failed")),
        (json!({"status": "FAILED", "error": "disk full"}), Some("disk full")),
        (json!({"state": "Failure"}), Some("state=Failure")),
        (json!({"status": "error", "ok": true}), Some("status=error")),
        (json!({"status": "done", "state": "error"}), Some("state=error")),
        // 2. A flag that is exactly false.
        (json!({"ok": false}), Some("ok=false")),
        (json!({"success": false, "message": "no space"}), Some("no space")),
        (json!({"ok": true, "success": false}), Some("success=false")),
        (json!({"ok": false, "error": {"code": "E", "message": "deep"}}), Some("deep")),
        (json!({"ok": false, "error": {}, "detail": "why"}), Some("why")),
        // 3. A flag that is exactly true, whatever else is there.
        (json!({"ok": true, "error": "a warning"}), None),
        (json!({"success": true, "error": "a warning"}), None),
        // 4. A text that is not blank.
        (json!({"error": "no such flow"}), Some("no such flow")),
        (json!({"error": "first", "message": "second"}), Some("first")),
        // None of these.
        (json!({}), None),
        (json!({"error": null}), None),
        (json!({"error": ""}), None),
        (json!({"error": " \t"}), None),
        (json!({"error": 0.02}), None),
        (json!({"error": ["x"]}), None),
        (json!({"error": {"message": "x"}}), None),
        (json!({"ok": 0}), None),
        (json!({"ok": "false"}), None),
        (json!({"ok": null}), None),
        (json!({"success": 1}), None),
        (json!({"failed": 0}), None),
        (json!({"failed": true}), None),
        (json!({"Status": "failed"}), None),
        (json!({"status": ["failed"]}), None),
        (json!({"status": "failed over"}), None),
        (json!({"result": {"status": "failed"}}), None),
        // However much there is beside it.
        (json!({"rows": vec![json!({"ok": true}); 2000], "ok": false}), Some("ok=false")),
        (
            json!({"a": {"ok": true}, "status": "failed", "z": "x".repeat(3000)}),
            Some("status=failed"),
        ),
        (json!({"rows": vec!["x".repeat(600); 12], "zz": "failed", "zzz": {"ok": false}}), None),
        (json!({"rows": vec!["x".repeat(600); 12], "success": false}), Some("success=false")),
    ]
}

/// Asks for each payload in both forms, and looks at the line about it.
async fn table(transport: Transport, layers: Layers) {
    let client = Client::connect(transport, layers).await;
    let mut wrong = Vec::new();
    for (payload, expected) in rows() {
        for form in ["structured", "text"] {
            // Over HTTP 12 KiB of a text are looked at, escapes included.
            if form == "text" && payload.to_string().len() > 8000 {
                continue;
            }
            let arguments = json!({ "payload": payload, "as": form });
            let id = client.start_call("fail_payload", arguments).await;
            let answer = client.wait(&id).await;
            let end = client.logs().wait_for_end(&id).await.expect("an event");
            let (message, outcome) = match expected {
                Some(_) => ("tool_call_failed", "soft_error"),
                None => ("tool_call_completed", "completed"),
            };
            let is_right = end.message == message
                && end.field("outcome") == Some(outcome)
                && end.field("error") == expected
                && end.field("code") == expected.map(|_| "soft_error")
                && end.field("actor").is_none()
                && end.field("retryable").is_none();
            // The client has what the tool returned.
            let is_unchanged = !answer.is_error()
                && match form {
                    "structured" => answer.structured() == Some(&payload),
                    _ => serde_json::from_str(&answer.text())
                        .is_ok_and(|text: Value| text == payload),
                };
            if !is_right || !is_unchanged {
                wrong.push(format!("{form} {payload}: {end:?} {answer:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{transport:?} {layers:?}:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn typed() {
    table(Transport::Duplex, Layers::Typed).await;
}

#[tokio::test]
async fn http_json() {
    table(Transport::Json, Layers::Http).await;
}

#[tokio::test]
async fn http_events() {
    table(Transport::Stateful, Layers::Http).await;
}

#[tokio::test]
async fn both() {
    table(Transport::Stateless, Layers::Both).await;
}

mod policies {
    use proptest::prelude::*;
    use rmcp::model::{CallToolResult, ContentBlock};
    use tower_outcome::{Policy, ResultClassifier as _, SoftErrors};

    use super::*;

    /// The rules once more, written without a thought for speed or for the first ones.
    fn naive(payload: &Value) -> Option<String> {
        let get = |key: &str| payload.get(key).cloned().unwrap_or(Value::Null);
        let said = |value: &Value| {
            value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let keys = ["error", "message", "detail", "reason"];
        let text = || {
            for key in keys {
                let value = get(key);
                if let Some(text) = said(&value) {
                    return Some(text);
                }
                for inner in keys {
                    if let Some(text) = value.get(inner).and_then(said) {
                        return Some(text);
                    }
                }
            }
            None
        };
        for key in ["status", "state"] {
            if let Some(status) = get(key).as_str() {
                let known = ["error", "failed", "failure"];
                if known.contains(&status.to_lowercase().as_str()) {
                    return Some(text().unwrap_or(format!("{key}={status}")));
                }
            }
        }
        for key in ["ok", "success"] {
            if get(key) == json!(false) {
                return Some(text().unwrap_or(format!("{key}=false")));
            }
        }
        if get("ok") == json!(true) || get("success") == json!(true) {
            return None;
        }
        said(&get("error")).map(|error| text().unwrap_or(error))
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            (0..2_i64).prop_map(Value::from),
            prop_oneof!["failed", "ERROR", "fine", "", " ", "x"].prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..2).prop_map(Value::from),
                object(inner),
            ]
        })
    }

    fn object(member: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
        let key = prop_oneof![
            "status", "state", "ok", "success", "error", "message", "detail", "reason", "other"
        ];
        prop::collection::btree_map(key, member, 0..5)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn random_payloads_are_judged_as_by_the_naive_rules(payload in object(value())) {
            prop_assert_eq!(SoftErrors::new().classify("t", &payload), naive(&payload));
        }
    }

    /// The line about a result of `tool` under `policy`.
    async fn line(policy: Policy, tool: &'static str, result: CallToolResult) -> support::Event {
        let server = support::one_tool(tool, result, policy);
        let client = Client::in_process(server, support::Revision::V2025);
        client.initialize("raw").await;
        let id = client.start_call(tool, json!({})).await;
        client.wait(&id).await;
        client.logs().wait_for_end(&id).await.expect("an event")
    }

    fn failed() -> CallToolResult {
        CallToolResult::structured(json!({"status": "failed", "build": 41}))
    }

    #[tokio::test]
    async fn a_tool_whose_subject_failed_did_not() {
        let off = || Policy::new().no_soft_errors_of("get_build");
        assert_eq!(line(off(), "get_build", failed()).await.message, "tool_call_completed");
        assert_eq!(line(off(), "start_build", failed()).await.message, "tool_call_failed");
        let none = Policy::new().no_soft_errors();
        assert_eq!(line(none, "start_build", failed()).await.message, "tool_call_completed");
    }

    #[tokio::test]
    async fn a_function_is_a_classifier() {
        let own = Policy::new().soft_errors(|tool: &str, payload: &Value| {
            let kind = payload["kind"].as_str().filter(|_| payload["schema"] == "acme.error.v1")?;
            Some(format!("{tool}: {kind}"))
        });
        let result = json!({"schema": "acme.error.v1", "kind": "invalid_id"});
        let end = line(own, "read", CallToolResult::structured(result)).await;
        assert_eq!(
            (end.field("outcome"), end.field("error")),
            (Some("soft_error"), Some("read: invalid_id"))
        );
    }

    #[tokio::test]
    async fn a_classifier_that_panics_changes_nothing() {
        let broken =
            || Policy::new().soft_errors(|_: &str, _: &Value| -> Option<String> { panic!("oh") });
        let end = line(broken(), "read", failed()).await;
        assert_eq!(end.message, "tool_call_completed");
        // It is not asked about what a flag calls a failure, and so cannot turn it round.
        let error = CallToolResult::error(vec![ContentBlock::text("no")]);
        assert_eq!(line(broken(), "read", error).await.field("outcome"), Some("undeclared"));
    }

    #[tokio::test]
    async fn several_blocks_of_text_say_nothing() {
        let text = || ContentBlock::text(r#"{"ok":false}"#);
        let one = CallToolResult::success(vec![text()]);
        assert_eq!(line(Policy::new(), "read", one).await.message, "tool_call_failed");
        let two = CallToolResult::success(vec![text(), text()]);
        assert_eq!(line(Policy::new(), "read", two).await.message, "tool_call_completed");
    }

    #[tokio::test]
    async fn the_level_is_that_of_what_declares_nothing() {
        let policy = Policy::new().undeclared_level(tower_outcome::Level::Warn);
        assert_eq!(line(policy, "read", failed()).await.level, "WARN");
        let policy = Policy::new().level("soft_error", tower_outcome::Level::Info);
        assert_eq!(line(policy, "read", failed()).await.level, "INFO");
    }
}
