//! An example as a child process.

use std::{
    collections::HashMap,
    path::PathBuf,
    process::Stdio,
    sync::{Mutex, PoisonError},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
};

use super::{
    example,
    inbox::Inbox,
    logs::{FILTER, Logs},
};

/// A running server. It is killed when this is dropped.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) logs: Logs,
}

impl Process {
    /// Starts the example with these flags, and collects what it logs.
    pub(super) fn start(example: &'static str, flags: &[&str]) -> Self {
        let mut child = Command::new(binary(example))
            .args(flags)
            .env("RUST_LOG", FILTER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the example starts");
        let logs = Logs::default();
        let (stderr, sink) = (child.stderr.take().expect("a piped stderr"), logs.clone());
        tokio::spawn(collect(stderr, move |bytes| sink.push(bytes)));
        Self { child, logs }
    }

    /// Keeps what a server that speaks HTTP writes to stdout, where nothing belongs.
    pub(super) fn watch_stdout(&mut self) -> Inbox {
        let inbox = Inbox::default();
        let (stdout, sink) = (self.child.stdout.take().expect("a piped stdout"), inbox.clone());
        tokio::spawn(collect(stdout, move |bytes| sink.keep_bytes(bytes)));
        inbox
    }

    /// The address that the server says it listens on.
    pub(super) async fn address(&self) -> String {
        let address = self.logs.wait_for(|events| {
            let line = events.iter().find(|event| event.message == "listening")?;
            line.field("addr").map(str::to_owned)
        });
        address.await.unwrap_or_else(|| panic!("no address in the log:\n{}", self.logs.raw()))
    }
}

async fn collect(mut from: impl AsyncRead + Unpin, keep: impl Fn(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        keep(&buffer[..length]);
    }
}

/// The example's binary, built at most once.
pub fn binary(example: &'static str) -> PathBuf {
    static BINARIES: Mutex<Option<HashMap<&str, PathBuf>>> = Mutex::new(None);
    let mut binaries = BINARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let binary = binaries.get_or_insert_default().entry(example);
    binary.or_insert_with(|| example::binary(example)).clone()
}
