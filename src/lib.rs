//! Tower layers for MCP servers: every call is answered, every failure is logged once at the level
//! of whoever has to act, and nothing internal reaches the model.
//!
//! The two lines, on an [rmcp](https://docs.rs/rmcp) server:
//!
//! ```
//! # #[cfg(feature = "rmcp")] {
//! use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};
//!
//! # struct Notes;
//! # impl ::rmcp::ServerHandler for Notes {}
//! let notes = Notes.layered(OutcomeLayer::new());
//! # let _ = notes;
//! # }
//! ```
//!
//! `notes` is a `ServerHandler` again and serves over every transport. Round any HTTP service that
//! speaks MCP, in axum, in hyper, or as a reverse proxy in front of a server in another language,
//! the same layers go where any tower layer goes:
//!
//! ```
//! # #[cfg(feature = "http")] {
//! use axum::{Router, routing::post};
//! use tower_outcome::OutcomeLayer;
//!
//! # async fn mcp() {}
//! let app: Router = Router::new().route("/mcp", post(mcp)).layer(OutcomeLayer::new());
//! # let _ = app;
//! # }
//! ```
//!
//! Both together share one record and write one line. From now on
//!
//! - a tool that panics is answered at once, instead of never;
//! - an unknown error (`?`) reaches the model as a fixed sentence with a reference, and the
//!   operator as one ERROR line with its cause;
//! - `isError` results and JSON-RPC errors are logged as the failures that they are;
//! - a tool says with [`ToolError`] what a failure means, and so who has to act.
//!
//! # What a call ends in
//!
//! | outcome | what happened | who acts | level |
//! |---|---|---|---|
//! | [`completed`](Outcome::Completed) | the result fits the contract, an empty one included | – | INFO |
//! | [`rejected`](Outcome::Rejected) | the request must change | the model | INFO |
//! | [`stale`](Outcome::Stale) | fresh values must be fetched first | the model | INFO |
//! | [`fault`](Outcome::Fault) | the request was fine, the server could not deliver | the operator; time; the user | ERROR; WARN; INFO |
//!
//! What declares nothing is ERROR: [`undeclared`](Outcome::Undeclared), and
//! [`soft_error`](Outcome::SoftError) where a result without the flag says all the same that it
//! failed, as `{"status": "failed"}` does: see [`SoftErrors`]. A JSON-RPC error that
//! blames the request is a [`protocol_error`](Outcome::ProtocolError), for the model. Neither
//! success nor failure are [`deferred`](Outcome::Deferred),
//! [`input_required`](Outcome::InputRequired), [`cancelled`](Outcome::Cancelled) and
//! [`abandoned`](Outcome::Abandoned).
//!
//! # A whole server
//!
//! ```no_run
//! # #[cfg(feature = "rmcp")] mod server {
//! use rmcp::{
//!     ServerHandler, ServiceExt as _,
//!     handler::server::wrapper::{Json, Parameters},
//!     schemars, tool, tool_handler, tool_router,
//! };
//! use tower_outcome::{OutcomeLayer, ToolError, ServerHandlerExt as _};
//!
//! struct Notes;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Read {
//!     path: String,
//! }
//!
//! #[derive(serde::Serialize, schemars::JsonSchema)]
//! struct Note {
//!     text: String,
//! }
//!
//! #[tool_router]
//! impl Notes {
//!     #[tool(description = "Returns a note's text.")]
//!     async fn read_note(
//!         &self,
//!         Parameters(read): Parameters<Read>,
//!     ) -> Result<Json<Note>, ToolError> {
//!         if read.path.starts_with('/') {
//!             // The model has to send something else, and is told what.
//!             return Err(ToolError::rejected("absolute_path", "The path must be relative.")
//!                 .field("path")
//!                 .received(read.path)
//!                 .recover("Call read_note with a path that search_notes returned."));
//!         }
//!         // Any other error is a fault: the model reads a fixed text, the log has the cause.
//!         let text = std::fs::read_to_string(&read.path)?;
//!         Ok(Json(Note { text }))
//!     }
//! }
//!
//! #[tool_handler]
//! impl ServerHandler for Notes {}
//!
//! #[tokio::main]
//! pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // On stdio, stdout belongs to the protocol. The filter silences rmcp's own line about each
//!     // JSON-RPC error.
//!     tracing_subscriber::fmt()
//!         .with_env_filter("info,rmcp::service=error")
//!         .with_writer(std::io::stderr)
//!         .with_ansi(false)
//!         .init();
//!     tower_outcome::install_panic_hook(); // optional: file and line of a panic in the log
//!     let server = Notes.layered(OutcomeLayer::new()).serve(rmcp::transport::stdio()).await?;
//!     server.waiting().await?;
//!     Ok(())
//! }
//! # }
//! # #[cfg(feature = "rmcp")]
//! # fn main() { server::main().unwrap() }
//! # #[cfg(not(feature = "rmcp"))]
//! # fn main() {}
//! ```
//!
//! Prompts and resources return rmcp's `ErrorData`, which `?` makes of a [`ToolError`]: see
//! [there](ToolError#tools-prompts-and-resources-of-rmcp), and for
//! [testing what a tool says](ToolError#testing-what-a-tool-says).
//!
//! # Where to look
//!
//! A server's author needs
//!
//! - [`OutcomeLayer`], and to put other layers inside of it [`only_tools`];
//! - [`ToolError`], with [`Effects`], [`Limit`] and [`Candidate`] to say more; [`ResultExt`] for
//!   errors that `?` does not take, [`Declare`] for an error type of one's own;
//! - [`Batch`] for work on many items, of which some may take effect and others not; it ends in
//!   [`Done`] or in a [`ToolError`] ([`BatchOutcome`], [`BatchStatus`], [`Contradiction`],
//!   [`ContradictionKind`]);
//! - [`Policy`] for levels, deadlines and what counts as a failure, with [`Undeclared`], [`Heals`],
//!   [`Level`] and [`Code`], [`SoftErrors`] and [`ResultClassifier`], [`Refusal`];
//! - [`contain`] for work that goes on behind an answer; see [tasks](#tasks);
//! - [`OnOutcome`] to count, with [`Record`], [`Failure`] and [`Outcome`]; [`Redact`] to hide more;
//! - [`Call`] to leave a note in the log line; [`install_panic_hook`].
//!
//! A layer's author needs [`McpRequest`] and [`McpReply`], [`Call`] with [`Verdict`], [`Kind`] and
//! [`Origin`], and the layers one by one: [`LogLayer`], [`ClassifyLayer`], [`ContainLayer`].
//!
//! Round an HTTP service: [`binding::http`] says what happens to requests and answers, and what goes
//! inside and what outside.
//!
//! A binding's author needs the module [`binding`], [`Rendering`] and [`Declaration`], and
//! [`Scoped`] round the handler.
//!
//! # The log
//!
//! Events of [`tracing`](https://docs.rs/tracing), with the target [`tower_outcome`](TARGET) and the
//! event's name as the message:
//!
//! | event | level |
//! |---|---|
//! | `tool_call_started` | DEBUG |
//! | `tool_call_completed` | INFO |
//! | `tool_call_failed` | as the outcome says |
//! | `tool_call_deferred`, `tool_call_input_required`, `tool_call_cancelled`, `tool_call_abandoned` | INFO |
//! | `tool_failed`: a cause that no terminal line can carry | as the failure |
//! | `request_started`, `request_completed`, `request_deferred`, `request_input_required`, `request_cancelled`, `request_abandoned` | DEBUG |
//! | `request_failed` | as the outcome says |
//! | `notification_received` / `notification_failed` | DEBUG / as the outcome says |
//! | `containment_unavailable`, `untested_rmcp`, `classifier_panicked`: what the crate says about itself, once | WARN |
//!
//! Each request that reaches the layers has exactly one terminal event. Its fields, absent where
//! they are not known: `tool` or `method`, `outcome`, `code`, `actor`, `retryable`, `error` (what
//! the client was told), `error_type`, `cause`, `location` and `backtrace` (what it was not),
//! `reason`, `duration_ms` (a number with three decimals, up to the verdict), `call_id` (the
//! reference in a fault's text), `reference` (an upstream server's own; on `tool_failed` what the
//! client was told), `request_id` (a string), `client_name`, `client_version`, `protocol_version`,
//! `transport`, `route` (as [`LogLayer::route`] names it), `session` (a hash), `task_id`,
//! `trace_id` and `span_id` of the caller, `request_bytes` and `result_bytes` (of the two messages,
//! over HTTP), `result_scanned` (`false` where an answer could not be read), and `notes` (what the
//! tool left with [`Call::note`], as one JSON object). `principal` is reserved. Of an HTTP request
//! that carries no message, `method` is the HTTP method.
//!
//! With [`OutcomeLayer::span`] tool calls run in a span `tool_call` with `tool` and `call_id`.
//!
//! On stdio the log must go to stderr: `tracing_subscriber::fmt().with_writer(std::io::stderr)`,
//! without ANSI colours. Nothing in this crate ever writes to stdout.
//!
//! # Tasks
//!
//! A tool call that is answered with a task is `tool_call_deferred`, with the `task_id`. What the task
//! ends in is one more event, as for any tool call, with the tool's name, the same `call_id`, and
//! `duration_ms` counted from the call: written when an answer shows it first, however often it is
//! asked for, and on whatever connection.
//!
//! | form | the end is seen in |
//! |---|---|
//! | the extension `io.modelcontextprotocol/tasks` (SEP-2663) | the answer to `tasks/get`; over HTTP also `notifications/tasks` |
//! | 2025-11-25 | the answer to `tasks/result`. `tasks/get`, `tasks/cancel` and, over HTTP, `notifications/tasks/status` show a status only: `cancelled` is an end; where nobody fetches the result in time, `completed` and `failed` are too, the latter as `undeclared_error` |
//!
//! `tasks/get` and its like are requests of their own, which complete at DEBUG whatever became of the
//! task. A fault's text is withheld in their answers as in any other, and so is from then on the
//! task's `statusMessage`; before that, or in `tasks/list`, that is its author's text. A task is
//! remembered for its TTL (an hour where it has none) and as long again, up to a minute, for who asks
//! late; and up to 8192 of them. One whose end nobody has seen by then is `tool_call_abandoned`, with
//! the reason `forgotten`. The memory is one for the process, so that layers may be made anew for each session;
//! servers in one process that give out the same ids need a [route](LogLayer::route) each. A task
//! that nobody remembers, as after a restart, is one `tool_failed` where its failure is shown.
//!
//! Work that a task does runs outside of all layers. [`contain`] makes its panics errors like any
//! other, and leaves their causes for the event about the task; round an operation of rmcp's
//! `TaskManager`, which would stay `working`, there is `binding::rmcp::contain_operation`.
//!
//! # The layers
//!
//! [`OutcomeLayer`] is [`LogLayer`] round [`ClassifyLayer`] round [`ContainLayer`]; each can be
//! used alone, in any order, and more than once: they share one record, a [`Call`], and write one
//! line. Other tower layers go inside, where what they answer is logged too:
//!
//! ```
//! use std::time::Duration;
//! use tower::{ServiceBuilder, timeout::TimeoutLayer};
//! use tower_outcome::{OutcomeLayer, only_tools};
//!
//! let stack = ServiceBuilder::new()
//!     .layer(OutcomeLayer::new())
//!     .layer(only_tools(TimeoutLayer::new(Duration::from_secs(30))));
//! # let _ = stack;
//! ```
//!
//! Where tower's and tower-http's layers go, and what comes of each of them on either side, is in
//! [`composition`].
//!
//! The layers know no protocol library. How one teaches them its types is in [`binding`].
//!
//! # What cannot be contained
//!
//! A build with `panic = "abort"` (the layer says so once, at WARN), a stack overflow, and a
//! destructor that panics while its thread already unwinds: these end the process.
//!
//! # Features
//!
//! - `rmcp` (default): [`ServerHandlerExt::layered`].
//! - `http` (default): the layers round HTTP services, [`binding::http`].
//! - `tower-mcp`: the same layers in [tower-mcp](https://docs.rs/tower-mcp) servers,
//!   `binding::tower_mcp`.
//! - `toml`: [`Policy::from_toml`].
//! - `reqwest`: its timeouts and 429 answers count as faults that heal themselves.
//! - `anyhow`, `eyre`: the errors inside their reports are recognised too.

