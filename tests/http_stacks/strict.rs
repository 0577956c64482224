//! What looks like an answer, or like a message, and is none: nothing of it gets past containment,
//! and nothing that is not ours is touched.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, Policy, Undeclared};

use crate::{
    kit::{
        Got, Script, answers, assert_fixed, call, data, error, event, guarded, is_error,
        json_response, line, lines, only, post, send, sse_response, success, whole_call,
    },
    support::{Logs, alone::is_alone},
};

const SECRET: &str = "postgres://svc:hunter2@db";

fn rest(text: &'static str) -> Request<Full<Bytes>> {
    Request::post("/items")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Full::from(text))
        .unwrap()
}

/// What a default layer makes of JSON that is none of MCP's, whether somebody listens or not.
async fn check_foreign() {
    for (request, status, media_type, text) in [
        (r#"{"a":1}"#, 200, "text/plain", "ok"),
        (r#"{"id":3,"method":"card"}"#, 200, "application/json", r#"{"error":"declined"}"#),
        (r#"{"id":3,"method":"card"}"#, 500, "application/json", r#"{"error":{"code":-32603}}"#),
        (r#"{"a":1}"#, 200, "application/json", "[1"),
    ] {
        let service = OutcomeLayer::new().layer(answers(move || {
            let mut response = crate::kit::response(media_type, Script::whole(text));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response
        }));
        let got = send(service, rest(request)).await;
        assert_eq!((got.status, got.text().as_str()), (status, text), "{request}");
    }
    let service = OutcomeLayer::new().layer(answers(|| crate::kit::status(200, "ok")));
    let notification = post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let got = send(service, notification).await;
    assert_eq!((got.status, got.text().as_str()), (200, "ok"));
}

#[tokio::test]
async fn json_of_something_else_is_left_alone() {
    let (logs, _guard) = Logs::capture();
    check_foreign().await;
    assert_eq!(lines(&logs), ["DEBUG notification_received completed -"]);
}

#[tokio::test]
async fn json_of_something_else_is_left_alone_where_nobody_listens() {
    if is_alone("strict::json_of_something_else_is_left_alone_where_nobody_listens") {
        check_foreign().await;
    }
}

#[tokio::test]
async fn events_of_something_else_are_left_alone() {
    let text =
        "data: {\"error\":\"out of stock\"}\n\ndata: {\"id\":1,\"error\":{\"code\":-32603}}\n\n";
    let service =
        OutcomeLayer::new().layer(answers(move || sse_response(Script::of([data(text)]))));
    let request = Request::get("/prices").header(header::ACCEPT, "text/event-stream");
    let got = send(service, request.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!(got.text(), text);
}

/// Sends a call that is answered with these pieces, and gives what the client got.
async fn answered(status: u16, media_type: &'static str, pieces: Vec<String>) -> (Got, String) {
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(answers(move || {
        let body = Script::of(pieces.iter().map(|piece| data(piece.clone())));
        let mut response = crate::kit::response(media_type, body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
    }));
    let got = send(service, call()).await;
    let end = whole_call(&logs);
    assert!(!got.text().contains("hunter2"), "{got:?}");
    (got, line(&end))
}

#[tokio::test]
async fn a_body_of_a_servers_own_troubles_says_nothing_of_them() {
    let rest_error = json!({ "error": { "code": 500, "message": SECRET } }).to_string();
    for pieces in [
        vec![json!({ "trace": SECRET.repeat(2000) }).to_string(), "}".to_owned()],
        vec![format!("{{\"trace\":\"{}", SECRET.repeat(4000)), "\"}".to_owned()],
        vec![json!([{ "detail": SECRET }]).to_string()],
        vec![json!([SECRET]).to_string()],
        vec![rest_error],
    ] {
        let (got, end) = answered(500, "application/json", pieces).await;
        assert_eq!(end, "ERROR tool_call_failed fault upstream_error");
        assert_eq!((got.status, &got.message()["result"]["isError"]), (200, &json!(true)));
    }
}

#[tokio::test]
async fn an_array_answers_no_single_request() {
    let array = json!([{ "detail": SECRET }, 7]).to_string();
    let (got, end) = answered(200, "application/json", vec![array]).await;
    assert_eq!(end, "ERROR tool_call_failed fault upstream_error");
    assert_eq!(got.message()["id"], 7);
}

#[tokio::test]
async fn nothing_goes_out_behind_an_answer() {
    let (fine, failed) = (success(&7.into()), error(&7.into(), -32603, SECRET));
    for pieces in [
        vec![format!("{fine}{failed}")],
        vec![format!("{fine}\n{SECRET}")],
        vec![fine[..20].to_owned(), format!("{}\n{failed}", &fine[20..])],
    ] {
        let (got, end) = answered(200, "application/json", pieces).await;
        assert_eq!(end, "ERROR tool_call_failed fault upstream_error");
        assert_eq!((got.error.as_ref(), &got.message()["id"]), (None, &json!(7)));
    }
    // The answer is out, and so is its line.
    for behind in [failed, SECRET.to_owned()] {
        let (got, end) = answered(200, "application/json", vec![fine.clone(), behind]).await;
        assert_eq!(end, "INFO tool_call_completed completed -");
        assert!(got.error.is_some() && got.text() == fine, "{got:?}");
    }
    let (got, _) = answered(200, "application/json", vec![format!("{fine} \r\n")]).await;
    assert_eq!(got.text(), format!("{fine} \r\n"));
}

#[tokio::test]
async fn nothing_goes_out_behind_a_batch() {
    let batch = format!("[{}]", success(&7.into()));
    for pieces in [
        vec![format!("{batch}{SECRET}")],
        vec![batch.clone(), SECRET.to_owned()],
        vec![batch[..20].to_owned(), format!("{}[\"{SECRET}\"]", &batch[20..])],
    ] {
        let (logs, _guard) = Logs::capture();
        let service = OutcomeLayer::new().layer(answers(move || {
            let pieces = pieces.iter().map(|piece| data(piece.clone()));
            crate::kit::response("application/json", Script::of(pieces))
        }));
        let got = send(service, post(format!("[{}]", crate::kit::call_text(7, "ok")))).await;
        assert!(got.error.is_some() && !got.text().contains("hunter2"), "{got:?}");
        assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);
    }
}

#[tokio::test]
async fn a_message_in_pieces_is_one_where_nobody_listens() {
    if !is_alone("strict::a_message_in_pieces_is_one_where_nobody_listens") {
        return;
    }
    let text = crate::kit::call_text(7, "ok");
    let at = text.find("rpc").unwrap();
    let pieces = [data(text[..at].to_owned()), data(text[at..].to_owned())];
    let request = Request::post("/mcp").header(header::CONTENT_TYPE, "application/json");
    let service = OutcomeLayer::new().layer(crate::kit::fake(|_| async { Err("down".into()) }));
    let got = send(service, request.body(Script::of(pieces)).unwrap()).await;
    assert_eq!(got.message()["result"]["isError"], true);
}

#[tokio::test]
async fn a_code_is_one_however_it_is_written() {
    for code in ["-32603.0", "-3.2603e4", "\"-32603\"", "-32000.0"] {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"{SECRET}"}}}}"#);
        let (_, end) = answered(200, "application/json", vec![text.clone()]).await;
        assert_eq!(end, "ERROR tool_call_failed fault internal_error", "{code}");
        let (_, end) = answered(200, "text/event-stream", vec![event(&text)]).await;
        assert_eq!(end, "ERROR tool_call_failed fault internal_error", "{code}");
    }
}

#[tokio::test]
async fn events_that_nobody_can_judge_do_not_go_out() {
    let failed = error(&7.into(), -32603, SECRET);
    let unfinished = failed.strip_suffix('}').unwrap();
    let crowd: Vec<String> = (0..300).map(|id| error(&id.into(), -32603, SECRET)).collect();
    for (text, code) in [
        (format!("data: {unfinished}\n\n"), "upstream_error"),
        (format!("id: 1\ndata: [7,{failed}]\n\n"), "internal_error"),
        (format!("data: [{}]\n\n", crowd.join(",")), "upstream_error"),
    ] {
        for size in [text.len(), 11] {
            let chunks = text.as_bytes().chunks(size);
            let pieces = chunks.map(|it| String::from_utf8_lossy(it).into_owned()).collect();
            let (_, end) = answered(200, "text/event-stream", pieces).await;
            assert!(end.starts_with("ERROR tool_call_failed fault"), "{end} {code} {text}");
        }
    }
}

#[tokio::test]
async fn a_whole_event_that_lacks_its_blank_line_is_the_answer() {
    let answer = success(&7.into());
    for text in [format!("data: {answer}"), format!("data: {answer}\n")] {
        let (got, end) = answered(200, "text/event-stream", vec![text]).await;
        assert_eq!(end, "INFO tool_call_completed completed -");
        assert_eq!(got.messages(), [serde_json::from_str::<Value>(&answer).unwrap()]);
        assert!(got.text().ends_with("\n\n"));
    }
}

#[tokio::test]
async fn comments_do_not_wait_for_the_end_of_an_event() {
    let (pen, body) = Script::new();
    let body = std::sync::Mutex::new(Some(body));
    let service = OutcomeLayer::new()
        .layer(answers(move || sse_response(body.lock().unwrap().take().unwrap())));
    pen.send(data(": ping\n: po")).unwrap();
    let response = tower::ServiceExt::oneshot(service, call()).await.unwrap();
    let mut body = std::pin::pin!(response.into_body());
    let first = guarded(http_body_util::BodyExt::frame(&mut body)).await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), ": ping\n");
    pen.send(data("ng\n")).unwrap();
    let next = guarded(http_body_util::BodyExt::frame(&mut body)).await.unwrap().unwrap();
    assert_eq!(next.into_data().unwrap(), ": po");
}

