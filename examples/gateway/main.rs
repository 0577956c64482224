//! A reverse proxy in front of an MCP server that speaks Streamable HTTP, in whichever language it
//! is written, with this crate's layers in between.
//!
//! ```text
//! cargo run --example gateway -- --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000/mcp
//! ```
//!
//! Clients then use `http://127.0.0.1:8080/mcp`. Each call is one JSON log line on stderr. A server
//! that is down, breaks off or talks nonsense is answered as a fault, in words for the model,
//! instead of with an error page for people. For a policy (`--policy FILE`) add
//! `--features toml`.
#![allow(clippy::print_stderr, reason = "a program that says there why it does not start")]

mod args;
mod headers;
mod proxy;
mod serve;
mod upstream;

use std::process::ExitCode;

use args::Args;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    match Args::parse(std::env::args().skip(1)) {
        Ok(None) => eprint!("{}", args::HELP),
        Ok(Some(args)) => {
            start_log(&args);
            if let Err(error) = serve::serve(args).await {
                return refuse(&error);
            }
        }
        Err(error) => return refuse(&error),
    }
    ExitCode::SUCCESS
}

fn refuse(error: &str) -> ExitCode {
    eprintln!("gateway: {error}");
    ExitCode::from(2)
}

fn start_log(args: &Args) {
    let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // With port 0 nobody could find the gateway without the line that names the port.
    if args.listen.port() == 0
        && let Ok(directive) = "gateway=info".parse()
    {
        filter = filter.add_directive(directive);
    }
    tracing_subscriber::fmt()
        .json()
        .with_ansi(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    tower_outcome::install_panic_hook();
}
