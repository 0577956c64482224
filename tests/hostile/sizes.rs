//! Depth and length.

use serde_json::{Value, json};

use crate::{
    fields::assert_fit_to_print,
    kit::{LAYERS, call, end, line},
    support::{Client, Transport},
};

const MEBIBYTE: usize = 1024 * 1024;

fn nested(depth: usize, open: &str, close: &str) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

#[tokio::test]
async fn deep_nesting_up_to_what_serde_json_refuses() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let mut answered = 0;
    // serde_json stops at 128, the message's own levels included.
    let depths = (100..=130).chain([1, 10, 1000, 100_000]);
    for (number, depth) in depths.enumerate() {
        for (form, open, close) in [("a", "[", "]"), ("o", "{\"a\":", "}")] {
            let id = json!(format!("{number}{form}"));
            let payload = nested(depth, open, close);
            let arguments = format!(r#"{{"payload":{payload},"as":"structured"}}"#);
            let params = format!(r#"{{"name":"fail_payload","arguments":{arguments}}}"#);
            let method = r#""jsonrpc":"2.0","method":"tools/call""#;
            client.send_line(&format!(r#"{{{method},"id":{id},"params":{params}}}"#)).await;
            let (healthy, _) = call(&client, "ok", json!({})).await;
            assert_eq!(healthy.text(), "ok", "after depth {depth}");
            let (answers, ends) = (client.inbox().answers(&id), client.logs().terminal(&id));
            // What is no JSON to rmcp has no id to answer; all else is answered and logged.
            assert_eq!(answers.len(), ends.len(), "depth {depth}: {answers:?}, {ends:?}");
            assert!(ends.len() <= 1 && (depth > 100 || ends.len() == 1), "depth {depth}");
            answered += ends.len();
        }
    }
    assert!(answered > 6, "only {answered} were answered");
    assert_fit_to_print(client.logs());
}

#[tokio::test]
async fn results_of_eight_mebibytes() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let bytes = 8 * MEBIBYTE;
    let (answer, event) = call(&client, "big", json!({ "bytes": bytes })).await;
    assert_eq!(answer.text().len(), bytes);
    assert_eq!(line(&event), "INFO tool_call_completed completed -");
    let (answer, event) = call(&client, "big", json!({ "bytes": bytes, "is_error": true })).await;
    assert_eq!(answer.text().len(), bytes, "an undeclared error goes out whole");
    assert_eq!(line(&event), "ERROR tool_call_failed undeclared undeclared_error");
    assert_fit_to_print(client.logs());
}

#[tokio::test]
async fn requests_of_two_mebibytes() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let long = "\u{202e}é\n".repeat(2 * MEBIBYTE / 6);
    for (tool, arguments, expected) in [
        ("ok", json!({ "text": long }), "INFO tool_call_completed completed -"),
        ("fail_unknown", json!({ "text": long }), "ERROR tool_call_failed fault internal_error"),
        ("fail_internal", json!({ "text": long }), "ERROR tool_call_failed fault internal_error"),
        (
            "fail_protocol",
            json!({ "code": -32050, "message": "m", "data": [long] }),
            "ERROR tool_call_failed fault internal_error",
        ),
        (
            "fail_protocol",
            json!({ "code": -32602, "message": long }),
            "INFO tool_call_failed protocol_error invalid_params",
        ),
        (
            "fail_declared",
            json!({ "outcome": "stale", "code": "c", "message": long }),
            "INFO tool_call_failed stale c",
        ),
        ("read_note", json!({ "path": long }), "INFO tool_call_failed rejected unknown_note"),
        (
            "panic",
            json!({ "text": long, "when": "first_poll" }),
            "ERROR tool_call_failed fault panic",
        ),
        ("ok", json!({ "text": [long] }), "INFO tool_call_failed rejected invalid_arguments"),
        ("ok", json!([long]), "INFO tool_call_failed protocol_error invalid_params"),
        (&long, json!({}), "INFO tool_call_failed protocol_error unknown_tool"),
    ] {
        let name: String = tool.chars().take(20).collect();
        let (answer, event) = call(&client, tool, arguments).await;
        assert!(!answer.is_none(), "{name}");
        assert_eq!(line(&event), expected, "{name}");
        // What the model reads of a failure of ours is short, whatever it quotes.
        if answer.record().is_some() {
            assert!(answer.text().chars().count() <= 2000, "{name}");
        }
    }
    let id = json!(long);
    client.start_as(&id, "tools/call", json!({ "name": "ok", "arguments": {} })).await;
    assert_eq!(client.wait(&id).await.text(), "ok");
    let (_, event) = call(&client, "ok", Value::Null).await;
    assert_eq!(line(&event), "INFO tool_call_completed completed -");
    assert_fit_to_print(client.logs());
    let id = client.start("no/such", json!({ "a": long })).await;
    assert_eq!(client.wait(&id).await.error_code(), Some(-32601));
    assert_eq!(
        line(&end(&client, &id).await),
        "INFO request_failed protocol_error method_not_found"
    );
}
