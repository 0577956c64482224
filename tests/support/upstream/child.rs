//! A server as a child process.

use std::{
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::Command,
    sync::watch,
};

use super::Unavailable;

/// Python imports its modules for the first time, beside tests that keep the processors busy.
const AT_MOST: Duration = Duration::from_secs(60);

/// Killed when dropped.
pub(super) struct Child {
    child: tokio::process::Child,
    output: Arc<Mutex<String>>,
}

impl Child {
    /// Starts it, and waits for the line that says where it listens.
    pub(super) async fn start(mut command: Command) -> Result<(Self, String), Unavailable> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| {
            Unavailable::new(format!("{:?}: {error}", command.as_std().get_program()), "install it")
        })?;
        let output = Arc::<Mutex<String>>::default();
        let (found, mut address) = watch::channel(None);
        let found = Arc::new(found);
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(collect(stdout, output.clone(), found.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(collect(stderr, output.clone(), found));
        }
        let server = Self { child, output };
        // The channel closes when both streams end, which a process that dies does to them.
        let address = tokio::time::timeout(AT_MOST, address.wait_for(Option::is_some)).await;
        let why = match address {
            Ok(Ok(address)) => return Ok((server, address.clone().unwrap_or_default())),
            Ok(Err(_)) => "it ended",
            Err(_) => "it took too long",
        };
        let what = format!("the server did not start ({why}):\n{}", server.output());
        Err(Unavailable::new(what, "remove target/upstreams to install it anew"))
    }

    pub(super) async fn kill(&mut self) {
        let _ = self.child.kill().await;
    }

    pub(super) fn output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn collect(
    from: impl AsyncRead + Unpin,
    output: Arc<Mutex<String>>,
    found: Arc<watch::Sender<Option<String>>>,
) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(address) = address(&line) {
            found.send_replace(Some(address));
        }
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.push_str(&line);
        output.push('\n');
    }
}

/// `listening ADDR`, or the same as a line of tracing's JSON.
fn address(line: &str) -> Option<String> {
    if let Some(address) = line.strip_prefix("listening ") {
        return Some(address.trim().to_owned());
    }
    let event: serde_json::Value = serde_json::from_str(line).ok()?;
    let fields = event.get("fields")?;
    (fields.get("message")? == "listening").then_some(())?;
    fields.get("addr")?.as_str().map(str::to_owned)
}
