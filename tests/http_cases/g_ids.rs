//! G: ids, batches, and keys that come twice.

use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    kit::{
        Script, answers, call, call_text, data, error, event, fake, healthy, is_error,
        json_response, line, lines, post, read, send, sse_response, status, success, whole_call,
    },
    support::Logs,
};

const COMPLETED: &str = "INFO tool_call_completed completed -";

/// A call with this JSON text as its id.
fn with_id(id: &str) -> String {
    let params = r#"{"name":"ok","arguments":{}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

/// An id as it stands in a text that we wrote.
fn echoed(text: &str, id: &str) -> bool {
    text.contains(&format!("\"id\":{id},")) || text.contains(&format!("\"id\":{id}}}"))
}

#[tokio::test]
async fn g1_an_id_comes_back_as_it_was_written() {
    for id in
        ["0", "-3", "1.0", "-0.0", "2e2", "\"0\"", "\"\"", "\"\\u0061/7\"", "9007199254740993"]
    {
        let (logs, _guard) = Logs::capture();
        let service = OutcomeLayer::new().layer(fake(|_| async { panic!("boom") }));
        let got = send(service, post(with_id(id))).await;
        assert!(echoed(&got.text(), id), "{id}: {}", got.text());
        assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault panic");
    }
}

/// The server's own library may have made another form of it.
#[tokio::test]
async fn g1_an_answer_is_found_by_an_id_in_another_form() {
    for (sent, answered) in [("1.0", "1"), ("0", "0.0"), ("\"a\"", "\"\\u0061\""), ("7", "\"7\"")] {
        let (logs, _guard) = Logs::capture();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{answered},"result":{{"content":[]}}}}"#);
        let body = text.clone();
        let service = OutcomeLayer::new().layer(answers(move || json_response(body.clone())));
        assert_eq!(send(service, post(with_id(sent))).await.text(), text);
        assert_eq!(line(&whole_call(&logs)), COMPLETED, "{sent}");
    }
}

#[tokio::test]
async fn g3_no_id_panics_or_stops_the_layers() {
    let digits = format!("1{}", "0".repeat(10_000));
    let long = format!("\"{}\"", "x".repeat(10_000));
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for id in [
        "1e309",
        "-1e400",
        "-0.0",
        "18446744073709551616",
        "null",
        "true",
        "{}",
        "[1]",
        "{\"a\":1}",
        &digits,
        &long,
        &deep,
    ] {
        // A server that refuses it, with a null id, with that of its own form, and one that panics.
        for at in 0..4 {
            let (logs, _guard) = Logs::capture();
            let own = id.to_owned();
            let service = fake(move |_| {
                let text = error(&Value::Null, -32600, "Invalid Request");
                let answer = match at {
                    0 => json_response(text),
                    1 => status(400, "no such id"),
                    2 => json_response(format!(r#"{{"id":{own},"result":{{"content":[]}}}}"#)),
                    _ => panic!("boom"),
                };
                std::future::ready(Ok(answer))
            });
            let got = send(OutcomeLayer::new().layer(service), post(with_id(id))).await;
            let all = lines(&logs);
            assert_eq!(all.len(), 1, "{id:.20} {at}: {all:?} {got:?}");
            let expected = [
                "INFO tool_call_failed protocol_error invalid_request",
                "INFO tool_call_failed protocol_error http_400",
                COMPLETED,
                "ERROR tool_call_failed fault panic",
            ];
            assert_eq!(all, [expected[at]], "{id:.20}");
        }
    }
}

#[tokio::test]
async fn g3_a_null_id_is_answered_by_a_null_id() {
    let (logs, _guard) = Logs::capture();
    let text = r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#;
    let service = OutcomeLayer::new().layer(answers(move || json_response(text)));
    assert_eq!(send(service, post(with_id("null"))).await.text(), text);
    assert_eq!(lines(&logs), [COMPLETED]);
}

#[tokio::test]
async fn g5_a_message_with_a_method_is_no_answer() {
    let asks = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#;
    let echo = r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{},"error":{"code":-32603}}"#;
    let stream = [asks, echo, &is_error(&7.into(), "mine")].map(event).concat();
    let body = stream.clone();
    let (logs, _guard) = Logs::capture();
    let service = answers(move || sse_response(Script::of([data(body.clone())])));
    assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.text(), stream);
    assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed undeclared undeclared_error");
}

/// What the client answers to the server's own requests is no request.
#[tokio::test]
async fn g5_the_clients_answer_to_a_servers_request_makes_no_event() {
    for said in [
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#,
    ] {
        let (logs, _guard) = Logs::capture();
        let service = OutcomeLayer::new().layer(answers(|| status(202, "")));
        assert_eq!(send(service, post(said)).await.status, 202);
        assert_eq!(lines(&logs), [""; 0]);
    }
}

