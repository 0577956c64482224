//! What people ran into with MCP servers, and the behaviour that they would expect: each test is
//! named after its entry in the collection that this crate was designed with.
//!
//! One module a letter: panics (A), stdio (B), failures that pass as successes (C), levels (D),
//! leaving (E), JSON-RPC (G), texts (H), names (N), and stacks of tower services (W); and one for
//! tasks, of several letters.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod support;

#[path = "cases/a_abort.rs"]
mod a_abort;
#[path = "cases/a_panics.rs"]
mod a_panics;
#[path = "cases/b_stdio.rs"]
mod b_stdio;
#[path = "cases/c_disguised.rs"]
mod c_disguised;
#[path = "cases/child.rs"]
mod child;
#[path = "cases/d_levels.rs"]
mod d_levels;
#[path = "cases/e_leaving.rs"]
mod e_leaving;
#[path = "cases/g_json_rpc.rs"]
mod g_json_rpc;
#[path = "cases/h_texts.rs"]
mod h_texts;
#[path = "cases/kit.rs"]
mod kit;
#[path = "cases/n_names.rs"]
mod n_names;
#[path = "tasks/kit.rs"]
mod task_kit;
#[path = "cases/tasks.rs"]
mod tasks;
#[path = "cases/w_stacks.rs"]
mod w_stacks;
