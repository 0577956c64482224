//! G: answers that are neither success nor failure, and the forms of an unknown tool.

use serde_json::json;
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    kit::{
        Script, answers, call, call_2026, data, error, event, is_error, json_response, line, post,
        send, sse_response, status, whole_call,
    },
    support::Logs,
};

#[tokio::test]
async fn g11_a_result_that_asks_for_input_is_neither_success_nor_failure() {
    let result = r#"{"resultType":"input_required","inputRequests":{},"_meta":{"a/b":1}}"#;
    let text = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    for is_stream in [false, true] {
        let sent = if is_stream { event(&text) } else { text.clone() };
        let body = sent.clone();
        let service = answers(move || match is_stream {
            true => sse_response(Script::of([data(body.clone())])),
            false => json_response(body.clone()),
        });
        let (logs, _guard) = Logs::capture();
        let got = send(OutcomeLayer::new().layer(service), call_2026()).await;
        assert_eq!(got.text(), sent);
        assert_eq!(line(&whole_call(&logs)), "INFO tool_call_input_required input_required -");
    }
}

#[tokio::test]
async fn g13_an_unknown_tool_has_one_code_in_every_servers_form() {
    let id = json!(7);
    let bodies = [
        error(&id, -32602, "Unknown tool: delete_all"),
        error(&id, -32602, "tool not found"),
        error(&id, -32601, "Unknown tool: delete_all"),
        is_error(&id, "Unknown tool: delete_all"),
        is_error(&id, "MCP error -32602: Tool delete_all not found"),
    ];
    for body in bodies {
        for code in [200, 400] {
            // A result is none where the status says that there is none.
            if code == 400 && body.contains("isError") {
                continue;
            }
            let (logs, _guard) = Logs::capture();
            let sent = body.clone();
            let service = answers(move || {
                let mut response = json_response(sent.clone());
                *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
                response
            });
            let request = post(crate::kit::call_text(7, "delete_all"));
            let got = send(OutcomeLayer::new().layer(service), request).await;
            assert_eq!((got.status, got.text()), (code, body.clone()));
            let end = whole_call(&logs);
            assert_eq!(line(&end), "INFO tool_call_failed protocol_error unknown_tool", "{body}");
            assert_eq!(end.field("tool"), Some("delete_all"));
        }
    }
}

#[tokio::test]
async fn g15_a_url_elicitation_keeps_its_data() {
    let data = json!({ "elicitations": [{ "mode": "url", "url": "https://example.org/consent" }] });
    let error = json!({ "code": -32042, "message": "open this page first", "data": data });
    let text = json!({ "jsonrpc": "2.0", "id": 7, "error": error }).to_string();
    let body = text.clone();
    let (logs, _guard) = Logs::capture();
    let service = answers(move || json_response(body.clone()));
    assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.text(), text);
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_input_required input_required -");
}

/// The codes of 2026-07-28, which come with a status of their own.
#[tokio::test]
async fn g15_the_codes_that_mean_something_to_a_transport_pass_with_their_data() {
    for (code, name, status_code) in [
        (-32020, "header_mismatch", 400),
        (-32021, "missing_capability", 400),
        (-32022, "unsupported_version", 400),
        (-32601, "method_not_found", 404),
        (-32002, "resource_not_found", 200),
        (-32700, "parse_error", 400),
        (-32600, "invalid_request", 200),
        // With a status that would otherwise be the server's own trouble.
        (-32602, "invalid_params", 500),
    ] {
        let error =
            json!({ "code": code, "message": "no", "data": { "supported": ["2025-11-25"] } });
        let text = json!({ "jsonrpc": "2.0", "id": 7, "error": error }).to_string();
        // tower-mcp answers so in a stream too.
        for is_stream in [false, true] {
            let sent = if is_stream { event(&text) } else { text.clone() };
            let body = sent.clone();
            let (logs, _guard) = Logs::capture();
            let service = answers(move || {
                let mut response = match is_stream {
                    true => sse_response(Script::of([data(body.clone())])),
                    false => json_response(body.clone()),
                };
                *response.status_mut() = http::StatusCode::from_u16(status_code).unwrap();
                response
            });
            let got = send(OutcomeLayer::new().layer(service), call_2026()).await;
            assert_eq!((got.status, got.text()), (status_code, sent), "{name}");
            let expected = format!("INFO tool_call_failed protocol_error {name}");
            assert_eq!(line(&whole_call(&logs)), expected, "{name}, streamed: {is_stream}");
        }
    }
    let (logs, _guard) = Logs::capture();
    let service = answers(|| status(429, "slow down"));
    let got = send(OutcomeLayer::new().layer(service), call()).await;
    assert_eq!((got.status, got.text().as_str()), (429, "slow down"));
    assert_eq!(line(&whole_call(&logs)), "WARN tool_call_failed fault rate_limited");
}
