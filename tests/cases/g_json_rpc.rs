//! G: ids, duplicate keys, and answers that are neither success nor failure.

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ErrorCode, InputRequiredResult, MetaObject},
};
use serde_json::{Value, json};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _, ToolError};

use crate::{
    child::{self, Server},
    kit::{LAYERS, Tools, call, connect, end, line},
    support::{Client, Revision, Transport},
};

#[tokio::test]
async fn g1_ids_of_every_form_come_back_and_are_logged() {
    let long = "x".repeat(10_000);
    let ids = [
        json!(0),
        json!(-3),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(9_007_199_254_740_993_i64),
        json!(""),
        json!("zero"),
        json!("größe/7\n\u{1b}[31m\u{202e}"),
        json!(long),
    ];
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Json2026] {
        let client = Client::connect(transport, LAYERS).await;
        for id in &ids {
            client.start_as(id, "tools/call", json!({ "name": "ok", "arguments": {} })).await;
            assert_eq!(client.wait(id).await.text(), "ok", "{transport:?}: {id}");
        }
        // Those with characters that are not fit to print are logged as something else.
        for id in &ids[..7] {
            let event = end(&client, id).await;
            assert_eq!(line(&event), "INFO tool_call_completed completed -", "{transport:?}: {id}");
        }
        let logged = |event: &crate::support::Event| event.field("request_id").map(str::to_owned);
        let ended = client.logs().events().into_iter().filter(|event| event.is_terminal());
        let ids: Vec<String> = ended.filter_map(|event| logged(&event)).collect();
        assert!(ids.contains(&"größe/7\\n\\u{1b}[31m\\u{202e}".to_owned()), "{ids:?}");
        let cut = ids.iter().find(|id| id.starts_with("xxx")).unwrap();
        assert!(cut.ends_with('…') && cut.chars().count() <= 128, "{cut}");
    }
}

