//! On real sockets: hyper without axum, frames as they come, clients that leave.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tower::{BoxError, Layer as _, Service, ServiceBuilder};
use tower_http::{catch_panic::CatchPanicLayer, compression::CompressionLayer, trace::TraceLayer};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    kit::{
        Fake, Got, Pen, Piece, Script, assert_fixed, assert_length, call, call_2026, call_text,
        data, end_of, error, event, fake, guarded, healthy, json_response, line, lines, read,
        response, sse_response, success,
    },
    script::Watch,
    support::Logs,
};

/// Serves on a port of its own, with hyper alone.
pub(crate) async fn serve<S, B>(service: S) -> SocketAddr
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let connection = hyper::server::conn::http1::Builder::new();
            let connection = connection.serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { drop(connection.await) });
        }
    });
    address
}

/// A connection, whose client does nothing of its own.
pub(crate) async fn connect(address: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    sender
}

/// Sends a request, and reads the head of what comes back.
pub(crate) async fn head(
    sender: &mut SendRequest<Full<Bytes>>,
    mut request: Request<Full<Bytes>>,
) -> Response<Incoming> {
    request.headers_mut().entry(header::HOST).or_insert("localhost".parse().unwrap());
    guarded(sender.ready()).await.unwrap();
    guarded(sender.send_request(request)).await.unwrap()
}

