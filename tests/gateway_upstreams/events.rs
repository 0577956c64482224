//! What the gateway logs.

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{bench::Caller, corpus, logs::Event};

/// The password that the tools' exceptions have in their text.
pub(crate) const SECRET: &str = "hunter2";

/// The name, outcome, code and level of an event.
pub(crate) type Summary = (String, Option<String>, Option<String>, String);

pub(crate) fn summary(event: &Event) -> Summary {
    let ends = event.is_terminal();
    let field = |name| event.field(name).filter(|_| ends).map(str::to_owned);
    (event.message.clone(), field("outcome"), field("code"), event.level.clone())
}

/// The same of what the corpus expects.
pub(crate) fn expected(event: &corpus::Event) -> Summary {
    (event.name.clone(), event.outcome.clone(), event.code.clone(), event.level.clone())
}

/// How an undisturbed call fails, or a disturbed one ends.
pub(crate) fn of_tool(name: &str, outcome: &str, code: Option<&str>, level: &str) -> Summary {
    (name.to_owned(), Some(outcome.to_owned()), code.map(str::to_owned), level.to_owned())
}

pub(crate) fn failed(outcome: &str, code: &str, level: &str) -> Summary {
    of_tool("tool_call_failed", outcome, Some(code), level)
}

/// That an event has the facts of the request that it is about. `begun` is the session that the
/// answer names, where the request names none.
pub(crate) fn assert_facts(
    case: &str,
    event: &Event,
    request: &Request<Bytes>,
    caller: &Caller<'_>,
    begun: Option<&str>,
) {
    let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let tool = message["params"]["name"].as_str();
    if event.message.starts_with("tool_call_") {
        assert_eq!(event.field("tool"), tool, "{case}: {event:?}");
    } else if let Some(method) = message["method"].as_str() {
        assert_eq!(event.field("method"), Some(method), "{case}: {event:?}");
    }
    assert_eq!(event.field("transport"), Some("http"), "{case}: {event:?}");
    assert!(event.field("call_id").is_some_and(|id| !id.is_empty()), "{case}: {event:?}");
    let took = event.fields.get("duration_ms").and_then(Value::as_f64);
    assert!(took.is_some_and(|took| took > 0.0), "{case}: {event:?}");
    let session = request.headers().get("mcp-session-id").map(|id| id.as_bytes());
    let session = session.or(begun.map(str::as_bytes)).map(hashed);
    assert_eq!(event.field("session"), session.as_deref(), "{case}: {event:?}");
    // Nobody can tell whose it is what cannot be read.
    if event.fields.contains_key("request_id") {
        let client = client(&message, request, caller);
        assert_eq!(event.field("client_name"), client, "{case}: {event:?}");
    }
}

/// Who the client says that it is: in the request, or when its session began.
fn client(message: &Value, request: &Request<Bytes>, caller: &Caller<'_>) -> Option<&'static str> {
    let meta = &message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"];
    let said = meta.is_object() || message["method"] == "initialize";
    let session = request.headers().get("mcp-session-id").and_then(|id| id.to_str().ok());
    let is_known = session.is_some() && session == caller.session.id.as_deref();
    (said || is_known).then_some("corpus")
}

/// How a session's id is logged.
pub(crate) fn hashed(id: &[u8]) -> String {
    Sha256::digest(id).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
