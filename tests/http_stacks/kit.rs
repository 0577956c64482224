//! Services, requests and bodies that the tests of the HTTP layers share.
#![allow(dead_code, reason = "two test binaries use a part each")]

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use serde_json::{Value, json};
use tower::{BoxError, Service, ServiceExt as _};

pub(crate) use crate::script::{Pen, Piece, Script, data};
use crate::support::{Event, GUARD, Logs};

/// The body that the requests of these services arrive with, whatever stands before them.
pub(crate) type Incoming = UnsyncBoxBody<Bytes, BoxError>;
type Answer = Result<Response<Script>, BoxError>;
type Handler = dyn Fn(Request<Incoming>) -> BoxFuture<'static, Answer> + Send + Sync;

/// A service that is a closure, over any request body.
#[derive(Clone)]
pub(crate) struct Fake(Arc<Handler>);

pub(crate) fn fake<F>(handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Fake
where
    F: Future<Output = Answer> + Send + 'static,
{
    Fake(Arc::new(move |request| Box::pin(handler(request))))
}

/// A service that answers every call with this.
pub(crate) fn answers(answer: impl Fn() -> Response<Script> + Send + Sync + 'static) -> Fake {
    fake(move |_| std::future::ready(Ok(answer())))
}

/// A service that answers its calls properly, under their own ids.
pub(crate) fn healthy() -> Fake {
    fake(|request| async move {
        let body = request.into_body().collect().await?.to_bytes();
        let message: Value = serde_json::from_slice(&body)?;
        Ok(json_response(success(&message["id"])))
    })
}

impl<B> Service<Request<B>> for Fake
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Script>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        (self.0)(request.map(|body| {
            body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))
                .map_err(Into::into)
                .boxed_unsync()
        }))
    }
}

/// The text of a call.
pub(crate) fn call_text(id: impl Into<Value>, tool: &str) -> String {
    let params = json!({ "name": tool, "arguments": {} });
    let id: Value = id.into();
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// A POST of this text, by a client of 2025-11-25.
pub(crate) fn post(text: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post("/mcp")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .body(Full::new(text.into()))
        .unwrap()
}

/// A call, with 7 as its id.
pub(crate) fn call() -> Request<Full<Bytes>> {
    post(call_text(7, "ok"))
}

/// The same by a client of 2026-07-28.
pub(crate) fn call_2026() -> Request<Full<Bytes>> {
    let mut request = call();
    let headers = request.headers_mut();
    headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
    headers.insert("mcp-method", "tools/call".parse().unwrap());
    headers.insert("mcp-name", "ok".parse().unwrap());
    request
}

/// The same by a client that reads events alone.
pub(crate) fn call_for_events() -> Request<Full<Bytes>> {
    let mut request = call();
    request.headers_mut().insert(header::ACCEPT, "text/event-stream".parse().unwrap());
    request
}

/// A result that says nothing bad.
pub(crate) fn success(id: &Value) -> String {
    let content = json!([{ "type": "text", "text": "fine" }]);
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content } }).to_string()
}

/// A JSON-RPC error.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

/// A result with the flag.
pub(crate) fn is_error(id: &Value, text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content, "isError": true } })
        .to_string()
}

pub(crate) fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

pub(crate) fn response(media_type: &str, body: Script) -> Response<Script> {
    Response::builder().header(header::CONTENT_TYPE, media_type).body(body).unwrap()
}

pub(crate) fn json_response(text: impl Into<Bytes>) -> Response<Script> {
    let text = text.into();
    let mut response = response("application/json", Script::whole(text.clone()));
    response.headers_mut().insert(header::CONTENT_LENGTH, text.len().into());
    response
}

pub(crate) fn sse_response(body: Script) -> Response<Script> {
    response("text/event-stream", body)
}

pub(crate) fn status(code: u16, text: &'static str) -> Response<Script> {
    let mut response = response("text/plain", Script::whole(text));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

/// What a client got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) frames: Vec<Bytes>,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) error: Option<String>,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.frames.concat()).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The messages, be they one, a batch, or events.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let text = self.text();
        if self.header("content-type").starts_with("text/event-stream") {
            let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
            return lines
                .filter(|line| !line.trim().is_empty())
                .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
                .collect();
        }
        match serde_json::from_str(&text) {
            Ok(Value::Array(messages)) => messages,
            Ok(message) => vec![message],
            Err(error) => panic!("no JSON ({error}): {self:?}"),
        }
    }

    /// The only message that is an answer.
    pub(crate) fn message(&self) -> Value {
        let mut answers = self.messages();
        answers.retain(|message| message.get("method").is_none());
        assert_eq!(answers.len(), 1, "{self:?}");
        answers.remove(0)
    }
}

