//! Tasks in the form of 2025-11-25, in which `tasks/get` shows no more than a status and
//! `tasks/result` what the call would have been answered with: round typed services, round HTTP
//! services, and round both.
//!
//! The server is one of these tests' own, over a protocol library that is made up: rmcp 3.11 has no
//! `task` in the parameters of `tools/call`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "tasks_core/bench.rs"]
mod bench;
#[path = "tasks_core/binding.rs"]
mod binding;
#[path = "tasks_core/cancelled.rs"]
mod cancelled;
#[path = "tasks_core/contained.rs"]
mod contained;
#[path = "tasks_core/expiry.rs"]
mod expiry;
#[path = "http_stacks/kit.rs"]
mod kit;
#[path = "tasks_core/memory.rs"]
mod memory;
#[path = "tasks_core/orders.rs"]
mod orders;
#[path = "tasks_core/polling.rs"]
mod polling;
#[path = "tasks_core/races.rs"]
mod races;
#[path = "tasks_core/resumed.rs"]
mod resumed;
#[path = "http_stacks/script.rs"]
mod script;
#[path = "tasks_core/server.rs"]
mod server;
#[path = "tasks_core/streams.rs"]
mod streams;
#[path = "tasks_core/table.rs"]
mod table;
#[path = "tasks_core/unknown.rs"]
mod unknown;
#[path = "tasks_core/work.rs"]
mod work;
