//! Layers round tower-mcp servers: the whole server, on every transport, or one tool.
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tower_mcp::{McpRouter, StdioTransport};
//! use tower_outcome::OutcomeLayer;
//!
//! let router = McpRouter::new().server_info("notes", "1.0.0");
//! StdioTransport::new(router).layer(OutcomeLayer::new()).run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every request passes as tower-mcp's own `RouterRequest`, and is answered by its `RouterResponse`;
//! a JSON-RPC error is a response, the service's `Error` is for layers. Handlers return
//! [`ToolError`](crate::ToolError) through [`answering`].
//!
//! Layers round tower-mcp's HTTP service share one call and one line with those in here, and with the
//! handlers, since tower-mcp handles a request where its HTTP service is polled. For what it does in a
//! task of its own, and behind a layer that spawns, it has to hand the call on:
//! `HttpTransport::bridge_extension::<tower_outcome::Call>()`.
//!
//! # One tool
//!
//! `ToolBuilder::layer` takes the same layers for one tool, with or without others round the server;
//! with them, one call is one line, and without, the line does not say which tool it was, as tower-mcp
//! does not. An ordinary tool that a client calls as a task runs outside of the server's layers, and
//! inside of its own: there `ContainLayer` keeps a panic from leaving the task `working`. Round a live
//! task's handler goes [`contain_task`].
//!
//! # What does not pass the layers
//!
//! Notifications, whose handling tower-mcp keeps to itself; but a request that is cancelled by
//! `notifications/cancelled`, or, from 2026-07-28 on, by closing its stream, is logged as such. For that
//! each recorded request is given a token of its own where it has none, which its handler is told to
//! stop by; of a `drain_timeout` that is up on stdio, and fires no token of a request's own, a handler
//! is then told by being dropped, half a second later. Over a WebSocket tower-mcp reads nothing while a
//! call runs, so that none is cancelled or left there.
//!
//! What is no JSON-RPC at all, and what its transports answer before the router.
//!
//! # tower-mcp's own log
//!
//! Its router writes an INFO line about each tool call, with a status of its own. To have each failure
//! once, filter it: `RUST_LOG=info,mcp::tools=warn`; and leave out `catch_panics`, which sends a
//! panic's text to the client.
//!
//! Of a handler's own `Err` it makes a text before any layer sees it: `undeclared_error`, sent as it
//! is unless the policy [masks](crate::Undeclared::Mask) it. [`answering`] is how to avoid that.
//!
//! `HttpTransport::layer(a).layer(b)` discards `a`: put several layers in one
//! `tower::ServiceBuilder`.

mod gone;
mod handler;
mod reply;
mod request;
mod task;
mod tool;

use tower_mcp::context::CancellationToken;

pub use self::{
    gone::ClientGone,
    handler::{Answering, answered, answering},
    task::{TaskError, contain_task},
};
use crate::call::Call;

/// A call that one of our layers has handed on to those further in, in a request's extensions. A
/// [`Call`] itself is there where it was bridged from outside, and may be of another request.
#[derive(Debug)]
struct Carried {
    call: Call,
    /// Fires where the client cancels the request.
    cancelled: CancellationToken,
}
