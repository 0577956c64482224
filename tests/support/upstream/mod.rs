//! Real MCP servers over Streamable HTTP, to put the layers in front of: the Python and the
//! TypeScript SDK in both their lines, FastMCP, tower-mcp, and rmcp. A test installs what it needs
//! into `target/upstreams/`, once for all tests.
//!
//! ```ignore
//! let upstream = match Upstream::start(Kind::FastMcp2, Mode::Stateful).await {
//!     Ok(upstream) => upstream,
//!     Err(unavailable) => return skip_or_fail(&unavailable),
//! };
//! client.post(upstream.url())
//! ```
//!
//! All but rmcp's offer the same tools, as far as the SDK allows: `ok{text}`, `fail_raise{text}`,
//! `fail_is_error{text}`, `fail_protocol{code, message}`, `bad_arguments{count}`, `slow{ms}`,
//! `big{bytes}`, `progress{n}`, `answer_later{ms}`, `declared{outcome, code, actor, level}` and
//! `exit`. rmcp's are those of the example `misbehaving_server`.

// Every test binary that says `mod upstream;` compiles all of it and uses a part.
#![allow(dead_code, unreachable_pub, missing_debug_implementations)]

mod child;
mod install;
mod tower_mcp;

use std::{fmt, path::PathBuf};

use child::Child;
use install::Package;
use tower_mcp::TowerMcp;

/// Which SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// FastMCP 3, on the official Python SDK 1.
    FastMcp1,
    /// FastMCP 4, on the official Python SDK 2.
    FastMcp2,
    /// The official Python SDK 1.
    Python1,
    /// The official Python SDK 2.
    Python2,
    /// The TypeScript SDK 1.
    TypeScript1,
    /// The TypeScript SDK 2.
    TypeScript2,
    /// tower-mcp, in this process.
    TowerMcp,
    /// rmcp: the example `misbehaving_server` without layers.
    Rmcp,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::FastMcp1,
        Self::FastMcp2,
        Self::Python1,
        Self::Python2,
        Self::TypeScript1,
        Self::TypeScript2,
        Self::TowerMcp,
        Self::Rmcp,
    ];

    /// A name for files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastMcp1 => "fastmcp1",
            Self::FastMcp2 => "fastmcp2",
            Self::Python1 => "python1",
            Self::Python2 => "python2",
            Self::TypeScript1 => "typescript1",
            Self::TypeScript2 => "typescript2",
            Self::TowerMcp => "towermcp",
            Self::Rmcp => "rmcp",
        }
    }

    /// Whether it speaks the revision 2026-07-28 too.
    pub const fn speaks_2026(self) -> bool {
        matches!(self, Self::FastMcp2 | Self::Python2 | Self::TypeScript2 | Self::Rmcp)
    }
}

/// How sessions and answers work. Servers that speak 2026-07-28 do so in every mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sessions; answers as SSE, which can be resumed where the SDK can do that.
    Stateful,
    /// No sessions; answers as SSE.
    Stateless,
    /// No sessions, but for tower-mcp, which has them always; answers as JSON.
    Json,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::Stateful => "stateful",
            Self::Stateless => "stateless",
            Self::Json => "json",
        }
    }
}

/// A running server. It ends when this is dropped.
pub struct Upstream {
    address: String,
    running: Running,
}

enum Running {
    Child(Child),
    Inside(TowerMcp),
}

impl Upstream {
    /// Installs the server if it is not yet there, starts it on a free port, and waits until it
    /// listens.
    pub async fn start(kind: Kind, mode: Mode) -> Result<Self, Unavailable> {
        Self::start_with(kind, mode, &[]).await
    }

    /// Starts it with more flags, of which only rmcp's server has any: the last of a kind counts.
    pub async fn start_with(kind: Kind, mode: Mode, flags: &[&str]) -> Result<Self, Unavailable> {
        if kind == Kind::TowerMcp {
            let server = TowerMcp::start(mode)?;
            return Ok(Self { address: server.address(), running: Running::Inside(server) });
        }
        let mut command = tokio::task::spawn_blocking(move || command(kind, mode))
            .await
            .expect("the installation does not panic")?;
        command.args(flags);
        let (child, address) = Child::start(command).await?;
        Ok(Self { address, running: Running::Child(child) })
    }

    /// Where it listens, as `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ends it at once, whatever it is doing.
    pub async fn kill(&mut self) {
        match &mut self.running {
            Running::Child(child) => child.kill().await,
            Running::Inside(server) => server.kill(),
        }
    }

    /// What it has printed so far, to show in a message.
    pub fn output(&self) -> String {
        match &self.running {
            Running::Child(child) => child.output(),
            Running::Inside(_) => String::new(),
        }
    }
}

fn command(kind: Kind, mode: Mode) -> Result<tokio::process::Command, Unavailable> {
    let mut command = match kind {
        Kind::FastMcp1 => Package::Python1.command("server_fastmcp.py")?,
        Kind::FastMcp2 => Package::Python2.command("server_fastmcp.py")?,
        Kind::Python1 => Package::Python1.command("server_mcp.py")?,
        Kind::Python2 => Package::Python2.command("server_mcp.py")?,
        Kind::TypeScript1 => Package::TypeScript1.command("server.mjs")?,
        Kind::TypeScript2 => Package::TypeScript2.command("server.mjs")?,
        Kind::TowerMcp => unreachable!("it runs in this process"),
        Kind::Rmcp => {
            let mut command =
                tokio::process::Command::new(crate::support::binary("misbehaving_server"));
            command.args(["--http", "127.0.0.1:0", "--layers", "none"]).env("RUST_LOG", "error");
            command
        }
    };
    command.args(["--mode", mode.name()]);
    Ok(command)
}

/// A command that runs a script of a test's own with the SDK that this kind of server is written
/// in, which is installed if it is not yet there.
pub async fn script(kind: Kind, path: PathBuf) -> Result<tokio::process::Command, Unavailable> {
    let package = match kind {
        Kind::FastMcp1 | Kind::Python1 => Package::Python1,
        Kind::FastMcp2 | Kind::Python2 => Package::Python2,
        Kind::TypeScript1 => Package::TypeScript1,
        Kind::TypeScript2 => Package::TypeScript2,
        Kind::TowerMcp | Kind::Rmcp => unreachable!("they are no scripts"),
    };
    tokio::task::spawn_blocking(move || package.command(path))
        .await
        .expect("the installation does not panic")
}

/// Why there is no such server here.
#[derive(Debug)]
pub struct Unavailable {
    /// What failed.
    what: String,
    /// What to do about it.
    hint: &'static str,
}

impl Unavailable {
    fn new(what: impl Into<String>, hint: &'static str) -> Self {
        Self { what: what.into(), hint }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

/// On somebody's own machine a test passes without the server, and says what is missing. In CI
/// everything can be installed, and what cannot is a failure.
pub fn skip_or_fail(unavailable: &Unavailable) {
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "{unavailable}");
    // Not through the captured stdout of a test that passes: nobody would see it.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("skipped: {unavailable}\n").as_bytes(),
    );
}
