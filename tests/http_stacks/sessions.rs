//! Sessions: answers that come on another connection, cancels, and the end of a session.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult as _,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _, ToolError};

use crate::{
    kit::{call_text, end_of, line, lines, post},
    support::Logs,
    wire::{connect, exchange, head, next, read_until, serve},
};

const COMPLETED: &str = "INFO tool_call_completed completed -";

/// Tools that end when the test lets them.
#[derive(Clone, Default)]
struct Gated {
    gate: Arc<Notify>,
}

impl ServerHandler for Gated {
    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.gate.notified().await;
        match &*params.name {
            "ok" => Ok(CallToolResult::success(vec![ContentBlock::text("fine")]).into()),
            "is_error" => Ok(CallToolResult::error(vec![ContentBlock::text("mine")]).into()),
            "internal" => Err(ErrorData::internal_error("SECRET", None)),
            "unknown" => ToolError::from(std::io::Error::other("SECRET")).into_call_tool_result(),
            _ => panic!("SECRET"),
        }
    }
}

/// A server with sessions, and what it logs.
struct Server {
    address: std::net::SocketAddr,
    gate: Arc<Notify>,
    logs: Logs,
    _capture: tracing::subscriber::DefaultGuard,
}

impl Server {
    /// With layers round the HTTP service, and round the handler where `both`.
    async fn start(both: bool) -> Self {
        let (logs, capture) = Logs::capture();
        let handler = Gated::default();
        let gate = Arc::clone(&handler.gate);
        let config = StreamableHttpServerConfig::default;
        let sessions = Arc::<LocalSessionManager>::default();
        let address = if both {
            let handler = handler.layered(OutcomeLayer::new());
            let service =
                StreamableHttpService::new(move || Ok(handler.clone()), sessions, config());
            serve(OutcomeLayer::new().route("/mcp").layer(service)).await
        } else {
            let service =
                StreamableHttpService::new(move || Ok(handler.clone()), sessions, config());
            serve(OutcomeLayer::new().route("/mcp").layer(service)).await
        };
        Self { address, gate, logs, _capture: capture }
    }

    /// A session, and a connection for it.
    async fn session(&self) -> Session {
        let mut sender = connect(self.address).await;
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "raw", "version": "0.1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let got = exchange(&mut sender, post(hello.to_string())).await;
        assert!(got.message()["result"].is_object(), "{got:?}");
        let session =
            Session { address: self.address, id: got.header("mcp-session-id").to_owned() };
        let said = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let got = exchange(&mut session.connect().await, session.post(said.to_string())).await;
        assert_eq!(got.status, 202);
        session
    }
}

struct Session {
    address: std::net::SocketAddr,
    id: String,
}

impl Session {
    async fn connect(&self) -> SendRequest<Full<Bytes>> {
        connect(self.address).await
    }

    fn with_id(&self, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
        request.headers_mut().insert("mcp-session-id", self.id.parse().unwrap());
        request
    }

    fn post(&self, text: impl Into<Bytes>) -> Request<Full<Bytes>> {
        self.with_id(post(text))
    }

