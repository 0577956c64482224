//! C: failures that pass as successes, and the reverse.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use tower_outcome::{OutcomeLayer, Policy, ResultClassifier as _, SoftErrors};

use crate::{
    kit::{self, Tools, call, connect, connect_in, line},
    support::{Client, Layers, Transport},
};

const SOFT: &str = "ERROR tool_call_failed soft_error soft_error";
const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";
const FINE: &str = "INFO tool_call_completed completed -";

/// One place for each binding, and one for both.
const PLACES: [(Transport, Layers); 4] = [
    (Transport::Stdio, Layers::Typed),
    (Transport::Json, Layers::Http),
    (Transport::Http2026, Layers::Http),
    (Transport::Stateful, Layers::Both),
];

/// A tool that returns what it is given as `result`.
fn returns() -> Tools {
    Tools::new().with("get_flow", |asked| async move { given(asked) })
}

fn given(asked: kit::Asked) -> CallToolResult {
    let arguments = asked.params.arguments.unwrap_or_default();
    CallToolResult::structured(arguments.get("result").cloned().unwrap_or_default())
}

/// The line about this payload.
async fn of(client: &Client, tool: &str, payload: Value) -> String {
    let (answer, event) = call(client, tool, json!({ "result": payload })).await;
    assert_eq!(answer.structured(), Some(&payload), "{answer:?}");
    line(&event)
}

#[tokio::test]
async fn c3_a_failure_that_is_returned_normally_is_counted_as_one() {
    let payload = json!({ "success": false, "error": { "code": "ROLLED_BACK" } });
    for (transport, layers) in PLACES {
        let client = Client::connect(transport, layers).await;
        let arguments = json!({ "payload": payload, "as": "structured" });
        let (answer, event) = call(&client, "fail_payload", arguments).await;
        assert_eq!(line(&event), SOFT, "{transport:?}, {layers:?}");
        assert_eq!(event.field("tool"), Some("fail_payload"), "{event:?}");
        // What the client receives is what the tool returned.
        assert!(!answer.is_error(), "{transport:?}: {answer:?}");
        assert_eq!(answer.structured(), Some(&payload), "{transport:?}: {answer:?}");
    }
}

#[tokio::test]
async fn c5_each_of_three_shapes_is_a_failure_and_can_be_switched_off() {
    let status = || json!({ "status": "error" });
    let error = || json!({ "error": "no such flow" });
    let flag = || {
        Tools::new().with("flagged", |_| async {
            CallToolResult::error(vec![ContentBlock::text("no such flow")])
        })
    };
    let none = Vec::<String>::new;
    for (soft, of_status, of_error) in [
        (None, SOFT, SOFT),
        (Some(SoftErrors::new().status_keys(none())), FINE, SOFT),
        (Some(SoftErrors::new().error_keys(none())), SOFT, FINE),
        (Some(SoftErrors::new().status_keys(none()).error_keys(none())), FINE, FINE),
    ] {
        let policy = || match soft.clone() {
            Some(soft) => Policy::new().soft_errors(soft),
            None => Policy::new(),
        };
        let layer = || OutcomeLayer::new().policy(policy());
        let client = connect_in(returns(), layer()).await;
        assert_eq!(of(&client, "get_flow", status()).await, of_status, "{soft:?}");
        assert_eq!(of(&client, "get_flow", error()).await, of_error, "{soft:?}");
        // The protocol's own flag is nobody's to switch off.
        let client = connect_in(flag(), layer()).await;
        let (_, event) = call(&client, "flagged", json!({})).await;
        assert_eq!(line(&event), UNDECLARED, "{soft:?}");
    }
    for (transport, layers) in PLACES {
        let client = Client::connect(transport, layers).await;
        for payload in [status(), error()] {
            let arguments = json!({ "payload": payload, "as": "structured" });
            let (_, event) = call(&client, "fail_payload", arguments).await;
            assert_eq!(line(&event), SOFT, "{transport:?}, {layers:?}: {payload}");
        }
        let (_, event) = call(&client, "fail_is_error", json!({ "text": "no such flow" })).await;
        assert_eq!(line(&event), UNDECLARED, "{transport:?}, {layers:?}");
    }
}

