//! F: streams of events, in every framing that servers have.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::json;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};
use tower_http::compression::CompressionLayer;
use tower_outcome::OutcomeLayer;

use crate::{
    kit::{
        Fake, Pen, Piece, Script, answers, call, data, error, event, guarded, is_error, is_pending,
        line, lines, send, sse_response, success, whole_call,
    },
    support::Logs,
};

const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";
const COMPLETED: &str = "INFO tool_call_completed completed -";

fn progress(at: u32) -> String {
    let params = json!({ "progressToken": "p", "progress": at });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
}

fn written() -> (Pen, Fake) {
    let (pen, body) = Script::new();
    let body = std::sync::Mutex::new(Some(body));
    (pen, answers(move || sse_response(body.lock().unwrap().take().unwrap())))
}

#[tokio::test]
async fn f1_each_event_passes_before_there_is_another_one() {
    for compresses in [false, true] {
        let (logs, _guard) = Logs::capture();
        let (pen, service) = written();
        let service = OutcomeLayer::new().layer(service);
        let mut request = call();
        request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
        // Compression skips events by itself.
        let mut body = if compresses {
            let service = ServiceBuilder::new().layer(CompressionLayer::new()).service(service);
            guarded(service.oneshot(request)).await.unwrap().into_body().boxed_unsync()
        } else {
            let response = guarded(service.oneshot(request)).await.unwrap();
            response.into_body().boxed_unsync()
        };
        for at in 0..3 {
            assert!(is_pending(&mut body.frame()).await);
            pen.send(data(event(&progress(at)))).unwrap();
            let frame = guarded(body.frame()).await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), event(&progress(at)));
        }
        pen.send(data(event(&success(&7.into())))).unwrap();
        assert!(guarded(body.frame()).await.unwrap().is_ok());
        assert_eq!(line(&whole_call(&logs)), COMPLETED);
    }
}

#[tokio::test]
async fn f5_a_failure_late_in_a_stream_is_logged_once() {
    let frames = [event(&progress(1)), event(&progress(2)), event(&is_error(&7.into(), "late"))];
    let sent = frames.clone();
    let service = answers(move || sse_response(Script::of(sent.iter().cloned().map(data))));
    let (logs, _guard) = Logs::capture();
    assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.frames, frames);
    assert_eq!(line(&whole_call(&logs)), UNDECLARED);
}

#[tokio::test]
async fn f9_lines_end_in_every_way_that_lines_end() {
    let message = is_error(&7.into(), "mine");
    for end in ["\n", "\r\n", "\r"] {
        let text = ["event: message", &format!("data: {message}"), "", ""].join(end);
        for size in [1, 2, 7, text.len()] {
            let frames: Vec<_> = text.as_bytes().chunks(size).map(|it| it.to_vec()).collect();
            let service =
                answers(move || sse_response(Script::of(frames.iter().cloned().map(data))));
            let (logs, _guard) = Logs::capture();
            let got = send(OutcomeLayer::new().layer(service), call()).await;
            assert_eq!(got.text(), text, "{end:?} {size}");
            assert_eq!(line(&whole_call(&logs)), UNDECLARED, "{end:?} {size}");
        }
    }
}

#[tokio::test]
async fn f11_characters_may_be_split_and_data_may_have_many_lines() {
    let text = is_error(&7.into(), "é—😀").replacen(',', ",\ndata: ", 2);
    let text = format!("data: {text}\n\n");
    for size in 1..8 {
        let frames: Vec<_> = text.as_bytes().chunks(size).map(|it| it.to_vec()).collect();
        let service = answers(move || sse_response(Script::of(frames.iter().cloned().map(data))));
        let (logs, _guard) = Logs::capture();
        assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.text(), text);
        let end = whole_call(&logs);
        assert_eq!((line(&end).as_str(), end.field("error")), (UNDECLARED, Some("é—😀")));
    }
}

