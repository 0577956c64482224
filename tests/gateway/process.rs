//! The example as a child process.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command as Build, ExitStatus, Stdio},
    sync::OnceLock,
    time::SystemTime,
};

use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
    time::timeout,
};

use crate::{
    GUARD,
    logs::{FILTER, Logs},
    wire::Connection,
};

const EXAMPLE: &str = "gateway";

/// A running gateway. It is killed when this is dropped.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) logs: Logs,
    address: String,
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
            line.field("addr").map(str::to_owned)
        });
        let address = address.await.unwrap_or_else(|| panic!("no address:\n{}", logs.raw()));
        Self { child, logs, address }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(&self.address).await
    }

    /// Asks it to end.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let kill = format!("kill -TERM {}", self.child.id().expect("a running child"));
        assert!(Build::new("sh").args(["-c", &kill]).status().expect("sh runs").success());
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        timeout(GUARD, self.child.wait()).await.expect("an end in time").expect("a child")
    }
}

/// The example's binary. `cargo test` builds it, `cargo test --test name` does not: it is built
/// here, once, if it is missing or older than its sources.
pub(crate) fn binary() -> &'static Path {
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