#[tokio::test]
async fn ids_that_look_alike_are_told_apart() {
    let (logs, _guard) = Logs::capture();
    let ids = [json!(1_764_549_701_123_456_700_i64), json!(1_764_549_701_123_456_701_i64)];
    let more = [json!(1), json!("1")];
    let all: Vec<Value> = ids.into_iter().chain(more).collect();
    let calls: Vec<String> = all.iter().map(|id| crate::kit::call_text(id.clone(), "ok")).collect();
    // Answered in another order than asked.
    let texts: Vec<String> = all.iter().rev().map(success).collect();
    let answer = format!("[{}]", texts.join(","));
    let expected = answer.clone();
    let service = OutcomeLayer::new().layer(answers(move || json_response(answer.clone())));
    let got = send(service, post(format!("[{}]", calls.join(",")))).await;
    assert_eq!(got.text(), expected);
    assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"; 4]);
}

#[tokio::test]
async fn what_is_masked_stays_so_on_a_stream_that_is_taken_up_again() {
    let policy = || Policy::new().undeclared(Undeclared::Mask);
    let stream = format!("id: 2\n{}", event(&is_error(&7.into(), SECRET)));
    let service = OutcomeLayer::new()
        .policy(policy())
        .layer(answers(move || sse_response(Script::of([data(stream.clone())]))));
    let get = |session: &str| {
        Request::get("/mcp")
            .header(header::ACCEPT, "text/event-stream")
            .header("last-event-id", "1")
            .header("mcp-session-id", session)
            .body(Full::<Bytes>::default())
            .unwrap()
    };
    // The answer, a replay of it, and one that nobody here knows the request of.
    let mut first = call();
    first.headers_mut().insert("mcp-session-id", "strict-1".parse().unwrap());
    let (logs, _guard) = Logs::capture();
    let failed = "ERROR tool_call_failed undeclared undeclared_error";
    for (request, told) in [
        (first, &[failed][..]),
        (get("strict-1"), &[failed]),
        (get("strict-2"), &[failed, "ERROR tool_failed undeclared undeclared_error"]),
    ] {
        let got = send(service.clone(), request).await;
        assert!(!got.text().contains("hunter2"), "{got:?}");
        assert_eq!(got.message()["result"]["isError"], true, "{got:?}");
        assert_eq!(lines(&logs), told);
    }
    // Nor does the result of a task say more than the tool's own would.
    let service = OutcomeLayer::new()
        .policy(policy())
        .layer(answers(|| json_response(is_error(&7.into(), SECRET))));
    let params = json!({ "taskId": "t" });
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "tasks/result", "params": params });
    let got = send(service, post(request.to_string())).await;
    assert!(!got.text().contains("hunter2"), "{got:?}");
}

