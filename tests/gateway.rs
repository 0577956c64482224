//! The gateway end to end: the example as a child process between a server and a client that are
//! both written by hand, so that every byte on the wire is known.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "gateway/arguments.rs"]
mod arguments;
#[path = "gateway/faults.rs"]
mod faults;
#[path = "gateway/headers.rs"]
mod headers;
#[path = "gateway/paths.rs"]
mod paths;
#[cfg(feature = "toml")]
#[path = "gateway/policy.rs"]
mod policy;
#[path = "gateway/process.rs"]
mod process;
#[path = "gateway/streams.rs"]
mod streams;
#[path = "gateway/wire.rs"]
mod wire;

#[path = "support/example.rs"]
mod example;
// Every test binary that takes it uses a part.
#[allow(dead_code, unreachable_pub)]
#[path = "support/logs.rs"]
mod logs;

use std::time::Duration;

/// How long to wait for what should come at once. A guard against hangs, not a measurement.
const GUARD: Duration = Duration::from_secs(30);
