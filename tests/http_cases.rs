//! What people ran into with MCP servers over HTTP, and the behaviour that they would expect: each
//! test is named after its entry in the collection that this crate was designed with.
//!
//! One module a letter: panics (A), failures that pass as successes (C), leaving (E), bodies and
//! streams (F), JSON-RPC (G), texts (H), and stacks of tower services (W); and one for tasks, of
//! several letters.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    missing_docs
)]

mod support;

#[path = "http_cases/a_panics.rs"]
mod a_panics;
#[path = "http_cases/c_disguised.rs"]
mod c_disguised;
#[path = "http_cases/e_leaving.rs"]
mod e_leaving;
#[path = "http_cases/f_bodies.rs"]
mod f_bodies;
#[path = "http_cases/f_streams.rs"]
mod f_streams;
#[path = "http_cases/g_ids.rs"]
mod g_ids;
#[path = "http_cases/g_json_rpc.rs"]
mod g_json_rpc;
#[path = "http_cases/h_texts.rs"]
mod h_texts;
#[path = "http_stacks/kit.rs"]
mod kit;
#[path = "http_stacks/script.rs"]
mod script;
#[path = "http_cases/tasks.rs"]
mod tasks;
#[path = "http_cases/w_stacks.rs"]
mod w_stacks;
