//! Tasks over HTTP as servers and clients are not supposed to have them: what is said in an odd form,
//! too early, too late, in somebody else's stream or more than once. And the work of tasks, contained
//! in every place where it may be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "tasks_http/batches.rs"]
mod batches;
#[path = "tasks_http/bench.rs"]
mod bench;
#[path = "tasks_http/contained.rs"]
mod contained;
#[path = "tasks_http/earlier.rs"]
mod earlier;
#[path = "tasks_http/early.rs"]
mod early;
#[path = "tasks_http/harmless.rs"]
mod harmless;
#[path = "tasks_http/held.rs"]
mod held;
#[path = "tasks_http/ids.rs"]
mod ids;
#[path = "tasks_http/judged.rs"]
mod judged;
#[path = "http_stacks/kit.rs"]
#[allow(unused_imports, reason = "what other suites need")]
mod kit;
#[path = "tasks_http/late.rs"]
mod late;
#[path = "tasks_http/messages.rs"]
mod messages;
#[path = "tasks_http/notices.rs"]
mod notices;
#[path = "tasks/kit.rs"]
mod polls;
#[path = "tasks_http/questions.rs"]
mod questions;
#[path = "tasks_http/routes.rs"]
mod routes;
#[path = "tasks_http/rows.rs"]
mod rows;
#[path = "http_stacks/script.rs"]
mod script;
#[path = "tasks_http/told.rs"]
mod told;
#[path = "tasks_http/unlogged.rs"]
mod unlogged;
#[path = "tasks_http/works.rs"]
mod works;
