//! The layers round any HTTP service that speaks MCP: axum, hyper, a reverse proxy.
//!
//! [`OutcomeLayer`](crate::OutcomeLayer) and its parts are layers of `Service<http::Request<B>>`
//! as they are of the typed services: for every revision of Streamable HTTP from 2025-03-26 on, and
//! whatever the server behind them is written in.
//!
//! ```
//! use axum::{Router, routing::post};
//! use tower_outcome::OutcomeLayer;
//!
//! # async fn mcp() {}
//! let app: Router = Router::new()
//!     .route("/mcp", post(mcp))
//!     .layer(OutcomeLayer::new().route("/mcp"));
//! # let _ = app;
//! ```
//!
//! # What happens to a request
//!
//! What is not MCP passes unread. The JSON of a POST is read, up to
//! [4 MiB](crate::LogLayer::max_request_bytes), and then handed on frame by frame as it came, so
//! that each message in it has its [`Call`](crate::Call), which the handler finds in the request's
//! extensions. Of a request that is encoded only the head is read, and its answer. The inner service
//! is asked for an answer that is not encoded; what the client itself accepts is for a compression
//! layer further out.
//!
//! An answer is read as it streams by, in memory that does not grow with it, and no event of a
//! stream waits for the next. Containment holds back what may have to be replaced, and nothing
//! else: `error` objects up to 64 KiB, the head of a JSON answer until it is known whether it is a
//! result, what tells of a [task](crate#tasks), and, where the policy
//! [masks](crate::Undeclared::Mask), results up to 64 KiB; a longer one passes as it is. What passes
//! is the same byte for byte.
//!
//! | what comes out of the service | what the client gets of a request | `code` |
//! |---|---|---|
//! | a panic, an error, before the answer has begun | a fault, with HTTP 200 | `panic`, `internal_error`, … |
//! | 5xx without a JSON-RPC error, nonsense, an end without an answer | a fault, with HTTP 200 | `upstream_error` |
//! | an [`UpstreamError`] | a fault, with HTTP 200 | `upstream_error` |
//! | 408 | a fault that heals itself, with HTTP 200 | `timeout` |
//! | any other 4xx | the same | that of its JSON-RPC error, or `http_404` |
//! | a stream of events that breaks off | a fault as its last event, and a clean end | as above |
//! | a JSON result that breaks off, or has another text behind it | the error: it has begun | as above, unless its end had come |
//! | 202 | the same: no client looks for an answer in it, and it may come on another connection | – |
//! | an encoded answer | the same; `tool_call_completed` at WARN, `result_scanned=false` | – |
//!
//! [Soft errors](crate::SoftErrors) are found in `structuredContent` of any size, by the members that
//! a classifier asks for, and in a text that is JSON up to 12 KiB; what a classifier of your own wants
//! to see whole, up to 16 KiB. Of more than that nobody knows: `tool_call_completed` at WARN,
//! `result_scanned=false`.
//!
//! What carries no request that could be answered (GET, DELETE, a notification) gets an empty 500
//! where it panics, and one event.
//!
//! # Streams that are taken up again
//!
//! In a session, a stream that has carried an event id may end, or lose its client, before the
//! answer: the call stays open for 60 s, and ends with the answer on whichever connection it comes;
//! a replay of it makes no second event. `notifications/cancelled` ends the call of its session.
//! Without a session, or an event id, a client that leaves has left: `tool_call_abandoned`, or,
//! from 2026-07-28 on, `tool_call_cancelled`.
//!
//! # Inside and outside
//!
//! | layer | where, and why |
//! |---|---|
//! | authentication, body limits, rate limits for everybody, CORS | outside: nobody has to be told in JSON-RPC |
//! | compression | outside: what is encoded cannot be read |
//! | request ids, traces | outside, so that our events stand in their spans |
//! | timeouts, load shed, concurrency limits | inside: what they answer is then told to the model |
//! | what rewrites answers | inside, or its changes are not judged |
//! | [`layered`](crate::ServerHandlerExt::layered) of an rmcp handler | inside, and with it a panic is answered at once: rmcp runs handlers on tasks of their own, whose panics no HTTP layer sees. The two share one call and write one line |
//!
//! What comes of each of them on either side is in [`composition`](crate::composition).
//!
//! With axum, the layer that is added last is outermost; in a `ServiceBuilder` it is the one that
//! is named first:
//!
//! ```
//! use axum::{Router, routing::post};
//! use tower::ServiceBuilder;
//! use tower_http::{compression::CompressionLayer, timeout::TimeoutLayer};
//! use tower_outcome::OutcomeLayer;
//! # use std::time::Duration;
//! # async fn mcp() {}
//! # fn timeout() -> TimeoutLayer {
//! #     TimeoutLayer::with_status_code(http::StatusCode::REQUEST_TIMEOUT, Duration::from_secs(30))
//! # }
//!
//! // Compression round ours round the timeout, both times.
//! let one: Router = Router::new()
//!     .route("/mcp", post(mcp))
//!     .layer(timeout())
//!     .layer(OutcomeLayer::new())
//!     .layer(CompressionLayer::new());
//! let other: Router = Router::new().route("/mcp", post(mcp)).layer(
//!     ServiceBuilder::new()
//!         .layer(CompressionLayer::new())
//!         .layer(OutcomeLayer::new())
//!         .layer(timeout()),
//! );
//! # let _ = (one, other);
//! ```
//!
//! `Router::layer` covers the routes that were added before it, the fallback too; `route_layer` the
//! same routes without the fallback, and it panics where there is none yet. A service that is
//! nested (`nest_service`), routed (`route_service`) or the fallback (`fallback_service`) can have
//! its layers before it is put there, and so can each of two servers in one process have its own:
//!
//! ```
//! use axum::{Router, routing::post};
//! use tower::Layer as _;
//! use tower_outcome::{Level, OutcomeLayer, Policy};
//!
//! # async fn mcp() {}
//! # let (notes, billing) = (post(mcp), post(mcp));
//! let strict = Policy::new().undeclared_level(Level::Warn);
//! let app: Router = Router::new()
//!     .route_service("/notes", OutcomeLayer::new().route("/notes").layer(notes))
//!     .route_service("/billing", OutcomeLayer::new().route("/billing").policy(strict).layer(billing));
//! # let _ = app;
//! ```
//!
//! Layers that only take axum's own body, such as `axum::middleware::from_fn`, go inside with one
//! `Router::layer` each, which converts it; in a `ServiceBuilder` put
//! `tower_http::map_request_body::MapRequestBodyLayer::new(axum::body::Body::new)` before them.
//!
//! # What an HTTP layer cannot know
//!
//! Which tool failed why, where the server only says that it failed: an `isError` result without a
//! [record](crate::Declaration) is `undeclared`. A server in any language declares its failures by
//! setting the record, and the level of who has to act with it.

mod answer;
mod body;
mod brief;
mod duty;
mod exchange;
mod frames;
mod future;
mod guard;
mod request;
mod respond;
mod scan;
mod seats;
mod service;
mod sessions;
mod upstream;
mod work;
mod write;

pub use self::{
    body::ResponseBody,
    future::{ContainedFuture, ResponseFuture},
    request::RequestBody,
    upstream::UpstreamError,
};

/// Messages of one batch that are told apart. What is behind them passes unseen in a request, and
/// not at all in an answer.
const MAX_MESSAGES: usize = 256;
