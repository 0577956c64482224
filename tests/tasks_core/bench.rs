//! The server in the layers, and a client of it: typed, over HTTP, and both.

use std::{
    cell::{Cell, RefCell},
    convert::Infallible,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures::future::{BoxFuture, LocalBoxFuture};
use http::Response;
use http_body::Body;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use serde_json::{Value, json};
use tower::{BoxError, Layer as _, Service, ServiceExt as _};
use tower_outcome::OutcomeLayer;
use tracing::subscriber::DefaultGuard;

use crate::{
    binding::{Leaf, Reply, Request},
    kit::{
        Fake, Script, assert_length, data, event, fake, guarded, json_response, line, post, read,
        sse_response,
    },
    server::Server,
    support::{Event, Logs},
};

/// Where the layers are, and how HTTP answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Round the typed service alone.
    Typed,
    /// Round the HTTP service alone.
    Json,
    Sse,
    /// Round the HTTP service and round the typed one in it.
    Both,
    BothSse,
}

impl Way {
    pub(crate) const ALL: [Self; 5] =
        [Self::Typed, Self::Json, Self::Sse, Self::Both, Self::BothSse];
    pub(crate) const HTTP: [Self; 4] = [Self::Json, Self::Sse, Self::Both, Self::BothSse];

    /// Whether no layer is near the handler.
    pub(crate) fn is_outside(self) -> bool {
        matches!(self, Self::Json | Self::Sse)
    }

    fn speaks_events(self) -> bool {
        matches!(self, Self::Sse | Self::BothSse)
    }
}

/// What runs the handler behind an HTTP service.
type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Reply> + Send + Sync>;

type Typed = Rc<dyn Fn(Request) -> LocalBoxFuture<'static, Reply>>;
type Http = Rc<dyn Fn(http::Request<Full<Bytes>>) -> LocalBoxFuture<'static, HttpAnswer>>;
type HttpAnswer = Response<UnsyncBoxBody<Bytes, BoxError>>;

#[derive(Clone)]
pub(crate) enum Stack {
    Typed(Typed),
    Http(Http),
}

impl Stack {
    pub(crate) fn typed<S>(service: S) -> Self
    where
        S: Service<Request, Response = Reply, Error = Infallible, Future: 'static>
            + Clone
            + 'static,
    {
        Self::Typed(Rc::new(move |request| {
            let answer = service.clone().oneshot(request);
            Box::pin(async move { answer.await.unwrap() })
        }))
    }

    pub(crate) fn http<S, B>(service: S) -> Self
    where
        S: Service<http::Request<Full<Bytes>>, Response = Response<B>, Future: 'static>
            + Clone
            + 'static,
        S::Error: std::fmt::Debug,
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        Self::Http(Rc::new(move |request| {
            let answer = service.clone().oneshot(request);
            Box::pin(async move {
                answer.await.unwrap().map(|body| body.map_err(Into::into).boxed_unsync())
            })
        }))
    }

    /// These layers, where `way` has them.
    pub(crate) fn of(way: Way, layers: &OutcomeLayer, server: &Server) -> Self {
        match way {
            Way::Typed => Self::typed(layers.layer(Leaf(server.clone()))),
            _ => Self::http(layers.layer(http_service(way, layers, server))),
        }
    }
}

/// The server as an HTTP service, without layers round it.
pub(crate) fn http_service(way: Way, layers: &OutcomeLayer, server: &Server) -> Fake {
    let handler: Handler = if way.is_outside() {
        let server = server.clone();
        Arc::new(move |request| {
            let server = server.clone();
            // As in rmcp, in a task of its own, where no layer's call is in reach.
            let handled = async move { server.handle(&request.session, &request.message).await };
            Box::pin(async move { tokio::spawn(handled).await.unwrap() })
        })
    } else {
        let typed = layers.layer(Leaf(server.clone()));
        Arc::new(move |request| {
            let answer = typed.clone().oneshot(request);
            Box::pin(async move { answer.await.unwrap() })
        })
    };
    let server = server.clone();
    fake(move |request| {
        let (server, handler) = (server.clone(), Arc::clone(&handler));
        async move {
            let (parts, body) = request.into_parts();
            if parts.method == http::Method::GET {
                let (pen, script) = Script::new();
                server.listen(pen);
                return Ok(sse_response(script));
            }
            let message: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            let session = parts.headers.get("mcp-session-id").map(|id| id.to_str().unwrap());
            let session = session.unwrap_or_default().to_owned();
            let id = message["id"].clone();
            let reply = handler(Request::new(message, &session, Some(parts.extensions))).await;
            let Some(message) = reply.into_message(&id) else {
                return Ok(crate::kit::status(202, ""));
            };
            let text = message.to_string();
            Ok(match way.speaks_events() {
                true => sse_response(Script::of([data(":\n\n"), data(event(&text))])),
                false => json_response(text),
            })
        }
    })
}

/// A client, and with it what the server logs.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) way: Way,
    pub(crate) logs: Logs,
    stack: Stack,
    sessions: [String; 2],
    next_id: Cell<i64>,
    /// All that the client has read.
    received: RefCell<String>,
    _capture: DefaultGuard,
}

impl Bench {
    pub(crate) fn new(way: Way) -> Self {
        Self::with(way, &OutcomeLayer::new())
    }

    pub(crate) fn with(way: Way, layers: &OutcomeLayer) -> Self {
        let server = Server::default();
        let stack = Stack::of(way, layers, &server);
        Self::of(way, server, stack)
    }

