//! What is asked of every server.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request};
use serde_json::{Value, json};

use crate::{
    upstream::{Kind, Mode},
    wire::{self, Answer},
};

const BOTH: &str = "application/json, text/event-stream";
const PASSWORD: &str = "cannot connect to postgres://svc:hunter2@db/prod";

/// A client that has said hello.
pub(crate) struct Session {
    pub(crate) address: String,
    pub(crate) revision: &'static str,
    pub(crate) id: Option<String>,
}

impl Session {
    /// Initializes, where the revision has that.
    pub(crate) async fn open(address: &str, revision: &'static str) -> Self {
        let mut session = Self { address: address.to_owned(), revision, id: None };
        if revision != "2026-07-28" {
            let answer = session.send(&session.initialize()).await;
            session.id = answer.header("mcp-session-id").map(str::to_owned);
            if session.id.is_some() {
                session.send(&session.post(&notification("notifications/initialized"))).await;
            }
        }
        session
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.send(&self.post(&self.tool(tool, arguments))).await
    }

    pub(crate) async fn send(&self, request: &Request<Bytes>) -> Answer {
        let answer = wire::exchange(&self.address, request, |_| false).await;
        answer.unwrap_or_else(|| panic!("no answer to {request:?}"))
    }

    pub(crate) fn initialize(&self) -> Request<Bytes> {
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": {},
            "clientInfo": { "name": "corpus", "version": "1" },
        });
        let mut request = self.post(&self.message("initialize", params));
        request.headers_mut().remove("mcp-protocol-version");
        request
    }

    /// A request as the revision wants it.
    fn message(&self, method: &str, mut params: Value) -> Value {
        if self.revision == "2026-07-28" {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(self.revision);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "corpus", "version": "1" });
        }
        json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
    }

    pub(crate) fn tool(&self, tool: &str, arguments: Value) -> Value {
        self.message("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub(crate) fn post(&self, message: &Value) -> Request<Bytes> {
        let mut request = self.post_text(&message.to_string());
        if self.revision == "2026-07-28" {
            let headers = request.headers_mut();
            for (name, value) in
                [("mcp-method", &message["method"]), ("mcp-name", &message["params"]["name"])]
            {
                if let Some(value) = value.as_str() {
                    headers.insert(name, HeaderValue::from_str(value).expect("ASCII"));
                }
            }
        }
        request
    }

    fn post_text(&self, body: &str) -> Request<Bytes> {
        let mut request = self.bare(Method::POST, body);
        request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
        request.headers_mut().insert(
            "content-length",
            HeaderValue::from_str(&body.len().to_string()).expect("ASCII"),
        );
        request
    }

    fn bare(&self, method: Method, body: &str) -> Request<Bytes> {
        let mut request = Request::new(Bytes::copy_from_slice(body.as_bytes()));
        *request.method_mut() = method;
        *request.uri_mut() = "/mcp".parse().expect("a path");
        let headers = request.headers_mut();
        headers.insert("host", HeaderValue::from_str(&self.address).expect("ASCII"));
        headers.insert("accept", HeaderValue::from_static(BOTH));
        headers.insert("mcp-protocol-version", HeaderValue::from_static(self.revision));
        if let Some(id) = &self.id {
            headers.insert("mcp-session-id", HeaderValue::from_str(id).expect("ASCII"));
        }
        request
    }

    /// Resumes the stream whose last event had this id.
    pub(crate) fn resume(&self, last: &str) -> Request<Bytes> {
        let mut request = self.bare(Method::GET, "");
        request.headers_mut().insert("accept", HeaderValue::from_static("text/event-stream"));
        with(request, "last-event-id", last)
    }

    fn delete(&self) -> Request<Bytes> {
        self.bare(Method::DELETE, "")
    }
}

fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

fn with(mut request: Request<Bytes>, name: &'static str, value: &str) -> Request<Bytes> {
    let value = HeaderValue::from_str(value).expect("a header's value");
    request.headers_mut().insert(HeaderName::from_static(name), value);
    request
}

fn without(mut request: Request<Bytes>, name: &'static str) -> Request<Bytes> {
    request.headers_mut().remove(name);
    request
}

/// The cases of a mode and a revision, by name.
pub(crate) fn all(
    kind: Kind,
    mode: Mode,
    session: &Session,
) -> Vec<(&'static str, Request<Bytes>)> {
    if session.revision == "2025-03-26" {
        return vec![("batch", batch(session))];
    }
    let mut cases = tools(kind, session);
    match (mode, session.revision) {
        (_, "2026-07-28") => cases.extend([requests(session), only_2026(session)].concat()),
        (Mode::Stateful, _) => cases.extend([requests(session), only_stateful(session)].concat()),
        // Beside tools, the form of answers makes no difference.
        _ => {}
    }
    cases
}