/// A server that answers a batch one by one.
fn batching() -> crate::kit::Fake {
    fake(|request| async move {
        let body = read(http::Response::new(request.into_body())).await;
        let answers: Vec<String> = body
            .messages()
            .iter()
            .filter(|message| message["id"].is_number())
            .filter(|message| message["params"]["name"] != "lost")
            .map(|message| match message["params"]["name"].as_str() {
                Some("ok") => success(&message["id"]),
                Some("bad") => is_error(&message["id"], "mine"),
                _ => error(&message["id"], -32603, "SECRET"),
            })
            .collect();
        Ok(json_response(format!("[{}]", answers.join(", "))))
    })
}

#[tokio::test]
async fn g7_each_request_of_a_batch_has_its_answer_and_its_end() {
    let batch = [
        call_text(1, "ok"),
        call_text(2, "bad"),
        r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#.to_owned(),
        call_text(3, "secret"),
        call_text(4, "lost"),
        call_text(5, "ok"),
    ];
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(batching());
    let got = send(service, post(format!("[{}]", batch.join(",")))).await;
    let messages = got.messages();
    let mut ids: Vec<_> = messages.iter().map(|message| message["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5], "{got:?}");
    assert!(!got.text().contains("SECRET"), "{got:?}");
    crate::kit::assert_length(&got);
    for (id, expected) in [
        (1, COMPLETED),
        (2, "ERROR tool_call_failed undeclared undeclared_error"),
        (3, "ERROR tool_call_failed fault internal_error"),
        (4, "ERROR tool_call_failed fault upstream_error"),
        (5, COMPLETED),
    ] {
        let ends: Vec<_> = logs.terminal(&json!(id)).iter().map(line).collect();
        assert_eq!(ends, [expected], "{id}");
    }
}

#[tokio::test]
async fn g7_a_batch_is_answered_whole_where_the_server_panics() {
    let batch = format!("[{},{}]", call_text(1, "ok"), call_text("two", "ok"));
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(fake(|_| async { panic!("SECRET") }));
    let got = send(service, post(batch)).await;
    let ids: Vec<_> = got.messages().iter().map(|message| message["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!("two")]);
    assert_eq!(lines(&logs), ["ERROR tool_call_failed fault panic"; 2]);
}

/// What is no request is for the server to refuse.
#[tokio::test]
async fn g7_a_batch_of_nothing_is_the_servers_to_answer() {
    let refusal = error(&Value::Null, -32600, "Invalid Request");
    for text in ["[]", "[1]", "[[]]", "[{}]", "[", "{", "", "nonsense", "[null,{\"id\":null}]"] {
        let (logs, _guard) = Logs::capture();
        let body = refusal.clone();
        let service = fake(move |request| {
            let body = body.clone();
            async move {
                let seen = read(http::Response::new(request.into_body())).await.text();
                assert_eq!(seen, text);
                Ok(json_response(body))
            }
        });
        let got = send(OutcomeLayer::new().layer(service), post(text)).await;
        assert_eq!(got.text(), refusal, "{text}");
        let all = lines(&logs);
        assert!(
            all.len() <= 1
                && all.iter().all(|it| it.starts_with("INFO") || it.starts_with("DEBUG")),
            "{text}: {all:?}"
        );
    }
}

#[tokio::test]
async fn g9_of_duplicate_keys_the_last_one_is_logged() {
    for (params, tool) in [
        (r#""params":{"name":"safe","name":"danger","arguments":{}}"#, "danger"),
        (r#""params":{"name":"a"},"params":{"name":"b","arguments":{}}"#, "b"),
        (r#""params":{"arguments":{},"name":"x","na\u006de":"y"}"#, "y"),
    ] {
        let (logs, _guard) = Logs::capture();
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call",{params}}}"#);
        send(OutcomeLayer::new().layer(healthy()), post(text)).await;
        assert_eq!(whole_call(&logs).field("tool"), Some(tool), "{params}");
    }
    // In answers too, as the clients' parsers have it.
    for (result, expected) in [
        (r#""isError":true,"isError":false"#, COMPLETED),
        (r#""isError":false,"isError":true"#, "ERROR tool_call_failed undeclared undeclared_error"),
    ] {
        let (logs, _guard) = Logs::capture();
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],{result}}}}}"#);
        let body = text.clone();
        let service = answers(move || json_response(body.clone()));
        assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.text(), text);
        assert_eq!(line(&whole_call(&logs)), expected);
    }
}
