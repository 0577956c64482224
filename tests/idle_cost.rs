//! What the layers allocate over the bare service where there is little or nothing for them to do: a
//! request that is no tool call, what is no MCP at all, and levels that nobody listens to.
//!
//! One test alone: `tracing` keeps one level for the whole process.

#![cfg(all(feature = "http", feature = "tower-mcp"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response, header};
use http_body::Body;
use http_body_util::Full;
use serde_json::json;
use tower::{Layer as _, Service, service_fn};
use tower_mcp::{
    CallToolResult, Extensions, McpRouter, NoParams, RouterRequest, ToolBuilder,
    protocol::{McpRequest, RequestId},
};
use tower_outcome::OutcomeLayer;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{layer::SubscriberExt as _, reload, util::SubscriberInitExt as _};

/// What is asked for, and how often the layers may allocate for it: without a subscriber, at WARN, and
/// at INFO, where a tool call that works is a line, and the lines of other requests are not wanted.
///
/// Where somebody listens to failures there is a record of each request. tower-mcp keeps what layers hand
/// on in a map, whose entries are boxed: the record, and the token that a client cancels by, which is boxed
/// itself. Over HTTP the request's extensions are such a map, and what a request says is read: its id,
/// method and tool, and an answer as it goes by. What is no MCP has a record too, should it panic.
const ALLOWED: [(&str, [u64; 3]); 9] = [
    ("typed tools/call", [0, 6, 11]),
    ("typed tools/list", [0, 6, 6]),
    ("http tools/call", [2, 18, 23]),
    ("http tools/list", [2, 17, 17]),
    ("http notification", [10, 13, 13]),
    ("http GET stream", [6, 9, 9]),
    ("http DELETE", [5, 8, 8]),
    ("http form", [3, 8, 8]),
    ("http page", [3, 8, 8]),
];

/// Allocations of one call, after a first one that sets things up.
fn count<S, R>(service: &mut S, request: impl Fn() -> R, read: fn(S::Response)) -> u64
where
    S: Service<R>,
    S::Error: std::fmt::Debug,
{
    let mut once = || {
        let request = request();
        measure(|| {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(service.poll_ready(&mut cx).is_ready());
            let mut answer = pin!(service.call(request));
            match answer.as_mut().poll(&mut cx) {
                Poll::Ready(response) => read(response.unwrap()),
                Poll::Pending => panic!("it waits"),
            }
        })
        .count_total
    };
    once();
    once()
}

fn router() -> McpRouter {
    let tool = ToolBuilder::new("read_note")
        .handler(|_: NoParams| async { Ok(CallToolResult::text("fine")) })
        .build();
    let router = McpRouter::new().server_info("idle", "1").tool(tool);
    router.session().mark_initializing();
    router.session().mark_initialized();
    router
}

fn typed(method: &str) -> RouterRequest {
    let inner = match method {
        "tools/call" => {
            let params = json!({ "name": "read_note", "arguments": {} });
            McpRequest::CallTool(serde_json::from_value(params).unwrap())
        }
        _ => McpRequest::ListTools(serde_json::from_value(json!({})).unwrap()),
    };
    RouterRequest { id: RequestId::Number(7), inner, extensions: Extensions::new() }
}

fn over_typed(method: &'static str) -> u64 {
    let mut layered = OutcomeLayer::new().layer(router());
    let ours = count(&mut layered, || typed(method), drop);
    ours.saturating_sub(count(&mut router(), || typed(method), drop))
}

const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

type Answered = Result<Response<Full<Bytes>>, Infallible>;

/// A server that takes a request for what it is, without a look at it.
fn server<B>(
    status: u16,
    media_type: &'static str,
    body: &'static str,
) -> impl Service<
    Request<B>,
    Response = Response<Full<Bytes>>,
    Error = Infallible,
    Future = Ready<Answered>,
> + Clone {
    service_fn(move |_| {
        let body = Full::new(Bytes::from_static(body.as_bytes()));
        let response = Response::builder().status(status).header(header::CONTENT_TYPE, media_type);
        ready(Ok(response.body(body).unwrap()))
    })
}

fn post(text: &'static str) -> Request<Full<Bytes>> {
    Request::post("/mcp")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .body(Full::new(Bytes::from_static(text.as_bytes())))
        .unwrap()
}

fn other(method: &str, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let request = headers
        .iter()
        .fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
    request.method(method).uri("/mcp").body(Full::new(Bytes::from_static(b"a=1"))).unwrap()
}

/// Reads all of an answer.
fn read<B: Body>(response: Response<B>) {
    let mut body = pin!(response.into_body());
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
        assert!(frame.is_ok());
    }
}

fn over_http(
    (status, media_type, body): (u16, &'static str, &'static str),
    request: impl Fn() -> Request<Full<Bytes>>,
) -> u64 {
    let mut layered = OutcomeLayer::new().layer(server(status, media_type, body));
    let ours = count(&mut layered, &request, read);
    ours.saturating_sub(count(&mut server(status, media_type, body), &request, read))
}

fn counted(what: &str) -> u64 {
    let json = (200, "application/json", RESULT);
    let session = ("mcp-session-id", "s");
    match what {
        "typed tools/call" => over_typed("tools/call"),
        "typed tools/list" => over_typed("tools/list"),
        "http tools/call" => over_http(json, || {
            post(
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}"#,
            )
        }),
        "http tools/list" => {
            over_http(json, || post(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#))
        }
        "http notification" => over_http((202, "text/plain", ""), || {
            post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        }),
        "http GET stream" => over_http((200, "text/event-stream", ": hello\n\n"), || {
            other("GET", &[("accept", "text/event-stream"), session])
        }),
        "http DELETE" => over_http((204, "text/plain", ""), || other("DELETE", &[session])),
        "http form" => over_http((200, "text/html", "<p>"), || {
            other("POST", &[("content-type", "application/x-www-form-urlencoded")])
        }),
        "http page" => {
            over_http((200, "text/html", "<p>"), || other("GET", &[("accept", "text/html")]))
        }
        _ => panic!("{what}"),
    }
}

#[test]
fn little_costs_little_at_every_level() {
    let mut found = Vec::new();
    let mut levels = vec![("no subscriber", None)];
    levels.extend([("WARN", Some(LevelFilter::WARN)), ("INFO", Some(LevelFilter::INFO))]);
    let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
    let mut subscriber = Some(
        tracing_subscriber::registry()
            .with(filter)
            .with(tracing_subscriber::fmt::layer().json().with_writer(std::io::sink)),
    );
    for (at, (level, filter)) in levels.into_iter().enumerate() {
        if let Some(filter) = filter {
            if let Some(subscriber) = subscriber.take() {
                subscriber.init();
            }
            handle.reload(filter).unwrap();
        }
        for (what, allowed) in ALLOWED {
            let counted = counted(what);
            if counted > allowed[at] {
                found.push(format!("{what}, {level}: {counted} of at most {}", allowed[at]));
            }
        }
    }
    assert!(found.is_empty(), "allocations:\n{}", found.join("\n"));
}
