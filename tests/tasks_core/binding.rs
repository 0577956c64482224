//! A protocol library that is made up, and its binding: JSON-RPC messages as they are.

use std::{
    borrow::Cow,
    convert::Infallible,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tower::Service;
use tower_outcome::{
    Call, Declaration, Declared, Kind, McpReply, McpRequest, Origin, Rendering, RequestId, Scoped,
    Session,
    binding::{Answer, ErrorView, NeverGone, NewTask, ResultView, TaskForm, TaskStatus, TaskView},
};

use crate::server::Server;

/// A message, on its way through the layers.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) message: Value,
    /// Who has sent it: a connection, or a session of HTTP.
    pub(crate) session: String,
    /// Of the HTTP request that carried it.
    pub(crate) http: Option<http::Extensions>,
    call: Option<Call>,
}

impl Request {
    pub(crate) fn new(message: Value, session: &str, http: Option<http::Extensions>) -> Self {
        Self { message, session: session.to_owned(), http, call: None }
    }

    fn named(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }
}

impl McpRequest for Request {
    type Reply = Reply;
    type Gone = NeverGone;

    fn kind(&self) -> Kind {
        match (self.named(), self.message.get("id")) {
            (_, None) => Kind::Notification,
            ("tools/call", _) => Kind::ToolCall,
            _ => Kind::Request,
        }
    }

    fn method(&self) -> Cow<'static, str> {
        self.named().to_owned().into()
    }

    fn tool(&self) -> Option<&str> {
        self.message["params"]["name"].as_str().filter(|_| self.named() == "tools/call")
    }

    fn id(&self) -> Option<RequestId> {
        self.message["id"].as_i64().map(RequestId::Number)
    }

    fn task_id(&self) -> Option<&str> {
        let asks = matches!(self.named(), "tasks/get" | "tasks/result" | "tasks/cancel");
        self.message["params"]["taskId"].as_str().filter(|_| asks)
    }

    fn origin(&self) -> Origin {
        let mut origin = Origin::default();
        origin.session = Some(Session::from_id(self.session.as_bytes()));
        origin
    }

    fn call(&self) -> Option<&Call> {
        self.call.as_ref()
    }

    fn set_call(&mut self, call: Call) {
        self.call = Some(call);
    }

    fn outer_call(&mut self) -> Option<Call> {
        Call::current().or_else(|| self.http.as_ref()?.get::<Call>().cloned())
    }

    fn gone(&self) -> NeverGone {
        NeverGone
    }
}

/// What a message is answered with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Result(Map<String, Value>),
    Error(Map<String, Value>),
    Handled,
}

impl Reply {
    /// The result, or the error, that a handler has made.
    pub(crate) fn of(outcome: Result<Value, Value>) -> Self {
        match outcome {
            Ok(Value::Object(result)) => Self::Result(result),
            Err(Value::Object(error)) => Self::Error(error),
            other => panic!("no result and no error: {other:?}"),
        }
    }

    /// The message that goes to the client, if one does.
    pub(crate) fn into_message(self, id: &Value) -> Option<Value> {
        Some(match self {
            Self::Result(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Self::Error(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
            Self::Handled => return None,
        })
    }
}

impl McpReply for Reply {
    fn answer(&self) -> Answer<'_> {
        let result = match self {
            Self::Result(result) => result,
            Self::Error(error) => return Answer::Error(ErrorView::of_json(error)),
            Self::Handled => return Answer::Nothing,
        };
        if let Some(Value::Object(task)) = result.get("task") {
            let id = task.get("taskId").and_then(Value::as_str);
            let form = TaskForm::Core;
            return Answer::Deferred(id.map(|id| NewTask { id, ttl: ttl(task), form }));
        }
        match (result.get("taskId"), result.get("status")) {
            (Some(Value::String(id)), Some(Value::String(status))) => Answer::Task(TaskView {
                id: Some(id),
                status: TaskStatus::from_name(status),
                message: result.get("statusMessage").and_then(Value::as_str),
                ttl: ttl(result),
                end: None,
            }),
            _ => Answer::Result(ResultView::of_json(result)),
        }
    }

    fn failure(kind: Kind, _: Option<&RequestId>, rendering: Rendering) -> Self {
        match kind {
            Kind::ToolCall => Self::of(Ok(failed_result(rendering))),
            Kind::Notification => Self::Handled,
            _ => {
                let code = match rendering.declaration.outcome {
                    Declared::Fault => -32603,
                    _ => -32602,
                };
                let data = json!({ Declaration::KEY: rendering.declaration.to_value() });
                Self::of(Err(json!({ "code": code, "message": rendering.text, "data": data })))
            }
        }
    }

    fn with_task_end(self, id: Option<&RequestId>, rendering: Rendering) -> Self {
        match self {
            // Of this form an answer has nothing else of the end.
            Self::Result(mut task) => {
                task.insert("statusMessage".into(), rendering.text.into());
                Self::Result(task)
            }
            _ => Self::failure(Kind::Request, id, rendering),
        }
    }
}

fn ttl(task: &Map<String, Value>) -> Option<Duration> {
    task.get("ttl").and_then(Value::as_u64).map(Duration::from_millis)
}

/// A failure as a tool's result: one text, and the record.
pub(crate) fn failed_result(rendering: Rendering) -> Value {
    let mut meta = json!({ Declaration::KEY: rendering.declaration.to_value() });
    if let Some(id) = rendering.related_task {
        meta["io.modelcontextprotocol/related-task"] = json!({ "taskId": id });
    }
    json!({
        "content": [{ "type": "text", "text": rendering.text }],
        "isError": true,
        "_meta": meta,
    })
}

/// The innermost service: what runs the handler, in the scope of the call.
#[derive(Clone)]
pub(crate) struct Leaf(pub(crate) Server);

impl Service<Request> for Leaf {
    type Response = Reply;
    type Error = Infallible;
    type Future = Scoped<BoxFuture<'static, Result<Reply, Infallible>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (kind, call) = (request.kind(), request.call.clone());
        let server = self.0.clone();
        let handler = async move { Ok(server.handle(&request.session, &request.message).await) };
        Scoped::new(call, kind, Box::pin(handler))
    }
}
