//! `misbehaving_server` on tower-mcp: the same tools, the same flags, over stdio, HTTP and WebSocket.
//!
//! ```text
//! cargo run --features tower-mcp --example misbehaving_tower_mcp -- --http 127.0.0.1:8080
//! cargo run --features tower-mcp --example misbehaving_tower_mcp -- --layers none
//! ```
//!
//! What knows nothing of rmcp there is used here too. Where tower-mcp has another way, so has this:
//!
//! - `fail_internal` and `fail_protocol` return tower-mcp's own `Error`, of which it makes an
//!   `isError` text before any layer sees it; `refuse` is the JSON-RPC error that only a layer can
//!   answer a tool call with;
//! - a notification that it does not know cannot be handled, and so cannot panic.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "misbehaving is its job"
)]

#[path = "../misbehaving_server/args.rs"]
mod args;
#[path = "../misbehaving_server/server/declared.rs"]
mod declared;
mod inside;
#[path = "../misbehaving_server/server/layers.rs"]
mod layers;
#[path = "../misbehaving_server/listen.rs"]
mod listen;
#[path = "../misbehaving_server/log.rs"]
mod log;
#[path = "../misbehaving_server/server/notes.rs"]
mod notes;
#[allow(dead_code, reason = "a task has arguments that say nothing to tower-mcp")]
#[path = "../misbehaving_server/server/params.rs"]
mod params;
mod router;
mod tasks;
mod tools;
mod transport;
#[path = "../misbehaving_server/server/trouble.rs"]
mod trouble;

use std::process::ExitCode;

use args::Args;
use inside::Inside;
use layers::CutLocalDropShort;
use tower::layer::util::{Identity, Stack};
use tower_outcome::only_tools;
use transport::{MODES, Mode};

#[tokio::main]
async fn main() -> ExitCode {
    match Args::parse(std::env::args().skip(1), MODES, Mode::Stateful) {
        Ok(args) if args.help => {
            eprint!("{}", args::help("misbehaving_tower_mcp", "tower-mcp", MODES))
        }
        Ok(args) => {
            log::start("misbehaving_tower_mcp", &args);
            if let Err(error) = serve(args).await {
                return refuse(&error);
            }
        }
        Err(error) => return refuse(&error),
    }
    ExitCode::SUCCESS
}

fn refuse(error: &str) -> ExitCode {
    eprintln!("misbehaving_tower_mcp: {error}");
    ExitCode::from(2)
}

async fn serve(args: Args<Mode>) -> Result<(), String> {
    let cut = only_tools(CutLocalDropShort);
    let layer = layers::layer(args.deadline);
    if args.layers.round_handler() {
        transport::serve(stack(layer, cut), &args).await
    } else if args.layers.round_http() {
        // What cuts a call short is no layer of this crate's.
        transport::serve(stack(Identity::new(), cut), &args).await
    } else {
        transport::serve(Inside, &args).await
    }
}

/// From outside to inside.
fn stack<O, C>(outside: O, cut: C) -> Stack<Stack<Inside, C>, O> {
    Stack::new(Stack::new(Inside, cut), outside)
}