#[tokio::test]
async fn an_id_with_a_line_break_does_not_break_an_event() {
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(crate::kit::fake(|_| async { Err("down".into()) }));
    let text = "{\"jsonrpc\":\"2.0\",\"id\":[1,\n2],\"method\":\"tools/call\",\"params\":{\"name\":\"ok\"}}";
    let mut request = post(text);
    request.headers_mut().insert(header::ACCEPT, "text/event-stream".parse().unwrap());
    let got = send(service, request).await;
    assert_eq!(got.message()["id"], json!([1, 2]));
    assert_fixed(&got, &only(&logs));
}

#[tokio::test(start_paused = true)]
async fn a_verdict_from_inside_is_no_cancel() {
    if !is_alone("strict::a_verdict_from_inside_is_no_cancel") {
        return;
    }
    // The handler says how it ended, and then never answers: the deadline has to.
    let service = OutcomeLayer::new().deadline(Duration::from_secs(7)).abort_on_cancel(true).layer(
        crate::kit::fake(|request| async move {
            let call = request.extensions().get::<tower_outcome::Call>().cloned().unwrap();
            call.decide(tower_outcome::Verdict::completed());
            std::future::pending().await
        }),
    );
    let begun = tokio::time::Instant::now();
    let got = send(service, call()).await;
    assert_eq!(got.message()["result"]["isError"], true);
    assert!(begun.elapsed() >= Duration::from_secs(7));
}
