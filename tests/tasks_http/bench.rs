//! A server of tasks that says what a test has it say, and what its clients ask for.
#![allow(dead_code, reason = "three test binaries use a part each")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::{
    kit::{Fake, Script, data, event, fake, json_response, line, post, response, sse_response},
    support::{Event, Logs},
};

/// What no client may read.
pub(crate) const SECRET: &str = "cannot open /srv/private/notes.db";

pub(crate) const DEFERRED: &str = "INFO tool_call_deferred deferred -";
pub(crate) const COMPLETED: &str = "INFO tool_call_completed completed -";
pub(crate) const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";
pub(crate) const SOFT: &str = "ERROR tool_call_failed soft_error soft_error";
pub(crate) const FAULT: &str = "ERROR tool_call_failed fault internal_error";
/// Of a request about a task, however that has ended.
pub(crate) const ANSWERED: &str = "DEBUG request_completed completed -";

/// A form of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// SEP-2663.
    Extension,
    /// 2025-11-25.
    Core,
}

impl Form {
    pub(crate) const ALL: [Self; 2] = [Self::Extension, Self::Core];

    /// The answer to this call: it goes on as a task.
    pub(crate) fn created(self, call: &Value, id: &str) -> String {
        self.created_for(call, id, Some(60_000))
    }

    /// The same, of a task that lives for so many milliseconds.
    pub(crate) fn created_for(self, call: &Value, id: &str, ttl: Option<u64>) -> String {
        let mut task = json!({
            "taskId": id,
            "status": "working",
            "createdAt": "2025-11-25T10:30:00Z",
            "lastUpdatedAt": "2025-11-25T10:30:00Z",
        });
        match self {
            Self::Extension => {
                task["resultType"] = json!("task");
                task["ttlMs"] = json!(ttl);
                result(&call["id"], &task)
            }
            Self::Core => {
                task["ttl"] = json!(ttl);
                result(&call["id"], &json!({ "task": task }))
            }
        }
    }

    /// The method by which a client learns what a task ended in.
    pub(crate) fn question(self) -> &'static str {
        match self {
            Self::Extension => "tasks/get",
            Self::Core => "tasks/result",
        }
    }

    /// The answer to that: it failed with what no client may read.
    pub(crate) fn failed(self, question: &Value, id: &str) -> String {
        match self {
            Self::Extension => result(&question["id"], &failed(id)),
            Self::Core => crate::kit::error(&question["id"], -32603, SECRET),
        }
    }

    pub(crate) fn notification(self, params: &Value) -> String {
        let method = match self {
            Self::Extension => "notifications/tasks",
            Self::Core => "notifications/tasks/status",
        };
        json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
    }
}

