//! The layers round HTTP services, among everything that people put round such services: routers,
//! tower-http's and tower's own layers, hyper, and rmcp's service with and without layers of ours
//! round its handler.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    missing_docs
)]

mod support;

#[path = "endings/check.rs"]
mod check;
#[path = "http_stacks/faults.rs"]
mod faults;
#[path = "http_stacks/foreign.rs"]
mod foreign;
#[path = "http_stacks/held.rs"]
mod held;
#[path = "http_stacks/kit.rs"]
mod kit;
#[path = "endings/leaving.rs"]
mod leaving;
#[path = "http_stacks/overruled.rs"]
mod overruled;
#[path = "http_stacks/resumption.rs"]
mod resumption;
#[path = "http_stacks/rewriting.rs"]
mod rewriting;
#[path = "http_stacks/routers.rs"]
mod routers;
#[path = "endings/row.rs"]
mod row;
#[path = "endings/rows.rs"]
mod rows;
#[path = "http_stacks/script.rs"]
mod script;
#[path = "http_stacks/services.rs"]
mod services;
#[path = "http_stacks/sessions.rs"]
mod sessions;
#[path = "http_stacks/soft.rs"]
mod soft;
#[path = "http_stacks/strict.rs"]
mod strict;
#[path = "http_stacks/table.rs"]
mod table;
#[path = "http_stacks/tower_http.rs"]
mod tower_http;
#[path = "http_stacks/types.rs"]
mod types;
#[path = "http_stacks/wire.rs"]
mod wire;
