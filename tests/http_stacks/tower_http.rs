//! tower-http's layers, inside and outside.

use std::{process::Stdio, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    limit::RequestBodyLimitLayer,
    map_request_body::MapRequestBodyLayer,
    map_response_body::MapResponseBodyLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    timeout::TimeoutLayer,
    trace::TraceLayer,
};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    kit::{
        self, Piece, Script, answers, assert_fixed, call, call_text, data, event, fake, guarded,
        healthy, is_error, json_response, line, lines, post, response, send, sse_response, success,
        whole_call,
    },
    support::Logs,
};

const COMPLETED: &str = "INFO tool_call_completed completed -";
const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";

fn long() -> String {
    success(&7.into()).replace("fine", &"fine ".repeat(500))
}

fn accepting_gzip() -> Request<Full<Bytes>> {
    let mut request = call();
    request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"));
    request
}

/// What a gzip body says; `None` where nobody here can tell.
async fn gunzip(body: Vec<u8>) -> Option<String> {
    use tokio::io::AsyncWriteExt as _;
    let mut command = tokio::process::Command::new("gzip");
    let command = command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.kill_on_drop(true).spawn() else {
        eprintln!("there is no gzip, so that what it compressed is left unread");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let write = async move { stdin.write_all(&body).await.unwrap() };
    let (output, ()) = tokio::join!(child.wait_with_output(), write);
    Some(String::from_utf8(output.unwrap().stdout).unwrap())
}

#[tokio::test]
async fn traces_go_inside_and_outside() {
    for is_outside in [true, false] {
        let (logs, _guard) = Logs::capture();
        let got = if is_outside {
            let service = ServiceBuilder::new()
                .layer(TraceLayer::new_for_http())
                .layer(OutcomeLayer::new())
                .service(healthy());
            send(service, call()).await
        } else {
            let service = ServiceBuilder::new()
                .layer(OutcomeLayer::new())
                .layer(TraceLayer::new_for_http())
                .service(healthy());
            send(service, call()).await
        };
        assert_eq!(got.message()["id"], 7);
        assert_eq!(line(&whole_call(&logs)), COMPLETED);
    }
}

#[tokio::test]
async fn compression_outside_gives_the_client_what_it_accepts() {
    for (text, expected) in [
        (long(), COMPLETED),
        (is_error(&7.into(), &"no ".repeat(500)), UNDECLARED),
        (
            kit::error(&7.into(), -32603, &"no ".repeat(500)),
            "ERROR tool_call_failed fault internal_error",
        ),
    ] {
        let (logs, _guard) = Logs::capture();
        let is_replaced = text.contains("-32603");
        let of_service = text.clone();
        let service =
            ServiceBuilder::new().layer(CompressionLayer::new()).layer(OutcomeLayer::new());
        let service = service.service(fake(move |request| {
            // What the client accepts is for whoever compresses.
            assert_eq!(request.headers()[header::ACCEPT_ENCODING], "identity");
            std::future::ready(Ok(json_response(of_service.clone())))
        }));
        let got = send(service, accepting_gzip()).await;
        assert_eq!(
            (got.header("content-encoding"), &got.frames.concat()[..2]),
            ("gzip", &b"\x1f\x8b"[..])
        );
        let end = whole_call(&logs);
        assert_eq!(line(&end), expected);
        assert!(!end.fields.contains_key("result_scanned"));
        match gunzip(got.frames.concat()).await {
            Some(body) if is_replaced => assert!(body.contains("could not complete it"), "{body}"),
            Some(body) => assert_eq!(body, text),
            None => {}
        }
    }
}

#[tokio::test]
async fn compression_inside_is_asked_for_nothing() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(CompressionLayer::new());
    let got = send(service.service(answers(|| json_response(long()))), accepting_gzip()).await;
    assert_eq!((got.header("content-encoding"), got.text()), ("", long()));
    assert_eq!(line(&whole_call(&logs)), COMPLETED);
}

