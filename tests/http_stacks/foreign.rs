//! What is not MCP passes as it is, and unread.

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt as _, Full};
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    kit::{Piece, Script, data, fake, guarded, json_response, lines, read, response, send},
    script::Watch,
    support::Logs,
};

fn form() -> http::request::Builder {
    Request::post("/login").header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
}

#[tokio::test]
async fn the_body_of_what_is_not_mcp_is_not_read_before_the_service_does() {
    let requests = [
        form(),
        Request::post("/upload").header(header::CONTENT_TYPE, "application/octet-stream"),
        Request::post("/upload"),
        Request::put("/mcp").header(header::CONTENT_TYPE, "application/json"),
        Request::get("/"),
        Request::options("/mcp").header(header::ACCEPT, "*/*"),
    ];
    for request in requests {
        let (logs, _guard) = Logs::capture();
        let request = request.body(Script::of([Piece::Panic("it was read")])).unwrap();
        let service = fake(|_| async { Ok(response("text/html", Script::whole("<p>fine"))) });
        let got = send(OutcomeLayer::new().layer(service), request).await;
        assert_eq!((got.status, got.text().as_str()), (200, "<p>fine"));
        assert_eq!(lines(&logs), [""; 0]);
    }
}

#[tokio::test]
async fn frames_trailers_and_heads_of_what_is_not_mcp_pass_both_ways() {
    let (logs, _guard) = Logs::capture();
    let trailers = || HeaderMap::from_iter([(header::ETAG, "\"7\"".parse().unwrap())]);
    let service = fake(move |request| async move {
        assert_eq!(request.headers()[header::ACCEPT_ENCODING], "gzip, br");
        let body = request.into_body().collect().await.unwrap();
        assert_eq!(body.trailers(), Some(&trailers()));
        let pieces = [data(body.to_bytes()), data("second"), Piece::Trailers(trailers())];
        let mut response = response("application/grpc", Script::of(pieces));
        response.headers_mut().insert("grpc-encoding", "gzip".parse().unwrap());
        Ok(response)
    });
    let request = Request::post("/grpc")
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::ACCEPT_ENCODING, "gzip, br")
        .body(Script::of([data("one,"), data("two"), Piece::Trailers(trailers())]))
        .unwrap();
    let got = send(OutcomeLayer::new().layer(service), request).await;
    assert_eq!(got.frames, ["one,two", "second"]);
    assert_eq!((&got.trailers, got.header("grpc-encoding")), (&Some(trailers()), "gzip"));
    assert_eq!(lines(&logs), [""; 0]);
}

/// An API beside MCP, in the same router, whose documents have ids.
#[tokio::test]
async fn json_that_is_no_message_passes_with_whatever_answers_it() {
    for sent in [r#"{"id":3,"name":"x"}"#, r#"{"name":"x"}"#, "[1,2]", "7", "{", "", "null"] {
        for answer in [r#"{"saved":true}"#, "[]", "not json", "", r#"{"id":3,"error":"taken"}"#] {
            let (logs, _guard) = Logs::capture();
            let service = fake(move |request| async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(body, sent);
                Ok(json_response(answer))
            });
            let request = Request::post("/items")
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::ACCEPT, "application/json")
                .body(Full::new(Bytes::from(sent)))
                .unwrap();
            let got = send(OutcomeLayer::new().layer(service), request).await;
            assert_eq!((got.status, got.text().as_str()), (200, answer), "{sent}");
            assert_eq!(got.error, None, "{sent} {answer}");
            assert_eq!(lines(&logs), [""; 0], "{sent} {answer}");
        }
    }
}

#[tokio::test]
async fn a_body_that_nobody_wants_is_dropped_with_the_response() {
    let watch = Watch::default();
    let of_body = watch.clone();
    let service = fake(move |_| {
        let body = Script::whole("<p>").watched(&of_body);
        std::future::ready(Ok(response("text/html", body)))
    });
    let request = Request::get("/").body(Full::<Bytes>::default()).unwrap();
    let answer = guarded(OutcomeLayer::new().layer(service).oneshot(request)).await.unwrap();
    drop(answer);
    assert!(watch.is_dropped());
    assert_eq!(watch.polls.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test]
async fn other_statuses_of_what_is_not_mcp_pass() {
    for status in [204, 301, 304, 404, 408, 500, 502, 503] {
        let (logs, _guard) = Logs::capture();
        let service =
            fake(move |_| std::future::ready(Ok(crate::kit::status(status, "a page of its own"))));
        let request = form().body(Full::<Bytes>::default()).unwrap();
        let got = send(OutcomeLayer::new().layer(service), request).await;
        assert_eq!((got.status, got.text().as_str()), (status, "a page of its own"));
        assert_eq!(lines(&logs), [""; 0], "{status}");
    }
}

/// With nobody listening there is nothing to be known of a request, and still all of it arrives.
#[tokio::test]
async fn a_large_request_arrives_frame_by_frame_with_its_trailers() {
    let trailers = HeaderMap::from_iter([(header::ETAG, "\"7\"".parse().unwrap())]);
    for is_heard in [true, false] {
        let capture = is_heard.then(Logs::capture);
        let text = format!("\"{}\"}}}}}}", "x".repeat(6 * 1024 * 1024));
        let head = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ok","arguments":{"text":"#;
        let mut frames = vec![head.to_owned()];
        frames
            .extend(text.as_bytes().chunks(64 * 1024).map(|it| String::from_utf8_lossy(it).into()));
        let expected = frames.clone();
        let sent = trailers.clone();
        let service = fake(move |request| {
            let (expected, sent) = (expected.clone(), sent.clone());
            async move {
                let got = read(http::Response::new(request.into_body())).await;
                assert_eq!(got.frames.len(), expected.len());
                assert!(got.frames.iter().zip(&expected).all(|(got, it)| got == it));
                assert_eq!(got.trailers, Some(sent));
                Ok(json_response(crate::kit::success(&7.into())))
            }
        });
        let pieces = frames.into_iter().map(data).chain([Piece::Trailers(trailers.clone())]);
        let request = crate::kit::call().map(|_| Script::of(pieces));
        let layered = LogLayer::new().layer(ContainLayer::new().layer(service));
        let got = send(layered, request).await;
        assert_eq!(got.message()["result"]["content"][0]["text"], "fine");
        if let Some((logs, _)) = &capture {
            assert_eq!(lines(logs), ["INFO tool_call_completed completed -"]);
        }
    }
}
