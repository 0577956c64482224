//! One client for all transports.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, split};
use tracing::subscriber::DefaultGuard;

use super::{
    answer::Answer,
    http::Http,
    inbox::Inbox,
    lines::Lines,
    logs::Logs,
    messages::{Revision, call_params, initialize_params, notification},
    process::Process,
    server::{self, Misbehaving},
    socket::Socket,
    transport::{Layers, Transport},
};

const MISBEHAVING: &str = "misbehaving_server";

enum Wire {
    Lines(Lines),
    Http(Http),
    Socket(Socket),
}

/// A client, and with it the server that it is the only client of.
pub struct Client {
    wire: Wire,
    revision: Revision,
    inbox: Inbox,
    logs: Logs,
    /// What a server that speaks HTTP wrote to stdout.
    stdout: Option<Inbox>,
    next_id: AtomicU64,
    sent: Mutex<Vec<Value>>,
    _process: Option<Process>,
    _capture: Option<DefaultGuard>,
}

impl Client {
    /// Starts a server and shakes hands with it.
    pub async fn connect(transport: Transport, layers: Layers) -> Self {
        Self::connect_to(MISBEHAVING, transport, layers).await
    }

    /// The same with another example.
    pub async fn connect_to(example: &'static str, transport: Transport, layers: Layers) -> Self {
        let client = Self::open_example(example, transport, layers, &[]).await;
        if transport.revision() == Revision::V2025 {
            let answer = client.initialize("raw").await;
            assert!(answer.result().is_some(), "{transport:?} does not initialize: {answer:?}");
        }
        client
    }

    /// Starts a server, without a handshake.
    pub async fn open(transport: Transport, layers: Layers) -> Self {
        Self::open_example(MISBEHAVING, transport, layers, &[]).await
    }

    /// Starts a server with more flags, which a server in this process has none of.
    pub async fn open_with(transport: Transport, layers: Layers, flags: &[&str]) -> Self {
        Self::open_example(MISBEHAVING, transport, layers, flags).await
    }

    pub async fn open_example(
        example: &'static str,
        transport: Transport,
        layers: Layers,
        flags: &[&str],
    ) -> Self {
        let revision = transport.revision();
        if transport == Transport::Duplex {
            let server = Misbehaving::new();
            return match layers {
                Layers::None => Self::in_process(server, revision),
                Layers::Typed => {
                    Self::in_process(server::layered(server, &server::layer(None)), revision)
                }
                Layers::Http | Layers::Both => panic!("there is no HTTP on a pipe"),
            };
        }
        let layers = match layers {
            Layers::None => "none",
            Layers::Typed => "typed",
            Layers::Http => "http",
            Layers::Both => "both",
        };
        let flags = [&["--layers", layers], flags].concat();
        match transport.mode() {
            None => Self::over_stdio(Process::start(example, &flags), revision),
            Some(mode) => {
                let flags = [&["--http", "127.0.0.1:0", "--mode", mode], &*flags].concat();
                let process = Process::start(example, &flags);
                match transport {
                    Transport::WebSocket => Self::over_socket(process, revision).await,
                    _ => Self::over_http(process, revision).await,
                }
            }
        }
    }

