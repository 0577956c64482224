//! The example as a child process.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::OnceLock,
};

use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
    time::timeout,
};

use crate::{
    GUARD, example,
    logs::{FILTER, Logs},
    wire::Connection,
};

/// A running gateway. It is killed when this is dropped.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) logs: Logs,
    address: String,
    /// How long it says that it waits for a tool's answer.
    pub(crate) deadline: String,
}

impl Gateway {
    pub(crate) async fn start(upstream: &str) -> Self {
        Self::start_with(upstream, &[]).await
    }

    pub(crate) async fn start_with(upstream: &str, flags: &[&str]) -> Self {
        Self::start_logged_as(upstream, upstream, flags).await
    }

    /// Starts it where it logs the URL in another form than it was given.
    pub(crate) async fn start_logged_as(upstream: &str, logged: &str, flags: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args(["--listen", "127.0.0.1:0", "--upstream", upstream])
            .args(flags)
            .env("RUST_LOG", FILTER)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the example starts");
        let logs = Logs::default();
        let (mut stderr, sink) = (child.stderr.take().expect("a piped stderr"), logs.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
                sink.push(&buffer[..length]);
            }
        });
        let address = logs.wait_for(|events| {
            let line = events.iter().find(|event| event.message == "listening")?;
            assert_eq!(line.field("upstream"), Some(logged));
            let field = |name| line.field(name).map(str::to_owned);
            field("addr").zip(field("deadline"))
        });
        let said = address.await.unwrap_or_else(|| panic!("no address:\n{}", logs.raw()));
        let (address, deadline) = said;
        Self { child, logs, address, deadline }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(&self.address).await
    }

    /// Asks it to end.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let kill = format!("kill -TERM {}", self.child.id().expect("a running child"));
        assert!(
            std::process::Command::new("sh")
                .args(["-c", &kill])
                .status()
                .expect("sh runs")
                .success()
        );
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        timeout(GUARD, self.child.wait()).await.expect("an end in time").expect("a child")
    }
}

/// The example's binary.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| example::binary("gateway"))
}