pub mod binding;
#[doc = include_str!("composition.md")]
pub mod composition {}

mod batch;
mod call;
mod cause;
mod classify;
mod contain;
mod log;
mod macros;
mod only_tools;
mod outcome;
mod outcome_layer;
mod policy;
mod ready;
mod redact;
mod sweep;
mod target;
mod text;
mod timer;
mod tool_error;
mod unwind;

#[cfg(feature = "rmcp")]
pub use crate::binding::rmcp::ServerHandlerExt;
#[cfg(feature = "toml")]
pub use crate::policy::PolicyError;
pub use crate::{
    batch::{Batch, BatchOutcome, BatchStatus, Contradiction, ContradictionKind, Done},
    binding::{McpReply, McpRequest},
    call::{
        Call, CallId, Client, Kind, Origin, Record, RequestId, Scoped, Session, TraceContext,
        Verdict,
    },
    classify::{Classify, ClassifyFuture, ClassifyLayer, ResultClassifier, SoftErrors},
    contain::{Contain, ContainFuture, ContainLayer, ContainedWork, contain},
    log::{Log, LogFuture, LogLayer, OnOutcome},
    only_tools::{OnlyTools, OnlyToolsFuture, OnlyToolsLayer, only_tools},
    outcome::{Actor, Cause, Code, Declared, Failure, Level, Outcome, Reason, Retryable},
    outcome_layer::{OutcomeLayer, OutcomeService},
    policy::{Heals, Policy, Refusal, Undeclared},
    ready::Admission,
    redact::{Redact, Redactor, redact_fn},
    target::TARGET,
    tool_error::{
        Candidate, Declaration, Declare, Effects, Limit, Rendering, ResultExt, ToolError,
    },
    unwind::install_panic_hook,
};

/// The README's examples compile.
#[cfg(all(doctest, feature = "rmcp"))]
#[doc = include_str!("../README.md")]
struct Readme;