pub(crate) async fn exchange(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Got {
    read(head(sender, request).await).await
}

/// The next piece of a body, as it comes off the wire.
pub(crate) async fn next(body: &mut Incoming) -> Option<Bytes> {
    let frame = guarded(body.frame()).await?.unwrap();
    frame.into_data().ok()
}

/// Reads until the stream says `until`.
pub(crate) async fn read_until(body: &mut Incoming, until: &str) -> String {
    let mut text = String::new();
    while !text.contains(until) {
        let piece = next(body).await.unwrap_or_else(|| panic!("it ended after {text}"));
        text.push_str(&String::from_utf8_lossy(&piece));
    }
    text
}

/// A service whose only answer is the test's to write.
fn written(media_type: &'static str) -> (Pen, Watch, Fake) {
    let (pen, body) = Script::new();
    let watch = Watch::default();
    let body = std::sync::Mutex::new(Some(body.watched(&watch)));
    let service = fake(move |_| {
        let body = body.lock().unwrap().take().unwrap();
        std::future::ready(Ok(response(media_type, body)))
    });
    (pen, watch, service)
}

fn progress(at: u32) -> String {
    let params = json!({ "progressToken": "p", "progress": at });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
}

/// What the server sends next it sends only after the client has read what came before.
async fn check_step_by_step(mut body: Incoming, pen: Pen) {
    for at in 0..5 {
        pen.send(data(event(&progress(at)))).unwrap();
        assert_eq!(read_until(&mut body, "\n\n").await, event(&progress(at)));
        // A comment, and an event in pieces, which is an event once it is whole.
        pen.send(data(":\n\n")).unwrap();
        assert_eq!(read_until(&mut body, "\n\n").await, ":\n\n");
    }
    pen.send(data(event(&success(&7.into())))).unwrap();
    assert_eq!(read_until(&mut body, "\n\n").await, event(&success(&7.into())));
    pen.send(data(event(&progress(9)))).unwrap();
    read_until(&mut body, "\n\n").await;
    drop(pen);
    assert_eq!(next(&mut body).await, None);
}

#[tokio::test]
async fn each_event_is_read_before_the_next_is_sent() {
    macro_rules! check {
        ($service:ident => $stack:expr) => {
            let (logs, _guard) = Logs::capture();
            let (pen, _, $service) = written("text/event-stream");
            let mut client = connect(serve($stack).await).await;
            let mut request = call();
            let accepted = "gzip, identity".parse().unwrap();
            request.headers_mut().insert(header::ACCEPT_ENCODING, accepted);
            let body = head(&mut client, request).await.into_body();
            check_step_by_step(body, pen).await;
            let end = end_of(&logs, &json!(7)).await;
            assert_eq!(line(&end), "INFO tool_call_completed completed -");
        };
    }
    check!(inner => OutcomeLayer::new().layer(inner));
    check!(inner => LogLayer::new().layer(inner));
    check!(inner => OutcomeLayer::new().layer(OutcomeLayer::new().layer(inner)));
    check!(inner => ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(CompressionLayer::new())
        .layer(CatchPanicLayer::new())
        .layer(OutcomeLayer::new())
        .layer(CompressionLayer::new())
        .service(inner));
    check!(inner => {
        let inner = ContainLayer::new().layer(inner);
        axum::Router::new().route_service("/mcp", inner).layer(LogLayer::new())
    });
}

#[tokio::test]
async fn a_large_json_result_flows_before_its_end_is_there() {
    let (logs, _guard) = Logs::capture();
    let (pen, _, service) = written("application/json");
    let mut client = connect(serve(OutcomeLayer::new().layer(service)).await).await;
    let begin = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""#;
    pen.send(data(begin)).unwrap();
    let mut body = head(&mut client, call()).await.into_body();
    assert_eq!(read_until(&mut body, "text\":\"").await, begin);
    for _ in 0..3 {
        pen.send(data("more ")).unwrap();
        assert_eq!(read_until(&mut body, "more ").await, "more ");
    }
    pen.send(data(r#""}],"isError":true}}"#)).unwrap();
    drop(pen);
    read_until(&mut body, "}}").await;
    assert_eq!(next(&mut body).await, None);
    let end = end_of(&logs, &json!(7)).await;
    assert_eq!(line(&end), "ERROR tool_call_failed undeclared undeclared_error");
}

/// A length that is wrong, or a body that is not read to its end, would spoil what comes next.
#[tokio::test]
async fn answers_of_all_kinds_follow_each_other_on_one_connection() {
    let service = fake(|request| async move {
        let body = request.into_body().collect().await?.to_bytes();
        let message: serde_json::Value = serde_json::from_slice(&body)?;
        let id = &message["id"];
        Ok(match message["params"]["name"].as_str().unwrap() {
            "ok" => json_response(success(id)),
            "internal" => json_response(error(id, -32603, &"SECRET ".repeat(2000))),
            "invalid" => json_response(error(id, -32602, "no")),
            "page" => crate::kit::status(502, "<p>a page"),
            "refused" => crate::kit::status(404, "no such thing"),
            "events" => sse_response(Script::of([data(event(&success(id)))])),
            "broken" => sse_response(Script::of([data("data: {"), Piece::Error("SECRET")])),
            "nothing" => json_response(""),
            "nonsense" => json_response("<html>"),
            "error" => return Err("SECRET".into()),
            _ => panic!("SECRET"),
        })
    });
    let (logs, _guard) = Logs::capture();
    let mut client = connect(serve(OutcomeLayer::new().layer(service)).await).await;
    let tools = [
        ("ok", "INFO tool_call_completed completed -"),
        ("internal", "ERROR tool_call_failed fault internal_error"),
        ("invalid", "INFO tool_call_failed protocol_error invalid_params"),
        ("page", "ERROR tool_call_failed fault upstream_error"),
        ("refused", "INFO tool_call_failed protocol_error http_404"),
        ("events", "INFO tool_call_completed completed -"),
        ("broken", "ERROR tool_call_failed fault upstream_error"),
        ("nothing", "ERROR tool_call_failed fault upstream_error"),
        ("nonsense", "ERROR tool_call_failed fault upstream_error"),
        ("error", "ERROR tool_call_failed fault internal_error"),
        ("panic", "ERROR tool_call_failed fault panic"),
    ];
    for round in 0..3 {
        for (at, (tool, expected)) in tools.iter().enumerate() {
            let id = json!(round * 100 + at);
            let request = call().map(|_| Full::new(call_text(id.clone(), tool).into()));
            let got = exchange(&mut client, request).await;
            let end = end_of(&logs, &id).await;
            assert_eq!(line(&end), *expected, "{tool}");
            assert!(!got.text().contains("SECRET"), "{tool}: {got:?}");
            assert_length(&got);
            if end.field("outcome") == Some("fault") {
                assert_fixed(&got, &end);
                assert_eq!(got.message()["id"], id);
            }
        }
    }
}

#[tokio::test]
async fn a_result_that_is_cut_off_is_no_whole_answer_to_the_client() {
    let (logs, _guard) = Logs::capture();
    let (pen, _, service) = written("application/json");
    let mut client = connect(serve(OutcomeLayer::new().layer(service)).await).await;
    pen.send(data(r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#)).unwrap();
    let mut body = head(&mut client, call()).await.into_body();
    read_until(&mut body, "[").await;
    pen.send(Piece::Error("SECRET")).unwrap();
    assert!(guarded(body.frame()).await.unwrap().is_err());
    let end = end_of(&logs, &json!(7)).await;
    assert_eq!(line(&end), "ERROR tool_call_failed fault upstream_error");
}

#[tokio::test]
async fn a_client_that_hangs_up_has_left_or_from_2026_on_cancelled() {
    const LEFT: (&str, Option<&str>) = ("abandoned", Some("disconnected"));
    const CANCELLED: (&str, Option<&str>) = ("cancelled", Some("client_cancelled"));
    for (request, expected) in [(call(), LEFT), (call_2026(), CANCELLED)] {
        for has_head in [false, true] {
            let (logs, _guard) = Logs::capture();
            let (pen, watch, service) = written("text/event-stream");
            let service = match has_head {
                true => service,
                false => fake(|_| std::future::pending()),
            };
            let mut client = connect(serve(OutcomeLayer::new().layer(service)).await).await;
            if has_head {
                pen.send(data(event(&progress(1)))).unwrap();
                let mut body = head(&mut client, request.clone()).await.into_body();
                read_until(&mut body, "\n\n").await;
                drop((body, client));
            } else {
                let mut request = request.clone();
                request.headers_mut().insert(header::HOST, "localhost".parse().unwrap());
                let answer = tokio::spawn(async move { client.send_request(request).await });
                logs.wait_for_event(&json!(7), "tool_call_started").await.unwrap();
                answer.abort();
            }
            let end = end_of(&logs, &json!(7)).await;
            assert_eq!((end.field("outcome").unwrap(), end.field("reason")), expected);
            assert_eq!(end.level, "INFO");
            if has_head {
                crate::kit::until("the body is dropped", || watch.is_dropped()).await;
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_after_the_answer_has_had_it() {
    for request in [call(), call_2026()] {
        let (logs, _guard) = Logs::capture();
        let (pen, _, service) = written("text/event-stream");
        let mut client = connect(serve(OutcomeLayer::new().layer(service)).await).await;
        pen.send(data(event(&success(&7.into())))).unwrap();
        let mut body = head(&mut client, request).await.into_body();
        read_until(&mut body, "\n\n").await;
        drop((body, client));
        crate::kit::until("the body is dropped", || pen.is_closed()).await;
        assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);
    }
}

/// A request as its bytes.
async fn raw(address: SocketAddr, request: &[&str]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    for part in request {
        stream.write_all(part.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = guarded(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                    content-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\n";

#[tokio::test]
async fn chunks_and_trailers_of_a_request_arrive() {
    let (logs, _guard) = Logs::capture();
    let service = fake(|request| async move {
        let body = request.into_body().collect().await?;
        let trailers = body.trailers().cloned().unwrap_or_default();
        assert_eq!(trailers, HeaderMap::from_iter([(header::ETAG, "seven".parse().unwrap())]));
        let message: serde_json::Value = serde_json::from_slice(&body.to_bytes())?;
        Ok(json_response(success(&message["id"])))
    });
    let address = serve(OutcomeLayer::new().layer(service)).await;
    let text = call_text(7, "ok");
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let (first, second) = (chunk(&text[..20]), chunk(&text[20..]));
    let rest = "0\r\netag: seven\r\n\r\n";
    let head = "transfer-encoding: chunked\r\ntrailer: etag\r\n\r\n";
    let answer = raw(address, &[HEAD, head, &first, &second, rest]).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with(&success(&7.into())),
        "{answer}"
    );
    assert_eq!(line(&end_of(&logs, &json!(7)).await), "INFO tool_call_completed completed -");
}

#[tokio::test]
async fn a_request_that_breaks_off_is_answered_by_the_service() {
    let bodies = [
        // Chunks that are none, a body that is too short, and one that ends inside of a chunk.
        ("transfer-encoding: chunked\r\n\r\n", "zz\r\n{}\r\n"),
        ("content-length: 1000\r\n\r\n", r#"{"jsonrpc":"2.0","id":7,"method":"tools/ca"#),
        ("transfer-encoding: chunked\r\n\r\n", "fff\r\n{\"jsonrpc\":\"2.0\",\"id\":7,"),
    ];
    for (head, body) in bodies {
        let (logs, _guard) = Logs::capture();
        let service = fake(|request| async move {
            assert!(request.into_body().collect().await.is_err());
            Ok(crate::kit::status(400, "it broke off"))
        });
        let address = serve(OutcomeLayer::new().layer(service)).await;
        let answer = raw(address, &[HEAD, head, body]).await;
        // hyper itself may be gone before its service has answered.
        assert!(answer.is_empty() || answer.contains("400 Bad Request"), "{answer}");
        let all = lines(&logs);
        assert!(all.len() <= 1 && !all.iter().any(|line| line.contains("panic")), "{all:?}");
    }
}

#[tokio::test]
async fn a_router_of_axum_serves_the_same() {
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(healthy());
    let router = axum::Router::new().route_service("/mcp", service).layer(OutcomeLayer::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let mut client = connect(address).await;
    assert_eq!(exchange(&mut client, call()).await.message()["id"], 7);
    assert_eq!(line(&end_of(&logs, &json!(7)).await), "INFO tool_call_completed completed -");
    server.abort();
}

/// Keep-alives are no answer, however many come.
#[tokio::test]
async fn a_deadline_passes_while_a_stream_is_kept_alive() {
    let (logs, _guard) = Logs::capture();
    let (pen, watch, service) = written("text/event-stream");
    let layer = OutcomeLayer::new().deadline(std::time::Duration::from_millis(100));
    let mut client = connect(serve(layer.layer(service)).await).await;
    let alive = tokio::spawn(async move {
        let mut sent = 0;
        while pen.send(data(":\n\n")).is_ok() {
            sent += 1;
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        sent
    });
    let got = guarded(exchange(&mut client, call())).await;
    let end = end_of(&logs, &json!(7)).await;
    assert_eq!(line(&end), "WARN tool_call_failed fault timeout");
    assert_fixed(&got, &end);
    assert!(got.text().starts_with(":\n\n"), "{}", got.text());
    crate::kit::until("the exchange inside is dropped", || watch.is_dropped()).await;
    assert!(guarded(alive).await.unwrap() > 1);
}
