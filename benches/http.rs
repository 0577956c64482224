//! What the layers cost on a `tools/call` that succeeds, beside tower-http's for the same job.
//!
//! All arms run interleaved in one process: a round runs each arm once, a round's costs over its
//! own bare server are paired, and the median of the pairs is what counts. On a busy machine the
//! absolute figures move; the ratios hardly do. A bare server that runs twice in each round shows
//! what differences mean. In every arm the request is built anew, the server reads it to its end,
//! and the answer is read to its own. `cargo bench --bench http`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

use std::{
    convert::Infallible,
    fmt::Debug,
    future::poll_fn,
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Instant,
};

use axum::{Router, body::Body as AxumBody, routing::post};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header::CONTENT_TYPE,
};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use tower::{Layer as _, Service, ServiceBuilder, service_fn};
use tower_http::{
    catch_panic::CatchPanicLayer,
    trace::{DefaultMakeSpan, DefaultOnResponse, TraceLayer},
};
use tower_outcome::OutcomeLayer;
use tracing::Level;

/// Nanoseconds that one arm takes in one round, roughly: much less than the scheduler lets others
/// run in between, so that most arms are not interrupted, and a median knows nothing of the rest.
const ARM: usize = 250_000;
const ROUNDS: usize = 1001;
const WARM_UP: usize = 3;
/// As hyper reads a body.
const FRAME: usize = 16 << 10;

const PLAIN: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"inbox/todo.md"}}}"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"inbox/todo.md"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}}}"#;