#[tokio::test]
async fn what_is_compressed_all_the_same_passes_and_is_no_silent_success() {
    const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03 \xff{\"isError\":true} anything \x00";
    for (media_type, status) in
        [("application/json", 200), ("text/event-stream", 200), ("application/json", 404)]
    {
        let (logs, _guard) = Logs::capture();
        let service = answers(move || {
            let body = Script::of(GZIP.chunks(5).map(data));
            let mut response = response(media_type, body);
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(header::CONTENT_LENGTH, GZIP.len().into());
            headers.insert(header::ETAG, HeaderValue::from_static("\"7\""));
            response
        });
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        let frames: Vec<Bytes> = GZIP.chunks(5).map(Bytes::from).collect();
        assert_eq!((got.status, &got.frames), (status, &frames));
        assert_eq!(got.header("content-encoding"), "gzip");
        assert_eq!(got.header("content-length"), GZIP.len().to_string());
        assert_eq!(got.header("etag"), "\"7\"");
        let end = whole_call(&logs);
        if status == 200 {
            assert_eq!(line(&end), "WARN tool_call_completed completed -");
            assert_eq!(end.fields["result_scanned"], json!(false));
        } else {
            assert_eq!(line(&end), "INFO tool_call_failed protocol_error http_404");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_layer_inside_is_answered_as_a_timeout() {
    for (status, code) in [
        (StatusCode::REQUEST_TIMEOUT, "timeout"),
        (StatusCode::GATEWAY_TIMEOUT, "upstream_error"),
        (StatusCode::SERVICE_UNAVAILABLE, "upstream_error"),
    ] {
        let (logs, _guard) = Logs::capture();
        let service = ServiceBuilder::new()
            .layer(OutcomeLayer::new())
            .layer(TimeoutLayer::with_status_code(status, Duration::from_secs(1)))
            .service(fake(|_| std::future::pending()));
        let got = send(service, call()).await;
        let end = whole_call(&logs);
        assert_eq!(line(&end), format!("WARN tool_call_failed fault {code}"));
        assert_eq!(end.field("actor"), Some("time"));
        assert_fixed(&got, &end);
    }
}

#[tokio::test]
async fn a_timeout_layer_outside_takes_the_body() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, kit_guard()))
        .layer(OutcomeLayer::new())
        .service(healthy());
    assert_eq!(send(service, call()).await.message()["id"], 7);
    assert_eq!(line(&whole_call(&logs)), COMPLETED);
}

fn kit_guard() -> Duration {
    crate::support::GUARD
}

/// A request of so many bytes, of unknown length.
fn streamed(bytes: usize) -> Request<Script> {
    let text = call_text(7, "ok").replace("{}", &json!({ "text": "x".repeat(bytes) }).to_string());
    let frames: Vec<_> = text.as_bytes().chunks(1000).map(|it| data(it.to_vec())).collect();
    call().map(|_| Script::of(frames))
}

#[tokio::test]
async fn a_body_limit_inside_answers_with_a_413_of_its_own() {
    // By the length that the head declares, and late.
    for is_late in [false, true] {
        let (logs, _guard) = Logs::capture();
        let service = ServiceBuilder::new()
            .layer(OutcomeLayer::new())
            .layer(RequestBodyLimitLayer::new(4096))
            .service(fake(|request| async move {
                match request.into_body().collect().await {
                    Ok(_) => Ok(json_response(success(&7.into()))),
                    Err(_) => Ok(kit::status(413, "length limit exceeded")),
                }
            }));
        let mut request = streamed(10_000);
        if !is_late {
            request.headers_mut().insert(header::CONTENT_LENGTH, 10_100.into());
        }
        let got = send(service, request).await;
        assert_eq!((got.status, got.text().as_str()), (413, "length limit exceeded"));
        assert_eq!(line(&whole_call(&logs)), "INFO tool_call_failed protocol_error http_413");
    }
}

#[tokio::test]
async fn a_body_limit_outside_breaks_the_request_that_the_service_refuses() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(RequestBodyLimitLayer::new(4096))
        .layer(OutcomeLayer::new())
        .service(fake(|request| async move {
            let error = request.into_body().collect().await.map(drop).unwrap_err();
            let is_limit = error.is::<http_body_util::LengthLimitError>();
            Ok(kit::status(if is_limit { 413 } else { 400 }, "no"))
        }));
    let got = send(service, streamed(10_000)).await;
    assert_eq!(got.status, 413, "the error is the one that the limit made");
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_failed protocol_error http_413");
}

/// tower-http's own `CatchPanicLayer` makes a 500 of a panic.
#[tokio::test]
async fn panics_are_caught_by_whoever_is_further_in() {
    let panics = || fake(|_| async { panic!("SECRET") });
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(CatchPanicLayer::new());
    let got = send(service.service(panics()), call()).await;
    let end = whole_call(&logs);
    assert_eq!(line(&end), "ERROR tool_call_failed fault upstream_error");
    assert_fixed(&got, &end);

    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new().layer(CatchPanicLayer::new()).layer(OutcomeLayer::new());
    let got = send(service.service(panics()), call()).await;
    let end = whole_call(&logs);
    assert_eq!(line(&end), "ERROR tool_call_failed fault panic");
    assert_fixed(&got, &end);

    // Where nobody of ours contains, the line is there all the same.
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new().layer(CatchPanicLayer::new()).layer(LogLayer::new());
    assert_eq!(send(service.service(panics()), call()).await.status, 500);
    assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault panic");
}

