//! What a peer sends.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};
use tower_outcome::OutcomeLayer;

use crate::{
    fields::{NASTY, assert_fit_to_print},
    kit::{LAYERS, Tools, call, connect, connect_in, end, line},
    support::{Client, Transport},
};

/// All tools of the example that return by themselves, whatever they are called with.
const TOOLS: [&str; 13] = [
    "ok",
    "search_notes",
    "read_note",
    "edit_note",
    "fail_declared",
    "fail_unknown",
    "fail_internal",
    "fail_protocol",
    "fail_is_error",
    "fail_payload",
    "fail_timeout",
    "fail_rate_limited",
    "progress",
];

async fn assert_healthy(client: &Client) {
    let (answer, event) = call(client, "ok", json!({ "text": "still here" })).await;
    assert_eq!(answer.text(), "still here");
    assert_eq!(line(&event), "INFO tool_call_completed completed -");
    assert_fit_to_print(client.logs());
}

#[tokio::test]
async fn names_of_tools_prompts_and_resources() {
    let long = ["x", "\u{1b}", "\u{202e}", "😀", "ab\n"].map(|text| text.repeat(5000 / text.len()));
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Json, Transport::Http2026] {
        let client = Client::connect(transport, LAYERS).await;
        for name in NASTY.iter().copied().chain(long.iter().map(String::as_str)) {
            let (answer, event) = call(&client, name, json!({})).await;
            assert_eq!(answer.error_code(), Some(-32602), "{transport:?}, {name:?}: {answer:?}");
            assert_eq!(line(&event), "INFO tool_call_failed protocol_error unknown_tool");
            assert!(event.field("tool").is_some(), "{event:?}");
            for (method, params) in [
                ("prompts/get", json!({ "name": name })),
                ("resources/read", json!({ "uri": format!("test://{name}") })),
            ] {
                let id = client.start(method, params).await;
                let answer = client.wait(&id).await;
                assert!(answer.error().is_some(), "{transport:?}, {name:?}: {answer:?}");
                let event = end(&client, &id).await;
                assert_eq!((&*event.level, &*event.message), ("INFO", "request_failed"));
            }
        }
        assert_healthy(&client).await;
    }
}

#[tokio::test]
async fn ids_that_are_not_fit_to_print() {
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateful] {
        let client = Client::connect(transport, LAYERS).await;
        let long = "\u{202e}id\n".repeat(2000);
        for id in NASTY.iter().copied().chain([long.as_str()]) {
            let before = client.logs().of_target("tower_outcome").len();
            let params = json!({ "name": "read_note", "arguments": { "path": id } });
            client.start_as(&json!(id), "tools/call", params).await;
            let answer = client.wait(&json!(id)).await;
            assert!(answer.is_error(), "{transport:?}, {id:?}: {answer:?}");
            client
                .logs()
                .wait_for(|events| {
                    let ours = events.iter().filter(|event| event.target == "tower_outcome");
                    let new = ours.skip(before).filter(|event| event.is_terminal());
                    let lines: Vec<String> = new.map(line).collect();
                    (!lines.is_empty()).then(|| {
                        assert_eq!(lines, ["INFO tool_call_failed rejected unknown_note"]);
                    })
                })
                .await
                .unwrap();
        }
        assert_healthy(&client).await;
    }
}

/// The protocol forbids it, and rmcp does not look.
#[tokio::test]
async fn one_id_for_two_calls_at_once() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let id = json!("twice");
    for ms in [30, 10] {
        let params = json!({ "name": "slow", "arguments": { "ms": ms } });
        client.start_as(&id, "tools/call", params).await;
    }
    let both = client.logs().wait_for(|events| {
        let ends = events.iter().filter(|event| event.is_terminal() && event.is_about(&id));
        let calls: std::collections::BTreeSet<_> =
            ends.map(|event| event.field("call_id").map(str::to_owned)).collect();
        (calls.len() == 2).then_some(())
    });
    assert!(both.await.is_some(), "{}", client.logs().raw());
    assert_eq!(client.logs().terminal(&id).len(), 2);
    assert_healthy(&client).await;
}