/// Each tool; rmcp's have names of their own.
fn tools(kind: Kind, session: &Session) -> Vec<(&'static str, Request<Bytes>)> {
    let call = |tool, arguments| session.post(&session.tool(tool, arguments));
    let raise =
        |code: i64, text: &str| call("fail_protocol", json!({ "code": code, "message": text }));
    let progress = |arguments| {
        let mut message = session.tool("progress", arguments);
        message["params"]["_meta"]["progressToken"] = json!("token");
        session.post(&message)
    };
    let failure = |outcome: &str, code: &str| json!({ "outcome": outcome, "code": code });
    let leveled = json!({ "outcome": "fault", "code": "index_corrupt", "level": "warn" });
    let mut cases = vec![
        ("ok", call("ok", json!({ "text": "größe" }))),
        ("fail-is-error", call("fail_is_error", json!({ "text": "it did not work" }))),
        ("fail-protocol-own", raise(1234, "an error of the author's own")),
        ("fail-protocol-internal", raise(-32603, PASSWORD)),
        ("fail-protocol-listed", raise(-32602, "not like this")),
        ("unknown-tool", call("no_such_tool", json!({}))),
        ("arguments-no-object", call("ok", json!("text"))),
    ];
    if matches!(kind, Kind::Python1 | Kind::Python2 | Kind::FastMcp1 | Kind::FastMcp2) {
        cases.push(("fail-validation", call("fail_validation", json!({}))));
    }
    if kind == Kind::Rmcp {
        cases.extend([
            ("fail-raise", call("fail_internal", json!({ "text": PASSWORD }))),
            ("bad-arguments", call("slow", json!({ "ms": "many" }))),
            ("missing-arguments", call("slow", json!({}))),
            ("progress", progress(json!({ "n": 2, "then": "ok" }))),
            ("declared-stale", call("fail_declared", failure("stale", "version_conflict"))),
            ("declared-level", call("fail_declared", leveled)),
        ]);
    } else {
        cases.extend([
            ("fail-raise", call("fail_raise", json!({}))),
            ("bad-arguments", call("bad_arguments", json!({ "count": "many" }))),
            ("missing-arguments", call("bad_arguments", json!({}))),
            ("progress", progress(json!({ "n": 2 }))),
            ("declared-stale", call("declared", failure("stale", "version_conflict"))),
            ("declared-level", call("declared", leveled)),
        ]);
    }
    cases
}

/// What is no call of a tool.
fn requests(session: &Session) -> Vec<(&'static str, Request<Bytes>)> {
    let request = |method| session.post(&session.message(method, json!({})));
    let ok = || session.post(&session.tool("ok", json!({})));
    let mut nameless = session.message("tools/call", json!({ "arguments": {} }));
    nameless["id"] = json!("seven");
    vec![
        ("tools-list", request("tools/list")),
        ("unknown-method", request("no/such")),
        ("call-without-a-name", session.post(&nameless)),
        ("no-json", session.post_text(r#"{"jsonrpc":"2.0","id":7,"method":"#)),
        ("no-request", session.post_text(r#"{"jsonrpc":"2.0","id":7}"#)),
        ("notification", session.post(&notification("notifications/roots/list_changed"))),
        ("accept-missing", without(ok(), "accept")),
        ("content-type-wrong", with(ok(), "content-type", "text/plain")),
        ("version-unknown", with(ok(), "mcp-protocol-version", "2001-01-01")),
    ]
}

fn only_stateful(session: &Session) -> Vec<(&'static str, Request<Bytes>)> {
    let ok = || session.post(&session.tool("ok", json!({})));
    vec![
        ("initialize", without(session.initialize(), "mcp-session-id")),
        ("session-wrong", with(ok(), "mcp-session-id", "00000000-0000-0000-0000-000000000000")),
        ("session-missing", without(ok(), "mcp-session-id")),
        ("get-session-wrong", with(session.resume("1"), "mcp-session-id", "none-such")),
        ("exit", session.post(&session.tool("exit", json!({})))),
    ]
}

fn only_2026(session: &Session) -> Vec<(&'static str, Request<Bytes>)> {
    let ok = || session.post(&session.tool("ok", json!({})));
    let discover = session.message("server/discover", json!({}));
    let mut bare = session.tool("ok", json!({}));
    bare["params"]["_meta"] = json!({});
    vec![
        ("discover", session.post(&discover)),
        ("method-header-missing", without(ok(), "mcp-method")),
        ("name-header-missing", without(ok(), "mcp-name")),
        ("name-header-wrong", with(ok(), "mcp-name", "big")),
        ("meta-missing", session.post(&bare)),
        ("get", session.resume("1")),
    ]
}

/// Three requests and a notification; only 2025-03-26 has these.
fn batch(session: &Session) -> Request<Bytes> {
    let mut messages = [
        session.tool("ok", json!({})),
        session.tool("fail_is_error", json!({ "text": "it did not work" })),
        session.tool("no_such_tool", json!({})),
        notification("notifications/roots/list_changed"),
    ];
    for (id, message) in (1..=3).zip(&mut messages) {
        message["id"] = json!(id);
    }
    session.post_text(&json!(messages).to_string())
}

/// Ends the session.
pub(crate) fn delete(session: &Session) -> Request<Bytes> {
    session.delete()
}