/// What a client sends.
struct Post {
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Post {
    fn new(
        body: &'static str,
        version: &'static str,
        more: &[(&'static str, &'static str)],
    ) -> Self {
        let usual = [
            ("host", "127.0.0.1:8000"),
            ("user-agent", "bench/1"),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("mcp-protocol-version", version),
        ];
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers = usual.iter().chain(more).map(header).collect();
        Self { uri: Uri::from_static("/mcp"), headers, body: Bytes::from_static(body.as_bytes()) }
    }

    fn request<B>(&self, body: fn(Bytes) -> B) -> Request<B> {
        let mut request = Request::new(body(self.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        // As hyper fills it, which is not quite as a clone is: with room to spare.
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        *request.headers_mut() = headers;
        request
    }
}

/// What the server answers.
#[derive(Clone)]
struct Answer {
    media_type: HeaderValue,
    body: Pieces,
}

/// A body in frames as hyper reads them; a stream does not tell where it ends.
#[derive(Clone)]
struct Pieces {
    rest: Bytes,
    is_stream: bool,
}

impl Answer {
    fn message(bytes: usize) -> String {
        let frame = |text: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
            )
        };
        let words = "Water the plants, feed the cat and the fish. ".chars().cycle();
        frame(&words.take(bytes - frame("").len()).collect::<String>())
    }

    fn json(bytes: usize) -> Self {
        let body = Pieces { rest: Self::message(bytes).into(), is_stream: false };
        Self { media_type: HeaderValue::from_static("application/json"), body }
    }

    fn events(bytes: usize) -> Self {
        let event = format!("event: message\ndata: {}\n\n", Self::message(bytes));
        let body = Pieces { rest: event.into(), is_stream: true };
        Self { media_type: HeaderValue::from_static("text/event-stream"), body }
    }

    fn response(&self) -> Response<Pieces> {
        let mut response = Response::new(self.body.clone());
        response.headers_mut().insert(CONTENT_TYPE, self.media_type.clone());
        response
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.rest.len().min(FRAME);
        let frame = (length > 0).then(|| self.rest.split_to(length));
        Poll::Ready(frame.map(|frame| Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        !self.is_stream && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_stream {
            SizeHint::default()
        } else {
            SizeHint::with_exact(self.rest.len() as u64)
        }
    }
}

/// A server without a framework.
fn plain<B>(
    answer: &Answer,
) -> impl Service<
    Request<B>,
    Response = Response<Pieces>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<Pieces>, Infallible>>,
> + Clone
where
    B: Body,
    B::Error: Debug,
{
    let answer = answer.clone();
    service_fn(move |request: Request<B>| {
        let answer = answer.clone();
        async move {
            black_box(request.into_body().collect().await.unwrap().to_bytes());
            Ok(answer.response())
        }
    })
}

/// The same with axum.
fn axum(answer: &Answer) -> Router {
    let answer = answer.clone();
    let handler = |body: Bytes| async move {
        black_box(body);
        answer.response().map(AxumBody::new)
    };
    Router::new().route("/mcp", post(handler))
}

fn trace_at_info() -> TraceLayer<
    tower_http::classify::SharedClassifier<tower_http::classify::ServerErrorsAsFailures>,
    DefaultMakeSpan,
    tower_http::trace::DefaultOnRequest,
    DefaultOnResponse,
> {
    TraceLayer::new_for_http()
        .make_span_with(DefaultMakeSpan::new().level(Level::INFO))
        .on_response(DefaultOnResponse::new().level(Level::INFO))
}

async fn arm<S, B, R>(service: &mut S, post: &Post, body: fn(Bytes) -> B, calls: usize) -> f64
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Debug,
    R: Body,
    R::Error: Debug,
{
    let start = Instant::now();
    for _ in 0..calls {
        poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
        let response = service.call(post.request(body)).await.unwrap();
        let mut body = pin!(response.into_body());
        while let Some(frame) = body.frame().await {
            let _ = black_box(frame.unwrap());
        }
    }
    #[allow(clippy::cast_precision_loss)]
    let nanoseconds = start.elapsed().as_nanos() as f64;
    #[allow(clippy::cast_precision_loss)]
    let calls = calls as f64;
    nanoseconds / calls
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

const NAMES: [&str; 5] = [
    "bare",
    "bare again",
    "OutcomeLayer",
    "TraceLayer, CatchPanic",
    "TraceLayer(INFO), CatchPanic",
];

/// Measures the five arms that these services are, in the order of [`NAMES`].
macro_rules! measure {
    ($what:expr, $post:expr, $body:expr, $bare:expr, $peer:expr) => {{
        let mut bare = $bare;
        let mut again = $bare;
        let mut ours = OutcomeLayer::new().layer($bare);
        let traced = ServiceBuilder::new().layer(TraceLayer::new_for_http());
        let mut traced = traced.layer(CatchPanicLayer::new()).service($bare);
        let informed = ServiceBuilder::new().layer(trace_at_info());
        let mut informed = informed.layer(CatchPanicLayer::new()).service($bare);
        let mut calls = 200;
        let mut rounds: Vec<[f64; NAMES.len()]> = Vec::with_capacity(ROUNDS);
        // The first rounds warm up, and the last of them tells how many calls there are to a round.
        for round in 0..ROUNDS + WARM_UP {
            let mut costs = [0.0; NAMES.len()];
            // What else goes on in a rhythm of its own is not to meet the same arm each time.
            for turn in 0..NAMES.len() {
                let turn = (turn + round) % NAMES.len();
                costs[turn] = match turn {
                    0 => arm(&mut bare, $post, $body, calls).await,
                    1 => arm(&mut again, $post, $body, calls).await,
                    2 => arm(&mut ours, $post, $body, calls).await,
                    3 => arm(&mut traced, $post, $body, calls).await,
                    _ => arm(&mut informed, $post, $body, calls).await,
                };
            }
            if round >= WARM_UP {
                rounds.push(costs);
            } else {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let cost = costs[2].max(1.0) as usize;
                calls = (ARM / cost).max(20);
            }
        }
        print($what, &rounds, $peer);
    }};
}

/// A peer's arm, and how much of its cost ours may cost; `None` where it is for information.
type Peer = (usize, Option<f64>);

fn print(what: &str, rounds: &[[f64; NAMES.len()]], (peer, limit): Peer) {
    println!("{what}");
    let over = |arm: usize| median(rounds.iter().map(|round| round[arm] - round[0]).collect());
    for (arm, name) in NAMES.iter().enumerate() {
        let cost = median(rounds.iter().map(|round| round[arm]).collect());
        println!("  {name:<30} {cost:>8.0}   over bare {:>7.0}", over(arm));
    }
    let ratio = over(2) / over(peer);
    let limit = limit.map(|limit| format!(" (at most {limit})")).unwrap_or_default();
    println!("  ours / {}: {ratio:.2}{limit}\n", NAMES[peer]);
}

async fn all(what: &str, peer: usize, limit: f64) {
    println!("{what}: ns per call, medians of {ROUNDS} rounds\n");
    let (limited, open) = ((peer, Some(limit)), (peer, None));
    let post = Post::new(PLAIN, "2025-11-25", &[]);
    let session = ("mcp-session-id", "6f1c2c1e-8a1b-4b7e-9d0e-2f3a4b5c6d7e");
    let in_session = Post::new(PLAIN, "2025-11-25", &[session]);
    let modern = [("mcp-method", "tools/call"), ("mcp-name", "read_note")];
    let modern = Post::new(MODERN, "2026-07-28", &modern);
    let answer = Answer::json(200);
    measure!("axum, 200 bytes", &post, AxumBody::from, axum(&answer), limited);
    measure!("tower service, 200 bytes", &post, Full::new, plain(&answer), limited);
    measure!("axum, in a session", &in_session, AxumBody::from, axum(&answer), open);
    measure!("axum, 2026-07-28", &modern, AxumBody::from, axum(&answer), open);
    let answer = Answer::events(200);
    measure!("axum, 200 bytes as an event", &post, AxumBody::from, axum(&answer), open);
    let answer = Answer::json(64 << 10);
    measure!("axum, 64 KiB", &post, AxumBody::from, axum(&answer), open);
    let answer = Answer::events(64 << 10);
    measure!("axum, 64 KiB as an event", &post, AxumBody::from, axum(&answer), open);
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // First: a subscriber is there for good once it is.
        all("no subscriber", 3, 1.0).await;
        tracing_subscriber::fmt()
            .json()
            .with_max_level(Level::INFO)
            .with_writer(std::io::sink)
            .init();
        all("JSON to a sink at INFO", 4, 0.6).await;
    });
}
