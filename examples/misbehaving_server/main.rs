//! An MCP server whose tools end in every way that a call can end, on demand.
//!
//! The bench on which this crate is tried by hand and from outside:
//!
//! ```text
//! cargo run --example misbehaving_server -- --http 127.0.0.1:8080 --mode stateful
//! cargo run --example misbehaving_server -- --layers none      # what happens without this crate
//! ```
//!
//! Nothing but protocol goes to stdout; log lines are JSON on stderr.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "misbehaving is its job"
)]

mod args;
mod listen;
mod log;
mod server;
mod transport;

use std::process::ExitCode;

use args::Args;
use server::Misbehaving;
use transport::{MODES, Mode};

#[tokio::main]
async fn main() -> ExitCode {
    match Args::parse(std::env::args().skip(1), MODES, Mode::Stateful) {
        Ok(args) if args.help => eprint!("{}", args::help("misbehaving_server", "rmcp", MODES)),
        Ok(args) => {
            log::start("misbehaving_server", &args);
            if let Err(error) = serve(args).await {
                return refuse(&error);
            }
        }
        Err(error) => return refuse(&error),
    }
    ExitCode::SUCCESS
}

fn refuse(error: &str) -> ExitCode {
    eprintln!("misbehaving_server: {error}");
    ExitCode::from(2)
}

async fn serve(args: Args<Mode>) -> Result<(), String> {
    let server = Misbehaving::new();
    let layer = server::layer(args.deadline);
    let Some(address) = args.http else {
        match args.layers.round_handler() {
            true => transport::stdio(server::layered(server, &layer)).await,
            false => transport::stdio(server).await,
        }
        return Ok(());
    };
    let http = args.layers.round_http().then(|| layer.clone());
    match args.layers.round_handler() {
        true => transport::http(server::layered(server, &layer), http, address, args.mode).await,
        false => transport::http(server, http, address, args.mode).await,
    }
}
