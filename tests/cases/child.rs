//! The example over stdio, with each of its streams in the test's own hands.
#![allow(dead_code, reason = "two test binaries use a part each")]

use std::process::{ExitStatus, Stdio};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};

use super::kit::LAYERS;
use crate::support::{GUARD, Layers, binary};

/// A child process that speaks MCP, past its handshake.
pub(crate) struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// All lines that came so far.
    said: Vec<String>,
    stderr: JoinHandle<Vec<u8>>,
}

/// What is left of it.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: String,
}

/// What becomes of a child's stderr.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stderr {
    Kept,
    /// Nobody reads it: each write fails.
    Closed,
}

impl Server {
    pub(crate) async fn start(flags: &[&str], filter: &str) -> Self {
        Self::start_with(flags, filter, Stderr::Kept).await
    }

    pub(crate) async fn start_with(flags: &[&str], filter: &str, stderr: Stderr) -> Self {
        let layers = if LAYERS == Layers::Typed { "typed" } else { "none" };
        let mut child = Command::new(binary("misbehaving_server"))
            .args(["--layers", layers])
            .args(flags)
            .env("RUST_LOG", filter)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipe = child.stderr.take().unwrap();
        let stderr = tokio::spawn(async move {
            let mut kept = Vec::new();
            let mut pipe = (stderr == Stderr::Kept).then_some(pipe);
            if let Some(pipe) = &mut pipe {
                pipe.read_to_end(&mut kept).await.unwrap();
            }
            kept
        });
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let stdout = BufReader::new(stdout);
        let mut server = Self { child, stdin, stdout, said: Vec::new(), stderr };
        let client = json!({ "name": "cases", "version": "0" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        server.send(hello.to_string().as_bytes()).await;
        server.answer(&json!(0)).await;
        server.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        server
    }

    /// Sends any bytes as a line.
    pub(crate) async fn send(&mut self, line: &[u8]) {
        self.stdin.write_all(&[line, b"\n"].concat()).await.unwrap();
    }

    /// The answer to a request, where no line that comes before it is one.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(GUARD, self.stdout.read_line(&mut line)).await;
            let read = read.unwrap_or_else(|_| panic!("no answer to {id}")).unwrap();
            assert!(read > 0, "the server is gone before it answered {id}: {:?}", self.said);
            let line = line.trim_end().to_owned();
            self.said.push(line.clone());
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message.get("id") == Some(id) && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, id: i64, tool: &str, arguments: Value) -> Value {
        let id = json!(id);
        self.send(super::kit::call_line(&id, tool, &arguments).as_bytes()).await;
        self.answer(&id).await
    }

    /// Closes stdin, and waits for the end.
    pub(crate) async fn finish(mut self) -> Ended {
        drop(self.stdin);
        let mut rest = String::new();
        let end = async {
            self.stdout.read_to_string(&mut rest).await.unwrap();
            (self.child.wait().await.unwrap(), self.stderr.await.unwrap())
        };
        let (status, stderr) = tokio::time::timeout(GUARD, end).await.expect("it does not exit");
        self.said.extend(rest.lines().map(str::to_owned));
        Ended { status, stdout: self.said, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }
}

impl Ended {
    /// The log lines of a target, as JSON. Lines that are none, such as those that the standard
    /// panic hook writes, are left out.
    pub(crate) fn events(&self, target: &str) -> Vec<Value> {
        let events = self.stderr.lines().filter_map(|line| serde_json::from_str(line).ok());
        events.filter(|event: &Value| event["target"] == target).collect()
    }

    /// Our own log lines at WARN and ERROR.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let events = self.events("tower_outcome").into_iter();
        let is_alarming = |event: &Value| event["level"] == "WARN" || event["level"] == "ERROR";
        events.filter(is_alarming).map(|event| event.to_string()).collect()
    }

    /// Checks that every line on stdout is a JSON-RPC message.
    pub(crate) fn assert_only_protocol(&self) {
        for line in &self.stdout {
            let message: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{error} on stdout: {line:?}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
        }
    }
}

/// The level, name, outcome and code of a log line.
pub(crate) fn line(event: &Value) -> String {
    let field = |name: &str| event["fields"][name].as_str().unwrap_or("-").to_owned();
    let level = event["level"].as_str().unwrap_or("-");
    format!("{level} {} {} {}", field("message"), field("outcome"), field("code"))
}