#[tokio::test]
async fn request_ids_go_through() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(OutcomeLayer::new())
        .layer(PropagateRequestIdLayer::x_request_id())
        .service(fake(|request| {
            assert_eq!(request.headers()["x-request-id"], "mine");
            std::future::ready(Err("SECRET".into()))
        }));
    let mut request = call();
    request.headers_mut().insert("x-request-id", HeaderValue::from_static("mine"));
    assert_eq!(send(service, request).await.message()["result"]["isError"], true);
    assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault internal_error");

    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(PropagateRequestIdLayer::x_request_id())
        .service(answers(|| kit::status(500, "a page")));
    let got = send(service, call()).await;
    // What a head says that is none of its body's stays.
    assert!(!got.header("x-request-id").is_empty(), "{got:?}");
    assert_eq!(got.message()["result"]["isError"], true);
}

#[tokio::test]
async fn bodies_may_be_mapped_on_either_side() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(MapRequestBodyLayer::new(|body: Full<Bytes>| Limited::new(body, 1 << 20)))
        .layer(MapResponseBodyLayer::new(http_body_util::combinators::UnsyncBoxBody::new))
        .layer(OutcomeLayer::new())
        .layer(MapRequestBodyLayer::new(http_body_util::combinators::UnsyncBoxBody::new))
        .layer(MapResponseBodyLayer::new(|body: Script| {
            body.map_frame(|frame| {
                frame.map_data(|data| {
                    Bytes::from(String::from_utf8_lossy(&data).replace("fine", "well"))
                })
            })
        }))
        .service(answers(|| sse_response(Script::of([data(event(&success(&7.into())))]))));
    let got = send(service, call()).await;
    assert_eq!(got.message()["result"]["content"][0]["text"], "well");
    assert_eq!(line(&whole_call(&logs)), COMPLETED);
}

#[tokio::test]
async fn trailers_and_hints_go_through() {
    let trailers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"7\""))]);
    for media_type in ["application/json", "text/event-stream"] {
        let sent = trailers.clone();
        let text = match media_type {
            "application/json" => success(&7.into()),
            _ => event(&success(&7.into())),
        };
        let frames: Vec<_> = text.as_bytes().chunks(9).map(Bytes::copy_from_slice).collect();
        let of_service = frames.clone();
        let service = answers(move || {
            let pieces = of_service.iter().cloned().map(Piece::Data);
            response(media_type, Script::of(pieces.chain([Piece::Trailers(sent.clone())])))
        });
        let got = send(OutcomeLayer::new().layer(service.clone()), call()).await;
        assert_eq!((got.text(), &got.trailers), (text.clone(), &Some(trailers.clone())));
        // A layer that only logs does not even cut frames anew.
        let got = send(LogLayer::new().layer(service), call()).await;
        assert_eq!((got.frames, got.trailers), (frames, Some(trailers.clone())));
    }
    let (_logs, _guard) = Logs::capture();
    let service = ContainLayer::new().layer(answers(|| json_response(long())));
    let response = guarded(service.oneshot(call())).await.unwrap();
    let declared = response.headers()[header::CONTENT_LENGTH].to_str().unwrap().to_owned();
    let hint = http_body::Body::size_hint(response.body());
    assert_eq!(hint.exact().map(|it| it.to_string()), Some(declared));
}

#[tokio::test]
async fn a_log_line_has_the_sizes_of_both_bodies() {
    let (logs, _guard) = Logs::capture();
    let text = call_text(7, "ok");
    let service = OutcomeLayer::new().route("/mcp").layer(answers(|| json_response(long())));
    send(service, post(text.clone())).await;
    let end = whole_call(&logs);
    assert_eq!(end.fields["request_bytes"], json!(text.len()));
    assert_eq!(end.fields["result_bytes"], json!(long().len()));
    assert_eq!((end.field("transport"), end.field("route")), (Some("http"), Some("/mcp")));
    let expected: Value = json!("2025-11-25");
    assert_eq!(end.fields["protocol_version"], expected);
    assert_eq!(lines(&logs).len(), 1);
}
