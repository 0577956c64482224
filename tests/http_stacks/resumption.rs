//! Answers that come on another connection, of a server that is made for it: replays, answers that
//! never come, and requests that are only accepted.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::json;
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    kit::{
        Fake, Got, Script, call, call_text, data, error, event, fake, guarded, is_error, line,
        lines, post, read, send, sse_response, status, success, whole_call,
    },
    support::{Logs, alone::is_alone},
};

const COMPLETED: &str = "INFO tool_call_completed completed -";
const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";
const PRIMED: &str = "id: 1\nretry: 3000\ndata:\n\n";

/// A service with one answer for each request that comes.
fn in_turn(answers: impl IntoIterator<Item = Response<Script>>) -> Fake {
    let answers = Mutex::new(answers.into_iter().collect::<VecDeque<_>>());
    fake(move |_| {
        let answer = answers.lock().unwrap().pop_front();
        std::future::ready(answer.ok_or_else(|| "asked too often".into()))
    })
}

fn stream(text: impl Into<Bytes>) -> Response<Script> {
    sse_response(Script::of([data(text)]))
}

/// The same request in a session.
fn of<B>(session: &str, mut request: Request<B>) -> Request<B> {
    request.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    request
}

fn get(session: &str) -> Request<Full<Bytes>> {
    let request = Request::get("/mcp")
        .header(header::ACCEPT, "text/event-stream")
        .header("last-event-id", "1")
        .body(Full::default());
    of(session, request.unwrap())
}

fn delete(session: &str) -> Request<Full<Bytes>> {
    of(session, Request::delete("/mcp").body(Full::default()).unwrap())
}