#[tokio::test]
async fn arguments_of_the_wrong_type() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    for tool in TOOLS {
        for arguments in [json!(5), json!("x"), json!([]), json!([{}]), json!(true), json!(0.5)] {
            let (answer, event) = call(&client, tool, arguments.clone()).await;
            assert!(answer.error().is_some(), "{tool} with {arguments}: {answer:?}");
            assert_eq!(line(&event), "INFO tool_call_failed protocol_error invalid_params");
            assert_eq!(event.field("tool"), Some(tool));
        }
        // No value has the right type for any argument that there is.
        for value in [json!({ "a": 1 }), json!([[]]), json!([null])] {
            let names = ["text", "query", "path", "outcome", "code", "as", "n"];
            let arguments: serde_json::Map<_, _> =
                names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
            let (answer, event) = call(&client, tool, Value::Object(arguments)).await;
            if matches!(tool, "fail_timeout" | "fail_rate_limited") {
                // They take none, and look at none.
                assert_eq!(event.level, "WARN", "{tool} with {value}");
                continue;
            }
            assert!(answer.is_error(), "{tool} with {value}: {answer:?}");
            assert_eq!(line(&event), "INFO tool_call_failed rejected invalid_arguments", "{tool}");
        }
    }
    assert_healthy(&client).await;
}

#[tokio::test]
async fn what_is_no_tool_call_at_all() {
    for transport in [Transport::Duplex, Transport::Stateful] {
        let client = Client::connect(transport, LAYERS).await;
        for params in [json!([]), json!([1, 2]), json!("ok"), json!(5), json!(true)] {
            let id = client.start("tools/call", params).await;
            call(&client, "ok", json!({})).await;
            // rmcp refuses it before any handler, and over a pipe without its id.
            assert_eq!(client.logs().terminal(&id), []);
        }
        for params in [
            json!(null),
            json!({}),
            json!({ "name": null }),
            json!({ "name": 5 }),
            json!({ "name": ["ok"] }),
            json!({ "name": { "name": "ok" } }),
            json!({ "arguments": {} }),
            json!({ "name": "\u{1b}[2J\n", "arguments": 5 }),
            json!({ "name": "\u{202e}x".repeat(3000), "arguments": 5 }),
            json!({ "name": "ok", "arguments": [[[]]] }),
        ] {
            let id = client.start("tools/call", params.clone()).await;
            let answer = client.wait(&id).await;
            assert_eq!(answer.error_code(), Some(-32601), "{transport:?}, {params}: {answer:?}");
            let line = line(&end(&client, &id).await);
            assert_eq!(line, "INFO tool_call_failed protocol_error invalid_params", "{params}");
        }
        assert_healthy(&client).await;
    }
}

#[tokio::test]
async fn methods_and_notifications_that_do_not_exist() {
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateful] {
        let client = Client::connect(transport, LAYERS).await;
        let long = "\u{202e}method/".repeat(500);
        for method in NASTY.iter().copied().chain([long.as_str(), "tools/callx", "rpc.discover"]) {
            client.notify(method, json!({ "a": [method] })).await;
            client.notify(&format!("notifications/{method}"), json!({ "a": [method] })).await;
            let id = client.start(method, json!({ "a": [method] })).await;
            let answer = client.wait(&id).await;
            assert_eq!(answer.error_code(), Some(-32601), "{transport:?}, {method:?}: {answer:?}");
            let event = end(&client, &id).await;
            assert_eq!(line(&event), "INFO request_failed protocol_error method_not_found");
        }
        assert_healthy(&client).await;
    }
}

#[tokio::test]
async fn clients_that_call_themselves_anything() {
    for name in NASTY.iter().map(|text| text.repeat(200)) {
        let client = Client::open(Transport::Duplex, LAYERS).await;
        assert!(client.initialize(&name).await.result().is_some(), "{name:?}");
        assert_healthy(&client).await;
    }
    let client = Client::connect(Transport::Stdio2026, LAYERS).await;
    for text in NASTY.iter().map(|text| text.repeat(200)) {
        let prefix = "io.modelcontextprotocol";
        for (key, value) in [
            ("clientInfo", json!({ "name": text, "version": text })),
            ("clientInfo", json!(text)),
            ("clientCapabilities", json!([text])),
            ("clientCapabilities", json!({ "extensions": text })),
            ("protocolVersion", json!(text)),
            ("protocolVersion", json!({ "a": text })),
        ] {
            let meta = json!({ format!("{prefix}/{key}"): value, "traceparent": text });
            let params = json!({ "name": "ok", "arguments": {}, "_meta": meta });
            let answer = client.request("tools/call", params).await;
            assert!(!answer.is_none(), "{key}: {value:.100}");
        }
    }
    assert_healthy(&client).await;
}