    fn get(&self, last: Option<&str>) -> Request<Full<Bytes>> {
        let mut request = Request::get("/mcp")
            .header(header::ACCEPT, "text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .body(Full::default())
            .unwrap();
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        self.with_id(request)
    }

    fn delete(&self) -> Request<Full<Bytes>> {
        self.with_id(Request::delete("/mcp").body(Full::default()).unwrap())
    }

    /// Calls a tool, and hangs up once the stream can be taken up again. Gives the event's id.
    async fn call_and_leave(&self, id: u32, tool: &str) -> String {
        let mut sender = self.connect().await;
        let mut body = head(&mut sender, self.post(call_text(id, tool))).await.into_body();
        let primed = read_until(&mut body, "\n\n").await;
        let id = primed.lines().find_map(|line| line.strip_prefix("id:"));
        id.unwrap_or_else(|| panic!("no id in {primed}")).trim().to_owned()
    }

    /// Takes a stream up again. Gives its body once the server is at it.
    async fn resume(&self, last: &str) -> (SendRequest<Full<Bytes>>, Incoming) {
        let mut sender = self.connect().await;
        let body = head(&mut sender, self.get(Some(last))).await.into_body();
        (sender, body)
    }
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_that_comes_on_another_connection_is_one_end() {
    for both in [false, true] {
        for (tool, expected) in [
            ("ok", COMPLETED),
            ("is_error", "ERROR tool_call_failed undeclared undeclared_error"),
            ("internal", "ERROR tool_call_failed fault internal_error"),
        ] {
            let server = Server::start(both).await;
            let session = server.session().await;
            let last = session.call_and_leave(7, tool).await;
            settle().await;
            let (_sender, mut body) = session.resume(&last).await;
            server.gate.notify_one();
            let text = read_until(&mut body, "\"id\":7").await;
            assert!(!text.contains("SECRET"), "{both} {tool}: {text}");
            let end = end_of(&server.logs, &json!(7)).await;
            assert_eq!(line(&end), expected, "{both} {tool}");
            assert_eq!(end.field("client_name"), Some("raw"), "{both} {tool}: {end:?}");
            assert_eq!(end.field("route"), Some("/mcp"));
            // rmcp 3.11 replays nothing after the answer; what comes instead is no end.
            exchange(&mut session.connect().await, session.get(Some(&last))).await;
            settle().await;
            assert_eq!(server.logs.terminal(&json!(7)).len(), 1, "{both} {tool}");
            assert_eq!(
                server
                    .logs
                    .of_target("tower_outcome")
                    .iter()
                    .filter(|event| {
                        event.field("tool").is_some() && event.message.ends_with("_started")
                    })
                    .count(),
                1
            );
        }
    }
}

/// Nobody takes the stream up again: what is known further in is the end.
#[tokio::test]
async fn a_call_that_is_left_in_a_session_ends_as_it_ends_inside() {
    for (tool, expected) in [
        ("ok", COMPLETED),
        ("is_error", "ERROR tool_call_failed undeclared undeclared_error"),
        ("panic", "ERROR tool_call_failed fault panic"),
    ] {
        let server = Server::start(true).await;
        let session = server.session().await;
        session.call_and_leave(7, tool).await;
        settle().await;
        assert_eq!(server.logs.terminal(&json!(7)), [], "it goes on");
        server.gate.notify_one();
        assert_eq!(line(&end_of(&server.logs, &json!(7)).await), expected);
    }
}

#[tokio::test]
async fn a_cancel_in_a_session_is_one_however_it_goes_on() {
    for both in [false, true] {
        let server = Server::start(both).await;
        let session = server.session().await;
        let mut sender = session.connect().await;
        let mut body = head(&mut sender, session.post(call_text(7, "ok"))).await.into_body();
        read_until(&mut body, "\n\n").await;
        let params = json!({ "requestId": 7, "reason": "enough" });
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        let cancel = session.post(cancel.to_string());
        assert_eq!(exchange(&mut session.connect().await, cancel).await.status, 202);
        let end = end_of(&server.logs, &json!(7)).await;
        assert_eq!(line(&end), "INFO tool_call_cancelled cancelled -", "{both}");
        assert_eq!(end.field("reason"), Some("client_cancelled"));
        server.gate.notify_one();
        drop(body);
        settle().await;
        assert_eq!(server.logs.terminal(&json!(7)).len(), 1);
    }
}

#[tokio::test]
async fn a_cancel_of_another_sessions_request_is_none() {
    let server = Server::start(false).await;
    let (one, other) = (server.session().await, server.session().await);
    let mut sender = one.connect().await;
    let mut body = head(&mut sender, one.post(call_text(7, "ok"))).await.into_body();
    read_until(&mut body, "\n\n").await;
    let params = json!({ "requestId": 7 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    exchange(&mut other.connect().await, other.post(cancel.to_string())).await;
    server.gate.notify_one();
    read_until(&mut body, "\"id\":7").await;
    assert_eq!(line(&end_of(&server.logs, &json!(7)).await), COMPLETED);
}

#[tokio::test]
async fn the_end_of_a_session_ends_what_is_left_in_it() {
    for (both, has_left) in [(false, true), (true, true), (true, false), (false, false)] {
        let server = Server::start(both).await;
        let session = server.session().await;
        let mut sender = session.connect().await;
        let mut body = head(&mut sender, session.post(call_text(7, "ok"))).await.into_body();
        read_until(&mut body, "\n\n").await;
        let mut open = Some((body, sender));
        if has_left {
            open = None;
            settle().await;
        }
        let got = exchange(&mut session.connect().await, session.delete()).await;
        assert!(got.status < 300, "{got:?}");
        let end = end_of(&server.logs, &json!(7)).await;
        assert_eq!(line(&end), "INFO tool_call_abandoned abandoned -", "{both} {has_left}");
        assert_eq!(end.field("reason"), Some("session_ended"), "{both} {has_left}");
        drop(open);
    }
}

#[tokio::test]
async fn a_session_is_named_by_a_hash_and_knows_its_client() {
    let server = Server::start(false).await;
    let session = server.session().await;
    server.gate.notify_one();
    let mut sender = session.connect().await;
    exchange(&mut sender, session.post(call_text(7, "ok"))).await;
    let end = end_of(&server.logs, &json!(7)).await;
    let named = end.field("session").unwrap().to_owned();
    assert_eq!(named.len(), 16);
    assert!(named.chars().all(|digit| digit.is_ascii_hexdigit()));
    assert!(!server.logs.raw().contains(&session.id) || !tells_id(&server.logs, &session.id));
    let began = end_of(&server.logs, &json!(1)).await;
    assert_eq!(began.field("session"), Some(&*named), "of the session that begins with it");
    assert_eq!(began.field("client_name"), Some("raw"));
}

/// Whether a line of ours has the id of a session in it.
fn tells_id(logs: &Logs, id: &str) -> bool {
    logs.of_target("tower_outcome").iter().any(|event| format!("{event:?}").contains(id))
}

#[tokio::test]
async fn the_stream_of_what_a_server_sends_by_itself_is_no_event() {
    let server = Server::start(true).await;
    let session = server.session().await;
    let before = lines(&server.logs).len();
    let mut sender = session.connect().await;
    let mut body = head(&mut sender, session.get(None)).await.into_body();
    assert!(next(&mut body).await.is_some());
    drop((body, sender));
    settle().await;
    assert_eq!(lines(&server.logs).len(), before, "{:?}", lines(&server.logs));
}

/// The same id in another session, at the same time.
#[tokio::test]
async fn sessions_do_not_take_each_others_answers() {
    let server = Server::start(false).await;
    let (one, other) = (server.session().await, server.session().await);
    let last = one.call_and_leave(7, "ok").await;
    let last_of_other = other.call_and_leave(7, "is_error").await;
    let (_one, mut body) = one.resume(&last).await;
    let (_other, mut body_of_other) = other.resume(&last_of_other).await;
    server.gate.notify_waiters();
    let text = read_until(&mut body, "\"id\":7").await;
    assert!(text.contains("fine"), "{text}");
    let text = read_until(&mut body_of_other, "\"id\":7").await;
    assert!(text.contains("mine"), "{text}");
    let ends: Vec<Value> =
        server.logs.terminal(&json!(7)).iter().map(|end| json!(line(end))).collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(ends.contains(&json!(COMPLETED)), "{ends:?}");
}