#[tokio::test]
async fn c7_a_houses_own_envelope_is_found_by_its_own_detector() {
    let envelope = || json!({ "schema": "acme.error.v1", "kind": "invalid_id" });
    let client = connect(returns()).await;
    assert_eq!(of(&client, "get_flow", envelope()).await, FINE);
    let policy = Policy::new().soft_errors(|tool: &str, payload: &Value| {
        let is_ours = payload["schema"] == "acme.error.v1";
        let kind = payload["kind"].as_str().filter(|_| is_ours);
        kind.map(str::to_owned).or_else(|| SoftErrors::new().classify(tool, payload))
    });
    let client = connect_in(returns(), OutcomeLayer::new().policy(policy)).await;
    let (answer, event) = call(&client, "get_flow", json!({ "result": envelope() })).await;
    assert_eq!(line(&event), SOFT);
    assert_eq!(event.field("error"), Some("invalid_id"), "{event:?}");
    assert!(!answer.is_error(), "{answer:?}");
    // And what everybody knows is still known.
    assert_eq!(of(&client, "get_flow", json!({ "ok": false })).await, SOFT);
    assert_eq!(of(&client, "get_flow", json!({ "schema": "acme.flow.v1" })).await, FINE);
}

#[tokio::test]
async fn c9_a_tool_whose_subject_may_have_failed_opts_out() {
    let tools = || {
        returns()
            .with("get_build", |asked| async move { given(asked) })
            .with("lost_build", |_| async {
                CallToolResult::error(vec![ContentBlock::text("there is no build 41")])
            })
    };
    let failed = || json!({ "status": "failed", "build": 41 });
    let client = connect(tools()).await;
    assert_eq!(of(&client, "get_build", failed()).await, SOFT);
    let policy = Policy::new().no_soft_errors_of("get_build").no_soft_errors_of("lost_build");
    let client = connect_in(tools(), OutcomeLayer::new().policy(policy)).await;
    assert_eq!(of(&client, "get_build", failed()).await, FINE);
    assert_eq!(of(&client, "get_flow", failed()).await, SOFT);
    let (_, event) = call(&client, "lost_build", json!({})).await;
    assert_eq!(line(&event), UNDECLARED);
    // A text that lists errors inside is no failure, whoever returns it.
    let report = "Error: 2 of 40 checks failed, see below\nError: a\nError: b";
    let client = Client::connect(Transport::Json, Layers::Both).await;
    let (_, event) = call(&client, "ok", json!({ "text": report })).await;
    assert_eq!(line(&event), FINE);
}

/// Whoever looks at the span of a failed call finds its failure: they share the call's id.
#[tokio::test]
async fn c13_the_span_of_a_call_leads_to_its_failure() {
    let tools = Tools::new()
        .with("flagged", |_| async {
            tracing::info!(target: "a_tool", "about to fail");
            CallToolResult::error(vec![ContentBlock::text("quota")])
        })
        .with("dressed", |_| async {
            tracing::info!(target: "a_tool", "about to fail");
            CallToolResult::structured(json!({ "status": "failed" }))
        });
    let client = connect_in(tools, OutcomeLayer::new().span(true)).await;
    for (at, (tool, expected)) in [("flagged", UNDECLARED), ("dressed", SOFT)].iter().enumerate() {
        let (_, event) = call(&client, tool, json!({})).await;
        assert_eq!(line(&event), *expected);
        let raw = client.logs().raw();
        let lines = raw.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of_tool: Vec<_> = lines.filter(|line| line["target"] == "a_tool").collect();
        let span = &of_tool[at]["span"];
        assert_eq!(span["name"], "tool_call", "{span}");
        assert_eq!(span["tool"], *tool, "{span}");
        assert_eq!(span["call_id"].as_str(), event.field("call_id"), "{span}");
    }
}
