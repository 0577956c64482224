//! Raw MCP clients: JSON-RPC by hand over every transport, without an SDK that would hide what is
//! on the wire, and what the server logged meanwhile.
//!
//! ```ignore
//! let client = Client::connect(Transport::Stdio, Layers::Typed).await;
//! let answer = client.call("ok", json!({"text": "hello"})).await;
//! assert_eq!(answer.text(), "hello");
//! ```

// Every test binary that says `mod support;` compiles all of it and uses a part.
#![allow(dead_code, unused_imports, unreachable_pub, missing_debug_implementations)]

mod answer;
mod client;
mod http;
mod inbox;
mod lines;
mod logs;
mod messages;
mod process;
mod sse;

/// The server of the example, to serve in this process.
#[path = "../../examples/misbehaving_server/server/mod.rs"]
pub(crate) mod server;

use std::time::Duration;

pub use self::{
    answer::Answer,
    client::{Client, Layers, Transport},
    inbox::Inbox,
    logs::{Event, Logs},
    messages::Revision,
    process::binary,
};

/// How long to wait for what should come at once. A guard against hangs, not a measurement.
pub const GUARD: Duration = Duration::from_secs(30);
