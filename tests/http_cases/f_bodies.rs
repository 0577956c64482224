//! F: bodies, and what may not happen to them.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use http_body::{Body as _, Frame, SizeHint};
use serde_json::json;
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    kit::{
        Piece, Script, answers, call, call_2026, call_text, data, error, event, fake, guarded,
        is_error, json_response, line, lines, read, response, send, sse_response, success,
        whole_call,
    },
    support::Logs,
};

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"7\""))])
}

/// The same frames come out, and a body says the same of itself meanwhile.
#[tokio::test]
async fn f3_frames_trailers_ends_and_hints_are_the_inner_ones() {
    struct Exact(Vec<Bytes>, Option<HeaderMap>);
    impl http_body::Body for Exact {
        type Data = Bytes;
        type Error = tower::BoxError;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, tower::BoxError>>> {
            if !self.0.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(self.0.remove(0)))));
            }
            Poll::Ready(self.1.take().map(|trailers| Ok(Frame::trailers(trailers))))
        }
        fn is_end_stream(&self) -> bool {
            self.0.is_empty() && self.1.is_none()
        }
        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.0.iter().map(|frame| frame.len() as u64).sum())
        }
    }
    let text = success(&7.into());
    for has_trailers in [false, true] {
        let frames: Vec<_> = text.as_bytes().chunks(30).map(Bytes::copy_from_slice).collect();
        let sent = frames.clone();
        let service = tower::service_fn(move |_: http::Request<_>| {
            let body = Exact(sent.clone(), has_trailers.then(trailers));
            std::future::ready(Ok::<_, tower::BoxError>(http::Response::new(body)))
        });
        let (_logs, _guard) = Logs::capture();
        let layered = LogLayer::new().layer(ContainLayer::new().layer(service));
        let body = guarded(layered.oneshot(call())).await.unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut body = Box::pin(body);
        let mut left = text.len() as u64;
        let mut out = Vec::new();
        let mut ended = None;
        while !body.is_end_stream() {
            let frame = guarded(std::future::poll_fn(|cx| body.as_mut().poll_frame(cx))).await;
            match frame.unwrap().unwrap().into_data() {
                Ok(data) => {
                    left -= data.len() as u64;
                    out.extend_from_slice(&data);
                    assert_eq!(body.size_hint().exact(), Some(left));
                }
                Err(frame) => ended = frame.into_trailers().ok(),
            }
        }
        assert_eq!((out, ended), (text.clone().into_bytes(), has_trailers.then(trailers)));
    }
}

#[tokio::test]
async fn f7_an_encoded_body_is_left_alone_and_said_to_be_unread() {
    const GZIP: &[u8] =
        b"\x1f\x8b\x08\0 {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true}}";
    let (logs, _guard) = Logs::capture();
    let service = answers(|| {
        let mut response = response("application/json", Script::whole(GZIP));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::CONTENT_LENGTH, GZIP.len().into());
        response
    });
    let got = send(OutcomeLayer::new().layer(service), call()).await;
    assert_eq!(got.frames, [GZIP]);
    assert_eq!(got.header("content-length"), GZIP.len().to_string());
    let end = whole_call(&logs);
    assert_eq!(line(&end), "WARN tool_call_completed completed -");
    assert_eq!(end.fields["result_scanned"], json!(false));
}

#[tokio::test]
async fn f7_what_answers_an_encoded_request_is_read_all_the_same() {
    let encoded = |mut request: http::Request<http_body_util::Full<Bytes>>| {
        *request.body_mut() = http_body_util::Full::new(Bytes::from_static(b"\x1f\x8b\x08\0 "));
        let gzip = HeaderValue::from_static("gzip");
        request.headers_mut().insert(header::CONTENT_ENCODING, gzip);
        request
    };
    let secret = "postgres://notes:hunter2@db";
    for (text, end) in [
        (success(&7.into()), "completed completed -"),
        (error(&7.into(), -32602, "no path"), "failed protocol_error invalid_params"),
        (error(&7.into(), -32603, secret), "failed fault internal_error"),
    ] {
        for (request, what) in [(call(), "request"), (call_2026(), "tool_call")] {
            for is_stream in [false, true] {
                let sent = if is_stream { event(&text) } else { text.clone() };
                let body = sent.clone();
                let (logs, _guard) = Logs::capture();
                let service = answers(move || match is_stream {
                    true => sse_response(Script::of([data(body.clone())])),
                    false => json_response(body.clone()),
                });
                let got = send(OutcomeLayer::new().layer(service), encoded(request.clone())).await;
                assert!(!got.text().contains("hunter2"), "{got:?}");
                let is_replaced = text.contains("hunter2");
                assert_eq!(got.text() == sent, !is_replaced, "{got:?}");
                assert_eq!(got.message()["id"], 7, "{got:?}");
                let line = line(&whole_call(&logs));
                let level = match end {
                    _ if is_replaced => "ERROR",
                    _ if end.starts_with("completed") && what == "request" => "DEBUG",
                    _ => "INFO",
                };
                assert_eq!(line, format!("{level} {what}_{end}"));
            }
        }
    }
}