    /// Serves any handler in this process, and captures what this thread logs meanwhile.
    pub fn in_process(server: impl ServerHandler, revision: Revision) -> Self {
        let (logs, capture) = Logs::capture();
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move {
            if let Ok(session) = server.serve(theirs).await {
                let _ = session.waiting().await;
            }
        });
        let mut client = Self::over_pipe(ours, revision, logs);
        client._capture = Some(capture);
        client
    }

    /// Speaks over a pipe to a server that somebody else serves.
    pub fn over_pipe(pipe: DuplexStream, revision: Revision, logs: Logs) -> Self {
        let inbox = Inbox::default();
        let (reader, writer) = split(pipe);
        let wire = Wire::Lines(Lines::open(reader, writer, inbox.clone()));
        Self::new(wire, revision, inbox, logs)
    }

    fn over_stdio(mut process: Process, revision: Revision) -> Self {
        let inbox = Inbox::default();
        let stdout = process.child.stdout.take().expect("a piped stdout");
        let stdin = process.child.stdin.take().expect("a piped stdin");
        let wire = Wire::Lines(Lines::open(stdout, stdin, inbox.clone()));
        let mut client = Self::new(wire, revision, inbox, process.logs.clone());
        client._process = Some(process);
        client
    }

    async fn over_socket(process: Process, revision: Revision) -> Self {
        let inbox = Inbox::default();
        let wire = Wire::Socket(Socket::open(&process.address().await, inbox.clone()).await);
        let mut client = Self::new(wire, revision, inbox, process.logs.clone());
        client._process = Some(process);
        client
    }

    async fn over_http(mut process: Process, revision: Revision) -> Self {
        let stdout = process.watch_stdout();
        let inbox = Inbox::default();
        let wire = Wire::Http(Http::new(&process.address().await, revision, inbox.clone()));
        let mut client = Self::new(wire, revision, inbox, process.logs.clone());
        client._process = Some(process);
        client.stdout = Some(stdout);
        client
    }

    fn new(wire: Wire, revision: Revision, inbox: Inbox, logs: Logs) -> Self {
        Self {
            wire,
            revision,
            inbox,
            logs,
            stdout: None,
            next_id: AtomicU64::new(1),
            sent: Mutex::default(),
            _process: None,
            _capture: None,
        }
    }

    /// A second client of the same server, over connections of its own. Its requests have ids of
    /// their own too, since both look into one log.
    pub fn another(&self) -> Self {
        let Wire::Http(http) = &self.wire else { panic!("a pipe has two ends") };
        let inbox = Inbox::default();
        let wire = Wire::Http(http.another(inbox.clone()));
        Self::new(wire, self.revision, inbox, self.logs.clone()).count_from(100_001)
    }

    /// Gives its next request this id, and later ones those after it.
    pub fn count_from(mut self, id: u64) -> Self {
        self.next_id = AtomicU64::new(id);
        self
    }

    /// Speaks to a server that somebody else serves at this address.
    pub fn at(address: &str, revision: Revision, logs: Logs) -> Self {
        let inbox = Inbox::default();
        let wire = Wire::Http(Http::new(address, revision, inbox.clone()));
        Self::new(wire, revision, inbox, logs)
    }

    /// Opens the stream on which a session's server sends what it sends by itself.
    pub async fn listen(&self) {
        match &self.wire {
            Wire::Lines(_) | Wire::Socket(_) => panic!("everything comes on one stream"),
            Wire::Http(http) => http.listen().await,
        }
    }

    /// The handshake of revisions before 2026-07-28, by a client of this name.
    pub async fn initialize(&self, client_name: &str) -> Answer {
        self.initialize_with(client_name, &json!({})).await
    }

    /// The same by a client that declares these capabilities.
    pub async fn initialize_with(&self, client_name: &str, capabilities: &Value) -> Answer {
        let id = self.fresh_id();
        let params = initialize_params(client_name, capabilities);
        let message = self.message(&id, "initialize", params);
        match &self.wire {
            Wire::Lines(lines) => lines.send(&message.to_string()).await,
            Wire::Socket(socket) => socket.send(&message.to_string()).await,
            Wire::Http(http) => http.initialize(&id, &message).await,
        }
        let answer = self.wait(&id).await;
        if answer.result().is_some() {
            self.notify("notifications/initialized", json!({})).await;
        }
        answer
    }

    /// Calls a tool and waits for the answer.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let id = self.start_call(tool, arguments).await;
        self.wait(&id).await
    }

    /// Sends a request and waits for the answer.
    pub async fn request(&self, method: &str, params: Value) -> Answer {
        let id = self.start(method, params).await;
        self.wait(&id).await
    }

    /// Calls a tool, and returns the call's id at once.
    pub async fn start_call(&self, tool: &str, arguments: Value) -> Value {
        self.start("tools/call", call_params(tool, arguments)).await
    }

    /// Sends a request, and returns its id at once.
    pub async fn start(&self, method: &str, params: Value) -> Value {
        let id = self.fresh_id();
        self.start_as(&id, method, params).await;
        id
    }

    /// Sends a request with an id of the caller's choice.
    pub async fn start_as(&self, id: &Value, method: &str, params: Value) {
        let message = self.message(id, method, params);
        match &self.wire {
            Wire::Lines(lines) => lines.send(&message.to_string()).await,
            Wire::Socket(socket) => socket.send(&message.to_string()).await,
            Wire::Http(http) => http.start(id, &message),
        }
    }

    /// Waits for the answer to a request. [`Answer::None`] after the guard, or once it is clear
    /// that none will come.
    pub async fn wait(&self, id: &Value) -> Answer {
        self.inbox.wait(id).await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) {
        let message = notification(method, &params);
        match &self.wire {
            Wire::Lines(lines) => lines.send(&message.to_string()).await,
            Wire::Socket(socket) => socket.send(&message.to_string()).await,
            Wire::Http(http) => {
                http.send(&message).await;
            }
        }
    }

    /// Sends any text: a line, where the transport has lines.
    pub async fn send_line(&self, text: &str) {
        match &self.wire {
            Wire::Lines(lines) => lines.send(text).await,
            Wire::Http(_) | Wire::Socket(_) => panic!("only a pipe has lines"),
        }
    }

    /// Cancels a request in the way of the transport. HTTP servers without sessions have none
    /// before 2026-07-28: they ignore all notifications.
    pub async fn cancel(&self, id: &Value) {
        match &self.wire {
            Wire::Http(http) if self.revision == Revision::V2026 => http.hang_up(id),
            _ => {
                let params = json!({ "requestId": id, "reason": "the user pressed stop" });
                self.notify("notifications/cancelled", params).await;
            }
        }
    }

    /// Hangs up on the answer to one request, which cancels it from 2026-07-28 on alone.
    pub fn hang_up(&self, id: &Value) {
        match &self.wire {
            Wire::Lines(_) | Wire::Socket(_) => panic!("all requests share one stream"),
            Wire::Http(http) => http.hang_up(id),
        }
    }

    /// Leaves: ends the session if there is one, and hangs up on all that is open. The server goes
    /// on until the client is dropped, so that its log can still be read.
    pub async fn close(&self) {
        match &self.wire {
            Wire::Lines(lines) => lines.close().await,
            Wire::Socket(socket) => socket.close().await,
            Wire::Http(http) => http.close().await,
        }
    }

    /// Every byte that the client received so far, HTTP heads included.
    pub fn bytes(&self) -> Vec<u8> {
        self.inbox.bytes()
    }

    /// Everything else that the client received.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// What the server logged.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// What a server that speaks HTTP wrote to stdout, where nothing belongs.
    pub fn stdout(&self) -> Vec<u8> {
        self.stdout.as_ref().map(Inbox::bytes).unwrap_or_default()
    }

    /// Whether it speaks the revision without sessions.
    pub fn is_2026(&self) -> bool {
        self.revision == Revision::V2026
    }

    /// The ids of all requests so far.
    pub fn sent(&self) -> Vec<Value> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fresh_id(&self) -> Value {
        json!(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    fn message(&self, id: &Value, method: &str, params: Value) -> Value {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(id.clone());
        self.revision.request(id, method, params)
    }
}