#[tokio::test]
async fn an_answer_on_a_later_stream_is_the_end_and_a_replay_is_none() {
    for (session, answer, expected) in [
        ("resumption-1", success(&7.into()), COMPLETED),
        ("resumption-2", is_error(&7.into(), "mine"), UNDECLARED),
        (
            "resumption-3",
            error(&7.into(), -32603, "SECRET"),
            "ERROR tool_call_failed fault internal_error",
        ),
        (
            "resumption-4",
            error(&7.into(), -32602, "no"),
            "INFO tool_call_failed protocol_error invalid_params",
        ),
    ] {
        let (logs, _guard) = Logs::capture();
        let resumed = format!("{PRIMED}id: 2\n{}", event(&answer));
        let service = OutcomeLayer::new().layer(in_turn([
            stream(PRIMED),
            stream(resumed.clone()),
            stream(resumed.clone()),
        ]));
        let got = send(service.clone(), of(session, call())).await;
        assert_eq!(got.text(), PRIMED);
        assert_eq!(lines(&logs), [""; 0], "it may still come");
        let first = send(service.clone(), get(session)).await;
        let end = whole_call(&logs);
        assert_eq!(line(&end), expected);
        assert_eq!(first.message()["id"], 7);
        let again = send(service, get(session)).await;
        assert_eq!(lines(&logs).len(), 1);
        // With the same reference, where there is one.
        assert_eq!(first.text(), again.text());
        assert!(!first.text().contains("SECRET"), "{first:?}");
        assert!(first.text().contains("id: 2\n"), "the event is still the same: {first:?}");
        if end.field("outcome") == Some("fault") {
            assert!(first.text().contains(end.field("call_id").unwrap()), "{first:?}");
            assert_eq!(first.message()["result"]["isError"], true);
        } else {
            assert_eq!(first.text(), resumed);
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_and_without_an_event_id_is_a_fault() {
    for request in [of("resumption-5", call()), call()] {
        let (logs, _guard) = Logs::capture();
        let service = OutcomeLayer::new().layer(in_turn([stream("retry: 1\ndata:\n\n")]));
        let got = send(service, request).await;
        assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault upstream_error");
        assert_eq!(got.message()["result"]["isError"], true);
    }
    // With one, but in no session that it could be found by, nobody can say how it went on.
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(in_turn([stream(PRIMED)]));
    assert_eq!(send(service, call()).await.text(), PRIMED);
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_abandoned abandoned -");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_is_abandoned_after_a_minute() {
    if !is_alone("resumption::an_answer_that_never_comes_is_abandoned_after_a_minute") {
        return;
    }
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(in_turn([stream(PRIMED)]));
    send(service, of("resumption-6", call())).await;
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(lines(&logs), [""; 0]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let end = whole_call(&logs);
    assert_eq!(line(&end), "INFO tool_call_abandoned abandoned -");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_accepted_waits_for_its_answer_elsewhere() {
    if !is_alone("resumption::a_request_that_is_accepted_waits_for_its_answer_elsewhere") {
        return;
    }
    let accepted = || status(202, "");
    let (logs, _guard) = Logs::capture();
    let answer = event(&success(&7.into()));
    let service = LogLayer::new().layer(ContainLayer::new().layer(in_turn([
        accepted(),
        stream(answer),
        accepted(),
    ])));
    let got = send(service.clone(), of("resumption-7", call())).await;
    assert_eq!((got.status, got.text().as_str()), (202, ""));
    assert_eq!(lines(&logs), [""; 0]);
    send(service.clone(), get("resumption-7")).await;
    assert_eq!(line(&whole_call(&logs)), COMPLETED);
    send(service, of("resumption-7", post(call_text(8, "ok")))).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(lines(&logs), [COMPLETED, "INFO tool_call_abandoned abandoned -"]);
}

#[tokio::test]
async fn a_client_that_hangs_up_may_come_back_for_the_answer() {
    let (logs, _guard) = Logs::capture();
    let (pen, body) = Script::new();
    let service = OutcomeLayer::new()
        .layer(in_turn([sse_response(body), stream(event(&success(&7.into())))]));
    let response = guarded(service.clone().oneshot(of("resumption-8", call()))).await.unwrap();
    pen.send(data(PRIMED)).unwrap();
    let mut body = response.into_body();
    let first = guarded(http_body_util::BodyExt::frame(&mut body)).await;
    assert!(first.unwrap().is_ok());
    drop(body);
    assert_eq!(lines(&logs), [""; 0]);
    send(service, get("resumption-8")).await;
    assert_eq!(line(&whole_call(&logs)), COMPLETED);
}

#[tokio::test]
async fn the_end_of_a_session_is_the_end_of_what_waits_in_it() {
    let (logs, _guard) = Logs::capture();
    let refused = status(405, "");
    let service = OutcomeLayer::new().layer(in_turn([
        stream(PRIMED),
        stream(PRIMED),
        refused,
        status(204, ""),
    ]));
    send(service.clone(), of("resumption-9", call())).await;
    send(service.clone(), of("resumption-10", post(call_text(8, "ok")))).await;
    // A server that does not let its sessions be ended has ended none.
    assert_eq!(send(service.clone(), delete("resumption-9")).await.status, 405);
    let ends = |logs: &Logs| logs.events().iter().filter(|event| event.is_terminal()).count();
    let refused = lines(&logs);
    assert!(!refused.iter().any(|line| line.contains("tool_call")), "{refused:?}");
    let before = ends(&logs);
    assert_eq!(send(service, delete("resumption-9")).await.status, 204);
    assert_eq!(ends(&logs), before + 1);
    let end = logs.terminal(&json!(7)).remove(0);
    assert_eq!(line(&end), "INFO tool_call_abandoned abandoned -");
    assert_eq!(end.field("reason"), Some("session_ended"));
    assert_eq!(logs.terminal(&json!(8)), []);
}

#[tokio::test]
async fn a_server_may_say_so_itself_where_its_answer_was_cancelled() {
    let (logs, _guard) = Logs::capture();
    let (pen, body) = Script::new();
    let service = OutcomeLayer::new().layer(in_turn([sse_response(body), status(202, "")]));
    let request = of("resumption-11", call());
    let response = guarded(service.clone().oneshot(request)).await.unwrap();
    let cancel = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": 7 },
    });
    send(service, of("resumption-11", post(cancel.to_string()))).await;
    let end = logs.terminal(&json!(7)).remove(0);
    assert_eq!(line(&end), "INFO tool_call_cancelled cancelled -");
    // Whatever comes then, or nothing, is no second end, and no fault either.
    pen.send(data(PRIMED.replace("id: 1\n", ""))).unwrap();
    drop(pen);
    let got: Got = read(response).await;
    assert_eq!((got.messages().len(), got.error), (0, None));
    assert_eq!(logs.terminal(&json!(7)).len(), 1);
    assert!(!logs.events().iter().any(|event| event.level == "ERROR"));
}

#[tokio::test]
async fn a_stray_error_on_a_stream_does_not_tell_what_it_must_not() {
    for id in [json!(99), json!(null)] {
        let (logs, _guard) = Logs::capture();
        let stray = event(&error(&id, -32603, "SECRET"));
        let service = OutcomeLayer::new().layer(in_turn([stream(stray)]));
        let got = send(service, get("resumption-12")).await;
        assert!(!got.text().contains("SECRET"), "{got:?}");
        assert_eq!(got.message()["error"]["code"], -32603, "{got:?}");
        let all = lines(&logs);
        // No terminal line can carry it: nobody knows whose answer it is.
        assert_eq!(all, ["ERROR tool_failed fault internal_error"], "{id}");
        assert_eq!(got.status, StatusCode::OK.as_u16());
    }
}