/// Sends a request, and reads all of the answer.
pub(crate) async fn send<S, B, R>(service: S, request: Request<B>) -> Got
where
    S: Service<Request<B>, Response = Response<R>, Error: std::fmt::Debug>,
    R: Body<Data = Bytes, Error: std::fmt::Display>,
{
    let response = guarded(service.oneshot(request)).await.unwrap();
    read(response).await
}

/// Reads all of an answer.
pub(crate) async fn read<R>(response: Response<R>) -> Got
where
    R: Body<Data = Bytes, Error: std::fmt::Display>,
{
    let (parts, body) = response.into_parts();
    let mut body = pin!(body);
    let mut got = Got {
        status: parts.status.as_u16(),
        headers: parts.headers,
        frames: Vec::new(),
        trailers: None,
        error: None,
    };
    while !body.is_end_stream() {
        match guarded(poll_fn(|cx| body.as_mut().poll_frame(cx))).await {
            None => break,
            Some(Err(error)) => {
                got.error = Some(error.to_string());
                break;
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => got.frames.push(data),
                Err(frame) => got.trailers = frame.into_trailers().ok(),
            },
        }
    }
    got
}

/// Waits, but not for ever.
pub(crate) async fn guarded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(GUARD, future).await.expect("it hangs")
}

/// Polls once: whether it is still pending.
pub(crate) async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
}

/// The level, name, outcome and code of an event.
pub(crate) fn line(event: &Event) -> String {
    let field = |name| event.field(name).unwrap_or("-");
    format!("{} {} {} {}", event.level, event.message, field("outcome"), field("code"))
}

/// The events so far, without those that say that something began or was received.
pub(crate) fn lines(logs: &Logs) -> Vec<String> {
    let ours = logs.of_target("tower_outcome").into_iter();
    ours.filter(|event| !event.message.ends_with("_started")).map(|event| line(&event)).collect()
}

/// The only event of ours that is no start.
pub(crate) fn only(logs: &Logs) -> Event {
    let mut ours = logs.of_target("tower_outcome");
    ours.retain(|event| !event.message.ends_with("_started"));
    assert_eq!(ours.len(), 1, "{ours:#?}");
    ours.remove(0)
}

/// Checks that there is one start and one end, and gives the end.
pub(crate) fn whole_call(logs: &Logs) -> Event {
    let ours = logs.of_target("tower_outcome");
    let starts = ours.iter().filter(|event| event.message.ends_with("_started")).count();
    assert_eq!(starts, 1, "{ours:#?}");
    only(logs)
}

/// Waits for the end of a request, which must be the only one.
pub(crate) async fn end_of(logs: &Logs, id: &Value) -> Event {
    let end = logs.wait_for_end(id).await;
    let end = end.unwrap_or_else(|| panic!("request {id} has no end in:\n{}", logs.raw()));
    assert_eq!(logs.terminal(id).len(), 1, "{}", logs.raw());
    end
}

/// Checks that a call was answered by the fixed text, and with the reference of its log line.
pub(crate) fn assert_fixed(got: &Got, event: &Event) {
    let message = got.message();
    let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!((got.status, &message["result"]["isError"]), (200, &json!(true)), "{got:?}");
    assert!(text.starts_with("This call was fine, but "), "{text}");
    assert!(text.contains(event.field("call_id").unwrap()), "no reference in: {text}");
    assert_length(got);
}

/// Checks that a length that is declared is the right one.
pub(crate) fn assert_length(got: &Got) {
    let declared = got.header("content-length");
    assert!(declared.is_empty() || declared == got.text().len().to_string(), "{got:?}");
}

/// An error that no service has.
pub(crate) fn never<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// Waits until `is_so`.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let poll = async {
        while !is_so() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(GUARD, poll).await.is_ok(), "waited in vain: {what}");
}