#[tokio::test]
async fn cancels_and_progress_of_nothing() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let ids = [json!(null), json!(-1), json!(1e300), json!({}), json!([]), json!("x".repeat(9000))];
    for id in ids.into_iter().chain(NASTY.map(Value::from)) {
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": id })).await;
        let progress = json!({ "progressToken": id, "progress": 1, "message": "\u{1b}[2J" });
        client.notify("notifications/progress", progress).await;
    }
    for params in [json!({}), json!(null), json!([]), json!("x")] {
        client.notify("notifications/cancelled", params.clone()).await;
        client.notify("notifications/initialized", params).await;
    }
    // One that is over already, and one that comes before its call.
    let (_, event) = call(&client, "ok", json!({})).await;
    client.cancel(&json!(event.field("request_id").unwrap().parse::<i64>().unwrap())).await;
    let early = json!("early");
    client.cancel(&early).await;
    client.start_as(&early, "tools/call", json!({ "name": "ok", "arguments": {} })).await;
    assert_eq!(client.wait(&early).await.text(), "ok");
    assert_eq!(line(&end(&client, &early).await), "INFO tool_call_completed completed -");
    assert_healthy(&client).await;
}

/// An upstream's record is data: what is not valid in it is ignored.
#[tokio::test]
async fn records_from_elsewhere() {
    let tools = Tools::new().with("passes_on", |asked| async move {
        let mut meta = MetaObject::new();
        let record = asked.params.arguments.unwrap_or_default().remove("record").unwrap();
        meta.0.insert("tower-outcome/failure".to_owned(), record);
        CallToolResult::error(vec![ContentBlock::text("no")]).with_meta(Some(meta))
    });
    let client = connect(tools).await;
    let nasty = NASTY.concat().repeat(100);
    for (record, expected) in [
        (json!({ "outcome": nasty }), "ERROR tool_call_failed undeclared undeclared_error"),
        (json!([nasty]), "ERROR tool_call_failed undeclared undeclared_error"),
        (json!(nasty), "ERROR tool_call_failed undeclared undeclared_error"),
        (
            json!({ "outcome": "fault", "code": nasty, "reference": nasty, "message": nasty,
                    "level": nasty, "actor": nasty, "retry_after_seconds": -1e300 }),
            "ERROR tool_call_failed fault internal_error",
        ),
        (
            json!({ "outcome": "rejected", "code": "bad", "field": nasty, "received": nasty,
                    "permitted": [nasty], "closest_matches": nasty, "actor": "operator",
                    "limit": nasty, "effects": { "confirmed": [nasty] } }),
            "INFO tool_call_failed rejected bad",
        ),
    ] {
        let (answer, event) = call(&client, "passes_on", json!({ "record": record })).await;
        assert!(answer.is_error() && answer.text() == "no", "{answer:.300?}");
        assert_eq!(line(&event), expected);
    }
    assert_fit_to_print(client.logs());
}

/// A tool's own words, the only ones that are not a peer's.
#[tokio::test]
async fn texts_of_tools() {
    use tower_outcome::ToolError;
    let tools = Tools::new()
        .with("unknown", |asked| async move {
            Err::<String, ToolError>(std::io::Error::other(asked.text("text")).into())
        })
        .with("rejected", |asked| async move {
            let text = asked.text("text");
            Err::<String, _>(ToolError::rejected(text.clone(), text.clone()).field(text))
        })
        .with("is_error", |asked| async move {
            CallToolResult::error(vec![ContentBlock::text(asked.text("text"))])
        })
        .with("panic", |asked| async move { crate::kit::boom(&asked.text("text")) })
        .with("note", |asked| async move {
            tower_outcome::Call::current().unwrap().note("text", asked.text("text"));
            "noted".to_owned()
        });
    let client = connect_in(tools, OutcomeLayer::new()).await;
    for text in NASTY.iter().flat_map(|text| [(*text).to_owned(), text.repeat(500)]) {
        for tool in ["unknown", "rejected", "is_error", "panic", "note"] {
            let (answer, _) = call(&client, tool, json!({ "text": text })).await;
            assert!(answer.result().is_some(), "{tool}, {text:.100?}: {answer:?}");
        }
    }
    assert_fit_to_print(client.logs());
}
