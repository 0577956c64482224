//! The log: JSON lines on stderr.

use tracing_subscriber::EnvFilter;

use crate::args::Args;

/// Starts it, for the program with this name.
pub(crate) fn start<M>(program: &str, args: &Args<M>) {
    let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // With port 0 nobody could find the server without the line that names the port.
    if args.http.is_some_and(|address| address.port() == 0) {
        filter = filter.add_directive(format!("{program}=info").parse().expect("a directive"));
    }
    tracing_subscriber::fmt()
        .json()
        .with_ansi(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    if args.panic_hook {
        tower_outcome::install_panic_hook();
    }
}