#[tokio::test(start_paused = true)]
async fn f13_a_timeout_of_heads_lets_a_long_stream_end_as_it_ends() {
    let (pen, service) = written();
    let status = http::StatusCode::REQUEST_TIMEOUT;
    let limit = tower_http::timeout::TimeoutLayer::with_status_code(status, Duration::from_secs(1));
    // On either side: a head is there at once.
    let service =
        ServiceBuilder::new().layer(limit).layer(OutcomeLayer::new()).layer(limit).service(service);
    let (logs, _guard) = Logs::capture();
    let mut body = guarded(service.oneshot(call())).await.unwrap().into_body();
    tokio::time::sleep(Duration::from_secs(3)).await;
    pen.send(data(event(&is_error(&7.into(), "mine")))).unwrap();
    assert!(guarded(body.frame()).await.unwrap().is_ok());
    assert_eq!(line(&whole_call(&logs)), UNDECLARED);
}

#[tokio::test]
async fn f19_a_stream_that_breaks_after_its_head_says_so_once() {
    for (last, expected) in [
        (Piece::Panic("SECRET") as Piece, "ERROR tool_call_failed fault panic"),
        (Piece::Error("SECRET"), "ERROR tool_call_failed fault upstream_error"),
    ] {
        let last = std::sync::Mutex::new(Some(last));
        let service = answers(move || {
            let last = last.lock().unwrap().take();
            sse_response(Script::of([data(event(&progress(1)))].into_iter().chain(last)))
        });
        let (logs, _guard) = Logs::capture();
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        assert_eq!((got.status, &got.error), (200, &None));
        let end = whole_call(&logs);
        assert_eq!(line(&end), expected);
        let message = got.message();
        assert_eq!(message["result"]["isError"], true);
        assert!(!got.text().contains("SECRET"));
        assert_eq!(lines(&logs).len(), 1);
    }
}

/// A status of the server's own troubles, with a stream: what it says counts as it does in JSON.
#[tokio::test]
async fn f1_a_failing_status_with_a_stream_is_read_as_one_with_json() {
    const SECRET: &str = "postgres://notes:hunter2@db";
    let id = json!(7);
    let declared = json!({ "outcome": "rejected", "code": "unknown_note" });
    let data_of = json!({ "tower-outcome/failure": declared });
    let refused = json!({ "code": -32602, "message": "No note at 'x'.", "data": data_of });
    let declared = json!({ "jsonrpc": "2.0", "id": id, "error": refused }).to_string();
    let upstream = "ERROR tool_call_failed fault upstream_error";
    let comment = || ": still here\n\n".to_owned();
    let rows: [(&str, Vec<String>, u16, &str); 6] = [
        ("declared", vec![event(&declared)], 500, "INFO tool_call_failed rejected unknown_note"),
        (
            "declared, after a comment",
            vec![comment(), event(&declared)],
            500,
            "INFO tool_call_failed rejected unknown_note",
        ),
        (
            "undeclared",
            vec![event(&error(&id, -32603, SECRET))],
            200,
            "ERROR tool_call_failed fault internal_error",
        ),
        ("nothing", vec![comment()], 200, upstream),
        ("no JSON", vec![event(SECRET)], 200, upstream),
        ("comments without an end", vec![comment(); 8000], 200, upstream),
    ];
    for (what, pieces, status, expected) in rows {
        let (logs, _guard) = Logs::capture();
        let sent = pieces.concat();
        let service = answers(move || {
            let mut response = sse_response(Script::of(pieces.clone().into_iter().map(data)));
            *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            response
        });
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        assert_eq!((got.status, line(&whole_call(&logs)).as_str()), (status, expected), "{what}");
        assert!(!got.text().contains(SECRET) && got.error.is_none(), "{what}: {got:?}");
        assert_eq!(got.text() == sent, status == 500, "{what}: {got:?}");
        assert_eq!(got.text().contains("This call was fine"), status == 200, "{what}: {got:?}");
    }
}