    pub(crate) fn of(way: Way, server: Server, stack: Stack) -> Self {
        static BENCHES: AtomicU64 = AtomicU64::new(1);
        let bench = BENCHES.fetch_add(1, Ordering::Relaxed);
        let (logs, capture) = Logs::capture();
        Self {
            server,
            way,
            logs,
            stack,
            sessions: [format!("bench-{bench}-one"), format!("bench-{bench}-two")],
            next_id: Cell::new(1),
            received: RefCell::default(),
            _capture: capture,
        }
    }

    /// Sends a request on one of two connections. Gives the message that answers it.
    pub(crate) async fn ask(&self, session: usize, method: &str, params: Value) -> Value {
        self.ask_of(&self.stack, session, method, params).await
    }

    /// The same of another stack of layers.
    pub(crate) async fn ask_of(
        &self,
        stack: &Stack,
        session: usize,
        method: &str,
        params: Value,
    ) -> Value {
        let id = json!(self.next_id.replace(self.next_id.get() + 1));
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = match stack {
            Stack::Typed(stack) => {
                let reply = guarded(stack(Request::new(message, &self.sessions[session], None)));
                reply.await.into_message(&id).unwrap()
            }
            Stack::Http(stack) => {
                let answer = guarded(stack(self.post(session, &message))).await;
                let got = guarded(read(answer)).await;
                assert_eq!((got.status, &got.error), (200, &None), "{got:?}");
                assert_length(&got);
                self.received.borrow_mut().push_str(&got.text());
                got.message()
            }
        };
        assert_eq!(answer["id"], id, "{answer}");
        self.received.borrow_mut().push_str(&answer.to_string());
        answer
    }

    fn post(&self, session: usize, message: &Value) -> http::Request<Full<Bytes>> {
        let mut request = post(message.to_string());
        request.headers_mut().insert("mcp-session-id", self.sessions[session].parse().unwrap());
        request
    }

    /// Opens the stream of what the server sends by itself.
    pub(crate) async fn listen(&self, session: usize) -> HttpAnswer {
        let Stack::Http(stack) = &self.stack else { panic!("there is no stream") };
        let request = http::Request::get("/mcp")
            .header(http::header::ACCEPT, "text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .header("mcp-session-id", &self.sessions[session])
            .body(Full::default())
            .unwrap();
        guarded(stack(request)).await
    }

    /// Has a task created, of the tool `task`. Gives its id.
    pub(crate) async fn create(&self, arguments: Value, ttl: Option<u64>) -> String {
        self.create_of(&self.stack, "task", arguments, ttl).await
    }

    pub(crate) async fn create_of(
        &self,
        stack: &Stack,
        tool: &str,
        arguments: Value,
        ttl: Option<u64>,
    ) -> String {
        let task = ttl.map_or_else(|| json!({}), |ttl| json!({ "ttl": ttl }));
        let params = json!({ "name": tool, "arguments": arguments, "task": task });
        let answer = self.ask_of(stack, 0, "tools/call", params).await;
        let task = &answer["result"]["task"];
        assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(ttl)), "{answer}");
        task["taskId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn get(&self, session: usize, id: &str) -> Value {
        self.ask(session, "tasks/get", json!({ "taskId": id })).await
    }

    pub(crate) async fn result(&self, session: usize, id: &str) -> Value {
        self.ask(session, "tasks/result", json!({ "taskId": id })).await
    }

    pub(crate) async fn cancel(&self, session: usize, id: &str) -> Value {
        self.ask(session, "tasks/cancel", json!({ "taskId": id })).await
    }

    /// All that the client has read.
    pub(crate) fn received(&self) -> String {
        self.received.borrow().clone()
    }

    /// The events about a task as a call of a tool.
    pub(crate) fn told(&self, id: &str) -> Vec<Event> {
        told_of(&self.logs.events(), id)
    }

    /// The same, in short.
    pub(crate) fn told_lines(&self, id: &str) -> Vec<String> {
        self.told(id).iter().map(line).collect()
    }

    /// The one event that tells how a task has ended, which must be there and belong to the one
    /// that told of its creation.
    pub(crate) fn end_of(&self, id: &str) -> Event {
        let told = self.told(id);
        let [deferred, end] = &*told else { panic!("{:?}: {told:#?}", self.way) };
        assert_eq!(line(deferred), DEFERRED, "{:?}: {told:#?}", self.way);
        for field in ["call_id", "tool"] {
            assert!(end.field(field).is_some(), "{:?}, {field}: {end:?}", self.way);
            assert_eq!(end.field(field), deferred.field(field), "{:?}: {told:#?}", self.way);
        }
        end.clone()
    }

    /// The same, once it is there.
    pub(crate) async fn wait_for_end_of(&self, id: &str) -> Event {
        self.logs.wait_for(|events| (told_of(events, id).len() > 1).then_some(())).await;
        self.end_of(id)
    }

    /// Checks that so far no more is told of a task than that it was created.
    pub(crate) fn assert_open(&self, id: &str) {
        assert_eq!(self.told_lines(id), [DEFERRED], "{:?}", self.way);
    }
}

pub(crate) const DEFERRED: &str = "INFO tool_call_deferred deferred -";
pub(crate) const COMPLETED: &str = "INFO tool_call_completed completed -";
pub(crate) const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";
pub(crate) const FAULT: &str = "ERROR tool_call_failed fault internal_error";
/// Of a request about a task, however that has ended.
pub(crate) const ANSWERED: &str = "DEBUG request_completed completed -";

fn told_of(events: &[Event], id: &str) -> Vec<Event> {
    let is_told = |it: &&Event| {
        it.target == "tower_outcome"
            && it.field("task_id") == Some(id)
            && it.message.starts_with("tool_")
    };
    events.iter().filter(is_told).cloned().collect()
}

/// How long an event took, in milliseconds.
pub(crate) fn duration(event: &Event) -> f64 {
    event.fields["duration_ms"].as_f64().unwrap()
}