/// A call of `ok` with this JSON text as its id.
fn with_id(id: &str) -> String {
    let params = r#"{"name":"ok","arguments":{}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

#[tokio::test]
async fn g1_an_id_in_float_form_is_the_integer_that_it_is() {
    let mut server = Server::start(&[], "info").await;
    for (sent, answered) in [("1.0", 1), ("-0.0", 0), ("2e2", 200), ("-3.0", -3)] {
        server.send(with_id(sent).as_bytes()).await;
        let answer = server.answer(&json!(answered)).await;
        assert_eq!(answer["result"]["content"][0]["text"], "ok", "{sent}");
        assert!(answer.to_string().contains(&format!("\"id\":{answered}")), "{answer}");
    }
    let ended = server.finish().await;
    let ids: Vec<Value> =
        ended.events("tower_outcome").iter().map(|e| e["fields"]["request_id"].clone()).collect();
    assert_eq!(ids, ["1", "0", "200", "-3"]);
}

#[tokio::test]
async fn g3_no_id_panics_or_stops_the_server() {
    let mut server = Server::start(&[], "info").await;
    let digits = format!("1{}", "0".repeat(10_000));
    let refused = [
        "1e309",
        "1.5",
        "-1e400",
        "18446744073709551615",
        "9223372036854775808",
        "null",
        "true",
        "{}",
        "{\"a\":1}",
        "[1]",
        &digits,
        "nan",
        "'1'",
    ];
    for id in refused {
        server.send(with_id(id).as_bytes()).await;
    }
    server.send(br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"ok"}}"#).await;
    let healthy = server.call(7, "ok", json!({})).await;
    assert_eq!(healthy["result"]["content"][0]["text"], "ok");
    let ended = server.finish().await;
    ended.assert_only_protocol();
    // rmcp refuses them before any handler; what it lets through is logged once.
    let tools = ended.events("tower_outcome").into_iter();
    let tools = tools.filter(|event| event["fields"]["tool"].is_string());
    let lines: Vec<String> = tools.map(|event| child::line(&event)).collect();
    assert_eq!(lines, ["INFO tool_call_completed completed -"], "{}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

/// rmcp takes a call with a key twice for no tool call; the last one stands in the log. In a
/// tool's arguments the last one is what the tool gets.
#[tokio::test]
async fn g9_of_duplicate_keys_the_log_names_the_last() {
    const CALL: &str = r#""jsonrpc":"2.0","method":"tools/call""#;
    let twice = [
        r#"{"name":"danger","name":"ok","arguments":{}}"#,
        r#"{"name":"ok","name":"danger","arguments":{}}"#,
        r#"{"arguments":{},"name":"ok","arguments":{}}"#,
        r#"{"name":"ok","arguments":{"text":"first","text":"last"}}"#,
    ];
    let mut server = Server::start(&[], "info").await;
    for (id, params) in twice.iter().enumerate() {
        server.send(format!(r#"{{{CALL},"id":{id},"params":{params}}}"#).as_bytes()).await;
        let answer = server.answer(&json!(id)).await;
        match id {
            3 => assert_eq!(answer["result"]["content"][0]["text"], "last", "{answer}"),
            _ => assert_eq!(answer["error"]["code"], -32601, "{answer}"),
        }
    }
    let ended = server.finish().await;
    let events = ended.events("tower_outcome").into_iter();
    let named: Vec<_> =
        events.map(|event| (child::line(&event), event["fields"]["tool"].clone())).collect();
    let refused = "INFO tool_call_failed protocol_error invalid_params".to_owned();
    let expected = [
        (refused.clone(), json!("ok")),
        (refused.clone(), json!("danger")),
        (refused, json!("ok")),
        ("INFO tool_call_completed completed -".to_owned(), json!("ok")),
    ];
    assert_eq!(named, expected);
}

fn asks_for_input() -> Tools {
    Tools::new().with("asks", |_| async {
        let mut meta = MetaObject::new();
        meta.0.insert("example.org/note".to_owned(), json!({ "a": 1 }));
        InputRequiredResult::new(Some(Default::default()), Some("state".to_owned())).with_meta(meta)
    })
}

#[tokio::test]
async fn g11_a_result_that_asks_for_input_is_neither_success_nor_failure() {
    let bare = Client::in_process(asks_for_input(), Revision::V2026).call("asks", json!({})).await;
    let client = Client::in_process(asks_for_input().layered(OutcomeLayer::new()), Revision::V2026);
    let (answer, event) = call(&client, "asks", json!({})).await;
    assert_eq!(line(&event), "INFO tool_call_input_required input_required -");
    assert_eq!(answer, bare, "it goes out unchanged");
    assert_eq!(answer.result().unwrap()["resultType"], "input_required");
    assert_eq!(answer.meta().unwrap()["example.org/note"], json!({ "a": 1 }));

    // An older client cannot be asked: the binding says so before rmcp does, unseen by any layer.
    let client = connect(asks_for_input()).await;
    let (answer, event) = call(&client, "asks", json!({})).await;
    assert_eq!(answer.error_code(), Some(-32600), "{answer:?}");
    assert_eq!(line(&event), "INFO tool_call_failed protocol_error invalid_request");
}

#[tokio::test]
async fn g13_an_unknown_tool_has_one_code_in_every_servers_form() {
    let name = "delete_everything";
    let said = |text: &str| CallToolResult::error(vec![ContentBlock::text(text)]);
    let python = said("Unknown tool: delete_everything");
    let typescript = said("MCP error -32602: Tool delete_everything not found");
    let old = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Unknown tool: delete_everything", None);
    let servers: [(Tools, Option<i64>); 4] = [
        (Tools::new(), Some(-32602)),
        (Tools::new().with(name, move |_| std::future::ready(python.clone())), None),
        (Tools::new().with(name, move |_| std::future::ready(typescript.clone())), None),
        (
            Tools::new().with(name, move |_| std::future::ready(Err::<String, _>(old.clone()))),
            Some(-32601),
        ),
    ];
    for (server, code) in servers {
        let client = connect(server).await;
        let (answer, event) = call(&client, name, json!({})).await;
        assert_eq!(line(&event), "INFO tool_call_failed protocol_error unknown_tool", "{answer:?}");
        assert_eq!(event.field("tool"), Some(name));
        assert_eq!(answer.error_code(), code, "it goes out unchanged: {answer:?}");
        assert_eq!(answer.record(), None, "{answer:?}");
    }
}

#[tokio::test]
async fn g15_a_url_elicitation_keeps_its_data() {
    let data = json!({ "elicitations": [{ "mode": "url", "url": "https://example.org/consent" }] });
    let error = || ErrorData::new(ErrorCode(-32042), "open this page first", Some(data.clone()));
    let (plain, ours, raised) = (error(), error(), error());
    let tools = Tools::new()
        .with("plain", move |_| std::future::ready(Err::<String, _>(plain.clone())))
        .with("ours", move |_| {
            std::future::ready(Err::<String, _>(ToolError::protocol(ours.clone())))
        })
        .with("raised", move |_| {
            let raised = raised.clone();
            async move {
                Err(raised)?;
                Ok::<_, ToolError>(String::new())
            }
        });
    let client = connect(tools).await;
    for tool in ["plain", "ours", "raised"] {
        let (answer, event) = call(&client, tool, json!({})).await;
        assert_eq!(line(&event), "INFO tool_call_input_required input_required -", "{tool}");
        let expected = json!({ "code": -32042, "message": "open this page first", "data": data });
        assert_eq!(answer.error(), Some(&expected), "{tool}");
    }
}
