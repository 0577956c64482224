//! Tower layers for MCP servers: every call is answered, every failure is logged once at the level
//! of whoever has to act, and nothing internal reaches the model.
//!
//! The two lines, on an [rmcp](https://docs.rs/rmcp) server:
//!
//! ```
//! # #[cfg(feature = "rmcp")] {
//! use tower_outcome::{OutcomeLayer, rmcp::ServerHandlerExt as _};
//!
//! # struct Notes;
//! # impl ::rmcp::ServerHandler for Notes {}
//! let notes = Notes.layered(OutcomeLayer::new());
//! # let _ = notes;
//! # }
//! ```
//!
//! `notes` is a `ServerHandler` again and serves over every transport. From now on
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
//! What declares nothing is ERROR: [`undeclared`](Outcome::Undeclared). A JSON-RPC error that
//! blames the request is a [`protocol_error`](Outcome::ProtocolError), for the model. Neither
//! success nor failure are [`deferred`](Outcome::Deferred),
//! [`input_required`](Outcome::InputRequired), [`cancelled`](Outcome::Cancelled) and
//! [`abandoned`](Outcome::Abandoned).
//!
//! # Saying what a failure means
//!
//! ```
//! # #[cfg(feature = "rmcp")] {
//! use tower_outcome::ToolError;
//!
//! fn read_note(path: &str) -> Result<String, ToolError> {
//!     if path.starts_with('/') {
//!         return Err(ToolError::rejected("absolute_path", "The path must be relative.")
//!             .field("path")
//!             .received(path)
//!             .recover("Call read_note with a path that search_notes returned."));
//!     }
//!     // Any other error is a fault: the model reads the fixed text, the log has the cause.
//!     Ok(std::fs::read_to_string(path)?)
//! }
//! # let _ = read_note;
//! # }
//! ```
//!
//! # The log
//!
//! Events of [`tracing`], with the target [`tower_outcome`](TARGET) and the event's name as the
//! message:
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
//!
//! Each request that reaches the layers has exactly one terminal event. Its fields, absent where
//! they are not known: `tool` or `method`, `outcome`, `code`, `actor`, `retryable`, `error` (what
//! the client was told), `error_type`, `cause`, `location` and `backtrace` (what it was not),
//! `reason`, `duration_ms`, `call_id` (the reference in a fault's text), `reference` (another one,
//! of an upstream server), `request_id`, `client_name`, `client_version`, `protocol_version`,
//! `transport`, `session` (a hash), `trace_id` and `span_id` of the caller, and `notes` (what the
//! tool left with [`Call::note`]).
//!
//! On stdio the log must go to stderr: `tracing_subscriber::fmt().with_writer(std::io::stderr)`,
//! without ANSI colours. Nothing in this crate ever writes to stdout.
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
//! The layers know no protocol library. How one teaches them its types is in [`binding`].
//!
//! # What cannot be contained
//!
//! A build with `panic = "abort"` (the layer says so once, at WARN), a stack overflow, and a
//! destructor that panics while its thread already unwinds: these end the process.
//!
//! # Features
//!
//! - `rmcp` (default): [`rmcp::ServerHandlerExt::layered`].
//! - `reqwest`: its timeouts and 429 answers count as faults that heal themselves.
//! - `anyhow`, `eyre`: the errors inside their reports are recognised too.

pub mod binding;

mod call;
mod cause;
mod classify;
mod contain;
mod event;
mod log;
mod macros;
mod only_tools;
mod outcome;
mod outcome_layer;
mod policy;
mod ready;
mod redact;
mod text;
mod timer;
mod tool_error;
mod unwind;

#[cfg(feature = "rmcp")]
pub use crate::binding::rmcp;
pub use crate::{
    binding::{McpReply, McpRequest},
    call::{
        Call, CallId, Cause, Client, Failure, Kind, Origin, Record, RequestId, Scoped, Session,
        TraceContext, Verdict,
    },
    classify::{Classify, ClassifyFuture, ClassifyLayer},
    contain::{Contain, ContainFuture, ContainLayer},
    event::TARGET,
    log::{Log, LogFuture, LogLayer, OnOutcome},
    only_tools::{OnlyTools, OnlyToolsFuture, OnlyToolsLayer, only_tools},
    outcome::{Actor, Code, Declared, Level, Outcome, Reason, Retryable},
    outcome_layer::OutcomeLayer,
    policy::{Heals, Policy, Undeclared},
    redact::{Redact, Redactor, redact_fn},
    tool_error::{
        Candidate, Declaration, Declare, Effects, Limit, Rendering, ResultExt, ToolError,
    },
    unwind::install_panic_hook,
};

/// The README's examples compile.
#[cfg(all(doctest, feature = "rmcp"))]
#[doc = include_str!("../README.md")]
struct Readme;
