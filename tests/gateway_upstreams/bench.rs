//! A server, the gateways in front of it, and the clients of both.

use std::{
    cell::{Cell, RefCell},
    fs,
    path::Path,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http::{HeaderValue, Request};
use serde_json::{Value, json};

use crate::{
    cases::Session,
    events::{SECRET, hashed},
    logs::{Event, Logs},
    process::Gateway,
    upstream::{Kind, Mode, Unavailable, Upstream},
    wire::{self, Answer},
};

/// Ids differ everywhere, so that an event belongs to one request.
static NEXT: AtomicU64 = AtomicU64::new(1000);

/// A server and what is in front of it.
pub(crate) struct Bench {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    /// Whether the server has the typed layers inside.
    pub(crate) is_layered: bool,
    pub(crate) upstream: Upstream,
    /// Looked at once more at the end: a second event may come late.
    gates: RefCell<Vec<Rc<Gate>>>,
}

impl Bench {
    pub(crate) async fn start(kind: Kind, mode: Mode, flags: &[&str]) -> Result<Self, Unavailable> {
        let upstream = Upstream::start_with(kind, mode, flags).await?;
        let is_layered = !flags.is_empty();
        Ok(Self { kind, mode, is_layered, upstream, gates: RefCell::default() })
    }

    /// A gateway of its own, with the policy of this text.
    pub(crate) async fn gate(&self, policy: Option<&str>) -> Rc<Gate> {
        let gate = Rc::new(Gate::start(&self.upstream.url(), policy).await);
        self.gates.borrow_mut().push(gate.clone());
        gate
    }

    /// The revisions that are worth speaking to it.
    pub(crate) fn revisions(&self) -> Vec<&'static str> {
        let newer = self.kind.speaks_2026().then_some("2026-07-28");
        std::iter::once("2025-11-25").chain(newer).collect()
    }

    /// Whether a client that has lost a stream gets its answer on another one.
    pub(crate) fn resumes(&self, revision: &str) -> bool {
        self.mode == Mode::Stateful && self.kind != Kind::TowerMcp && revision != "2026-07-28"
    }

    /// A tool that takes this long.
    pub(crate) fn slow(ms: u64) -> (&'static str, Value) {
        ("slow", json!({ "ms": ms }))
    }

    /// For messages.
    pub(crate) fn name(&self) -> String {
        let layers = if self.is_layered { " with layers" } else { "" };
        format!("{:?}{layers} {:?}", self.kind, self.mode)
    }

    pub(crate) async fn finish(&self) {
        for gate in self.gates.take() {
            gate.finish(&self.name()).await;
        }
    }
}

/// A gateway, and the ids of the requests that were sent through it.
pub(crate) struct Gate {
    gateway: Gateway,
    pub(crate) address: String,
    sent: RefCell<Vec<Value>>,
    /// How many events end requests that have no id of their own.
    nameless: Cell<usize>,
}

impl Gate {
    pub(crate) async fn start(url: &str, policy: Option<&str>) -> Self {
        let gateway = match policy {
            None => Gateway::start(url).await,
            Some(text) => {
                let name = format!("policy-{}.toml", NEXT.fetch_add(1, Ordering::Relaxed));
                let file = Path::new(env!("CARGO_TARGET_TMPDIR"))
                    .join(format!("{}-{name}", std::process::id()));
                fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
                fs::write(&file, text).expect("a file");
                let path = file.to_str().expect("a plain path");
                let gateway = Gateway::start_with(url, &["--policy", path]).await;
                fs::remove_file(&file).expect("the file");
                gateway
            }
        };
        let listening = gateway.logs.events().into_iter().find(|it| it.message == "listening");
        let address = listening.expect("the line").field("addr").expect("an address").to_owned();
        Self { gateway, address, sent: RefCell::default(), nameless: Cell::default() }
    }

    pub(crate) fn logs(&self) -> &Logs {
        &self.gateway.logs
    }

    /// The end of the log, to show in a message.
    pub(crate) fn tail(&self) -> String {
        let raw = self.logs().raw();
        let lines: Vec<_> = raw.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    /// The event that ends the request.
    pub(crate) async fn end(&self, id: &Value) -> Event {
        let end = self.logs().wait_for_end(id).await;
        end.unwrap_or_else(|| panic!("no end of {id}:\n{}", self.tail()))
    }

    /// Waits until the gateway has seen a call.
    pub(crate) async fn begun(&self, id: &Value) {
        let begun = self.logs().wait_for_event(id, "tool_call_started").await;
        assert!(begun.is_some(), "no start of {id}:\n{}", self.tail());
    }

    /// A request has ended whose event has no id.
    pub(crate) fn count_nameless(&self) {
        self.nameless.set(self.nameless.get() + 1);
    }

    /// No event is about this id.
    pub(crate) fn forget(&self, id: &Value) {
        self.sent.borrow_mut().retain(|sent| sent != id);
    }

    /// That each request has ended once, and the log is fit to be shown.
    async fn finish(&self, whose: &str) {
        let sent = self.sent.take();
        for id in &sent {
            self.end(id).await;
        }
        let raw = self.logs().raw();
        for id in &sent {
            let ends = self.logs().terminal(id);
            assert_eq!(ends.len(), 1, "{whose}: {id} has ended as {ends:#?}");
        }
        let ends = self.logs().events().into_iter().filter(Event::is_terminal).count();
        let expected = sent.len() + self.nameless.get();
        assert_eq!(ends, expected, "{whose}: other events than requests:\n{}", self.tail());
        for line in raw.lines() {
            assert!(!line.contains(SECRET), "{whose}: the password is in the log:\n{line}");
            let is_json = serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object());
            assert!(is_json, "{whose}: a line that is no JSON: {line}");
        }
    }
}

