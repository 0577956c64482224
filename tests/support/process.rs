//! The example as a child process.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command as Build, Stdio},
    sync::OnceLock,
    time::SystemTime,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
};

use super::{
    inbox::Inbox,
    logs::{FILTER, Logs},
};

const EXAMPLE: &str = "misbehaving_server";

/// A running server. It is killed when this is dropped.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) logs: Logs,
}

impl Process {
    /// Starts the example with these flags, and collects what it logs.
    pub(super) fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(binary())
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

/// The example's binary. `cargo test` builds it, `cargo test --test name` does not: it is built
/// here, once, if it is missing or older than its sources.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let test = env::current_exe().expect("the path of this test");
        let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>");
        let name = format!("{EXAMPLE}{}", env::consts::EXE_SUFFIX);
        let binary = profile.join("examples").join(name);
        if !is_fresh(&binary) {
            build(profile);
        }
        binary
    })
}

fn is_fresh(binary: &Path) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = [root.join("src"), root.join("examples").join(EXAMPLE)];
    let changed = sources.iter().filter_map(|source| newest(source)).max();
    fs::metadata(binary).and_then(|meta| meta.modified()).ok() >= changed
}

fn newest(path: &Path) -> Option<SystemTime> {
    if path.is_dir() {
        return fs::read_dir(path).ok()?.filter_map(|entry| newest(&entry.ok()?.path())).max();
    }
    fs::metadata(path).ok()?.modified().ok()
}

fn build(profile: &Path) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Build::new(cargo);
    build
        .args(["build", "--quiet", "--all-features", "--example", EXAMPLE])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().expect("cargo runs").success(), "the example does not build");
}