#[tokio::test]
async fn f15_a_handler_sees_the_request_that_came() {
    let text = call_text(7, "ok");
    let frames: Vec<_> = text.as_bytes().chunks(text.len() / 3 + 1).collect();
    let frames: Vec<Bytes> = frames.into_iter().map(Bytes::copy_from_slice).collect();
    assert_eq!(frames.len(), 3);
    let expected = frames.clone();
    let service = fake(move |request| {
        let expected = expected.clone();
        async move {
            assert_eq!(request.extensions().get::<&str>(), Some(&"mine"));
            let got = read(http::Response::new(request.into_body())).await;
            assert_eq!((got.frames, got.trailers), (expected, Some(trailers())));
            Ok(json_response(success(&7.into())))
        }
    });
    let pieces = frames.into_iter().map(Piece::Data).chain([Piece::Trailers(trailers())]);
    let mut request = call().map(|_| Script::of(pieces));
    request.extensions_mut().insert("mine");
    let (logs, _guard) = Logs::capture();
    send(OutcomeLayer::new().layer(service), request).await;
    assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);
}

/// How much memory that takes is measured elsewhere: here it is that the frames are the same ones.
#[tokio::test]
async fn f17_big_results_are_not_copied() {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"structuredContent":{{"a":"{0}"}},"content":[{{"type":"text","text":"{0}"}}],"isError":true}}}}"#,
        "x".repeat(8 << 20)
    );
    let whole = Bytes::from(text);
    let frames: Vec<_> = (0..whole.len())
        .step_by(1 << 16)
        .map(|at| whole.slice(at..whole.len().min(at + (1 << 16))))
        .collect();
    let addresses: Vec<_> = frames.iter().map(|frame| frame.as_ptr() as usize).collect();
    let service = answers(move || {
        response("application/json", Script::of(frames.iter().cloned().map(Piece::Data)))
    });
    let (logs, _guard) = Logs::capture();
    let got = send(OutcomeLayer::new().layer(service), call()).await;
    let passed: Vec<_> = got.frames.iter().map(|frame| frame.as_ptr() as usize).collect();
    assert_eq!(passed, addresses);
    assert_eq!(lines(&logs), ["ERROR tool_call_failed undeclared undeclared_error"]);
}

#[tokio::test]
async fn f21_numbers_of_a_passing_result_are_never_written_anew() {
    let result =
        r#"{"content":[],"structuredContent":{"id":9007199254740993,"x":1e400,"y":-0.0,"z":0.10}}"#;
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\n  \"result\":{result}}}");
    for is_stream in [false, true] {
        let sent = if is_stream { event(&text.replace('\n', "")) } else { text.clone() };
        let body = sent.clone();
        let service = answers(move || match is_stream {
            true => sse_response(Script::of([data(body.clone())])),
            false => json_response(body.clone()),
        });
        let (logs, _guard) = Logs::capture();
        assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.text(), sent);
        assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);
    }
    // Nor those of one that fails as its tool says.
    let text = is_error(&7.into(), "mine").replace("\"isError\"", "\"n\":1e400,\"isError\"");
    let body = text.clone();
    let service = answers(move || json_response(body.clone()));
    let (_logs, _guard) = Logs::capture();
    assert_eq!(send(OutcomeLayer::new().layer(service), call()).await.text(), text);
}
