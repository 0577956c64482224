//! The gateway end to end in front of real servers: what a client gets is what it would get without
//! the gateway, unless it is a fault; and every call ends in one event.
//!
//! The servers are those of `tests/upstreams/`, the expectations those of `tests/corpus/`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "gateway_upstreams/answers.rs"]
mod answers;
#[path = "gateway_upstreams/bench.rs"]
mod bench;
#[allow(dead_code, reason = "the recording needs more of it")]
#[path = "upstreams/cases.rs"]
mod cases;
#[path = "gateway_upstreams/clients.rs"]
mod clients;
#[path = "support/corpus.rs"]
mod corpus;
#[path = "gateway_upstreams/deaths.rs"]
mod deaths;
#[path = "gateway_upstreams/endings.rs"]
mod endings;
#[path = "gateway_upstreams/events.rs"]
mod events;
#[path = "upstreams/wire.rs"]
mod exchanges;
#[path = "gateway_upstreams/policies.rs"]
mod policies;
#[allow(dead_code, reason = "the gateway's other tests need more of it")]
#[path = "gateway/process.rs"]
mod process;
mod support;
#[path = "gateway_upstreams/table.rs"]
mod table;
#[path = "support/upstream/mod.rs"]
mod upstream;

use support::example;

/// What the modules that are shared with other tests know under this name.
mod wire {
    pub(crate) use crate::{
        exchanges::{Answer, exchange},
        hand_written::Connection,
    };
}

#[allow(dead_code, reason = "only a name in a signature")]
#[path = "gateway/wire.rs"]
mod hand_written;

use std::time::Duration;

use bench::Bench;
// The gateway's tests know it under this name.
use support::logs;
use upstream::{Kind, Mode, skip_or_fail};

/// How long to wait for what should come at once. A guard against hangs, not a measurement.
const GUARD: Duration = Duration::from_secs(30);

/// One server and all that is asked of it. What waits, waits together; what ends the server is
/// last.
async fn serves(kind: Kind, mode: Mode, layers: &[&str]) {
    let mut bench = match Bench::start(kind, mode, layers).await {
        Ok(bench) => bench,
        Err(unavailable) => return skip_or_fail(&unavailable),
    };
    tokio::join!(
        table::each_case(&bench),
        endings::each_ending(&bench),
        policies::masks(&bench),
        policies::hurries(&bench),
    );
    deaths::in_a_call_and_between_calls(&mut bench).await;
    bench.finish().await;
}

macro_rules! each {
    ($($name:ident: $kind:ident $flags:expr,)*) => {$(
        mod $name {
            use super::{Kind, Mode, serves};

            #[tokio::test]
            async fn stateful() {
                serves(Kind::$kind, Mode::Stateful, $flags).await;
            }

            #[tokio::test]
            async fn stateless() {
                serves(Kind::$kind, Mode::Stateless, $flags).await;
            }

            #[tokio::test]
            async fn json() {
                serves(Kind::$kind, Mode::Json, $flags).await;
            }
        }
    )*};
}

each! {
    fastmcp1: FastMcp1 &[],
    fastmcp2: FastMcp2 &[],
    python1: Python1 &[],
    python2: Python2 &[],
    typescript1: TypeScript1 &[],
    typescript2: TypeScript2 &[],
    tower_mcp: TowerMcp &[],
    rmcp: Rmcp &[],
    rmcp_with_layers: Rmcp &["--layers", "typed"],
}