/// A client of a gateway, or of the server itself.
pub(crate) struct Caller<'a> {
    pub(crate) session: Session,
    gate: Option<&'a Gate>,
}

impl<'a> Caller<'a> {
    /// A client that has said hello to the gateway.
    pub(crate) async fn through(gate: &'a Gate, revision: &'static str) -> Self {
        Self::open(&gate.address, Some(gate), revision).await
    }

    /// The same without a gateway between.
    pub(crate) async fn direct(bench: &Bench, revision: &'static str) -> Self {
        Self::open(bench.upstream.address(), None, revision).await
    }

    async fn open(address: &str, gate: Option<&'a Gate>, revision: &'static str) -> Self {
        let session = Session { address: address.to_owned(), revision, id: None };
        let mut caller = Self { session, gate };
        if revision == "2026-07-28" {
            return caller;
        }
        let (id, request) = caller.named(&caller.session.initialize());
        let answer = caller.send(&request).await;
        assert_eq!(answer.response.status(), 200, "{}", answer.text());
        if let Some(gate) = gate {
            let end = gate.end(&id).await;
            assert_eq!((&*end.message, &*end.level), ("request_completed", "DEBUG"), "{end:?}");
            assert_eq!(end.field("method"), Some("initialize"));
            assert_eq!(end.field("client_name"), Some("corpus"));
            let session = answer.header("mcp-session-id").map(|id| hashed(id.as_bytes()));
            assert_eq!(end.field("session"), session.as_deref(), "{end:?}");
        }
        caller.session.id = answer.header("mcp-session-id").map(str::to_owned);
        if caller.session.id.is_some() {
            caller.notify("notifications/initialized", json!({})).await;
        }
        caller
    }

    /// Whether the server keeps a session for it.
    pub(crate) fn has_session(&self) -> bool {
        self.session.id.is_some()
    }

    /// A request with an id of its own in the place of the one that all cases have.
    pub(crate) fn named(&self, request: &Request<Bytes>) -> (Value, Request<Bytes>) {
        named_as(NEXT.fetch_add(1, Ordering::Relaxed), request, self.gate)
    }

    /// A call of a tool, and its id.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> (Value, Request<Bytes>) {
        self.named(&self.session.post(&self.session.tool(tool, arguments)))
    }

    pub(crate) async fn send(&self, request: &Request<Bytes>) -> Answer {
        self.send_until(request, |_| false).await
    }

    /// Leaves as soon as `enough` says so of the body.
    pub(crate) async fn send_until(
        &self,
        request: &Request<Bytes>,
        enough: impl Fn(&[u8]) -> bool,
    ) -> Answer {
        let answer = wire::exchange(&self.session.address, request, enough).await;
        answer.unwrap_or_else(|| panic!("no answer to {request:?}"))
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) -> Answer {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(&self.session.post(&message)).await
    }
}

/// Two requests, the same but for where they go, under one id: so their answers can be compared.
pub(crate) fn named_alike(
    direct: &Request<Bytes>,
    through: &Request<Bytes>,
    gate: &Gate,
) -> (Value, Request<Bytes>, Request<Bytes>) {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (_, direct) = named_as(number, direct, None);
    let (id, through) = named_as(number, through, Some(gate));
    (id, direct, through)
}

fn named_as(number: u64, request: &Request<Bytes>, gate: Option<&Gate>) -> (Value, Request<Bytes>) {
    let text = String::from_utf8_lossy(request.body()).into_owned();
    let (id, body) = if text.contains(r#""id":"seven""#) {
        let id = format!("seven-{number}");
        (json!(id), text.replacen(r#""id":"seven""#, &format!(r#""id":"{id}""#), 1))
    } else {
        (json!(number), text.replacen(r#""id":7"#, &format!(r#""id":{number}"#), 1))
    };
    if let Some(gate) = gate
        && serde_json::from_str::<Value>(&body).is_ok_and(|message| message["id"] == id)
    {
        gate.sent.borrow_mut().push(id.clone());
    }
    let (mut parts, _) = request.clone().into_parts();
    if parts.headers.contains_key("content-length") {
        parts.headers.insert("content-length", HeaderValue::from(body.len()));
    }
    (id, Request::from_parts(parts, Bytes::from(body)))
}