/// An answer that is this result.
pub(crate) fn result(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// A task that has this status, with more of its members.
pub(crate) fn state(id: &str, status: &str, more: Value) -> Value {
    let mut state = json!({
        "taskId": id,
        "status": status,
        "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:01Z",
    });
    let Value::Object(more) = more else { panic!("no members: {more}") };
    state.as_object_mut().unwrap().extend(more);
    state
}

/// A task of the extension that failed with what no client may read.
pub(crate) fn failed(id: &str) -> Value {
    state(id, "failed", json!({ "error": { "code": -32603, "message": SECRET } }))
}

/// A result in which the default classifier finds a failure.
pub(crate) fn soft() -> Value {
    let content = json!([{ "type": "text", "text": "done" }]);
    json!({ "content": content, "structuredContent": { "status": "failed", "error": "disk full" } })
}

/// An id that no other task of this process has: the memory of the layers is one for all.
pub(crate) fn fresh_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("http-task-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How HTTP carries an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carrier {
    pub(crate) is_sse: bool,
    pub(crate) pace: Pace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    /// A few bytes at a time.
    InPieces,
    /// In two parts, neither of which is there when it is first asked for.
    Late,
}

impl Carrier {
    pub(crate) const ALL: [Self; 6] = [
        Self { is_sse: false, pace: Pace::AtOnce },
        Self { is_sse: false, pace: Pace::InPieces },
        Self { is_sse: false, pace: Pace::Late },
        Self { is_sse: true, pace: Pace::AtOnce },
        Self { is_sse: true, pace: Pace::InPieces },
        Self { is_sse: true, pace: Pace::Late },
    ];
    pub(crate) const SSE: [Self; 3] = [Self::ALL[3], Self::ALL[4], Self::ALL[5]];

    /// A message as a response.
    pub(crate) fn carry(self, message: &str) -> Response<Script> {
        match self.is_sse {
            true => self.respond(event(message)),
            false => self.respond(message.to_owned()),
        }
    }

    /// Any body as a response.
    pub(crate) fn respond(self, body: impl Into<Bytes>) -> Response<Script> {
        let body = body.into();
        let script = match self.pace {
            Pace::AtOnce if !self.is_sse => return json_response(body),
            Pace::AtOnce => Script::whole(body),
            Pace::InPieces => Script::of(body.chunks(7).map(|piece| data(piece.to_vec()))),
            Pace::Late => late(&body),
        };
        match self.is_sse {
            true => sse_response(script),
            false => response("application/json", script),
        }
    }
}

fn late(body: &Bytes) -> Script {
    let (pen, script) = Script::new();
    let parts = [body.slice(..body.len() / 2), body.slice(body.len() / 2..)];
    tokio::spawn(async move {
        for part in parts {
            tokio::task::yield_now().await;
            let _ = pen.send(data(part));
        }
    });
    script
}

/// A server that answers each request by its method, and `GET` by that.
pub(crate) fn server(
    say: impl Fn(&str, &Value) -> Response<Script> + Send + Sync + 'static,
) -> Fake {
    let say = Arc::new(say);
    fake(move |request| {
        let say = Arc::clone(&say);
        async move {
            let (parts, body) = request.into_parts();
            if parts.method == http::Method::GET {
                return Ok(say("GET", &Value::Null));
            }
            let message = body.collect().await?.to_bytes();
            // What is encoded, or too long, is none of a test's business.
            let message: Value = serde_json::from_slice(&message).unwrap_or_default();
            let first = message.get(0).unwrap_or(&message);
            Ok(say(first["method"].as_str().unwrap_or_default(), &message))
        }
    })
}

/// The text of a request.
pub(crate) fn question(id: u32, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A request.
pub(crate) fn ask(id: u32, method: &str, params: &Value) -> Request<Full<Bytes>> {
    post(question(id, method, params))
}

/// A request about a task.
pub(crate) fn ask_for(id: u32, method: &str, task: &str) -> Request<Full<Bytes>> {
    ask(id, method, &json!({ "taskId": task }))
}

/// Opens the stream of what the server sends by itself.
pub(crate) fn listen() -> Request<Full<Bytes>> {
    Request::get("/mcp")
        .header(header::ACCEPT, "text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .body(Full::default())
        .unwrap()
}

/// The same request, in a session.
pub(crate) fn of_session<B>(session: &str, mut request: Request<B>) -> Request<B> {
    request.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    request
}

/// The events about a task as a call of a tool.
pub(crate) fn told(logs: &Logs, id: &str) -> Vec<Event> {
    let mut told = logs.of_target("tower_outcome");
    told.retain(|it| it.message.starts_with("tool_") && it.field("task_id") == Some(id));
    told
}

/// The same, in short.
pub(crate) fn told_lines(logs: &Logs, id: &str) -> Vec<String> {
    told(logs, id).iter().map(line).collect()
}

/// The one event that tells how a task has ended, which must be there, be the only one beside that
/// of its creation, and belong to the same call.
pub(crate) fn end_of(logs: &Logs, id: &str) -> Event {
    let told = told(logs, id);
    let [deferred, end] = &*told else { panic!("{id}: {told:#?}") };
    assert_eq!(line(deferred), DEFERRED, "{told:#?}");
    for field in ["call_id", "tool"] {
        assert!(end.field(field).is_some(), "no {field}: {end:?}");
        assert_eq!(end.field(field), deferred.field(field), "{told:#?}");
    }
    end.clone()
}
