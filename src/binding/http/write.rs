//! The answers that the layers give in a server's place.

use std::borrow::Cow;

use bytes::Bytes;
use http::{
    HeaderValue, StatusCode,
    header::{
        ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH,
        CONTENT_LOCATION, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED,
        RETRY_AFTER, TRAILER, TRANSFER_ENCODING,
    },
    response::Parts,
};
use serde_json::{Value, json};

use super::{answer::raw, request::Id};
use crate::{
    binding::RELATED_TASK,
    call::Kind,
    tool_error::{Declaration, Rendering},
};

/// What is said of a body that is replaced.
const OF_THE_BODY: [HeaderName; 13] = [
    ACCEPT_RANGES,
    CONTENT_DISPOSITION,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_LOCATION,
    CONTENT_RANGE,
    CONTENT_TYPE,
    ETAG,
    LAST_MODIFIED,
    RETRY_AFTER,
    TRAILER,
    TRANSFER_ENCODING,
];

/// The message that tells a failure: an `isError` result of a tool call, an error of anything else.
pub(super) fn failure(
    kind: Kind,
    id: Option<&Id>,
    is_modern: bool,
    rendering: &Rendering,
) -> String {
    // An id is echoed as it came, whatever JSON it is.
    let id = id.map_or("null", |id| &*id.json);
    if kind == Kind::ToolCall {
        let result = result(is_modern, rendering);
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    }
    let error = error(rendering);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

fn result(is_modern: bool, rendering: &Rendering) -> Value {
    let mut meta = record(rendering);
    if let (Some(id), Value::Object(meta)) = (&rendering.related_task, &mut meta) {
        meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": id }));
    }
    let mut result = json!({
        "content": [{ "type": "text", "text": rendering.text }],
        "isError": true,
        "_meta": meta,
    });
    if is_modern && let Value::Object(result) = &mut result {
        result.insert("resultType".to_owned(), "complete".into());
    }
    result
}

fn error(rendering: &Rendering) -> Value {
    json!({ "code": -32603, "message": rendering.text, "data": record(rendering) })
}

fn record(rendering: &Rendering) -> Value {
    json!({ Declaration::KEY: rendering.declaration.to_value() })
}

/// `message`, in whose member `at` there is a task, with `rendering` in the place of what that ended
/// in and of what it says of its status. `None` of what is no such message.
pub(super) fn with_task_end(
    message: &[u8],
    at: &str,
    is_modern: bool,
    rendering: &Rendering,
) -> Option<String> {
    let message = raw::members(message)?.into_iter().map(|(key, value)| {
        let value = match key == at {
            true => task_with_end(value.get().as_bytes(), is_modern, rendering)?,
            false => value.get().to_owned(),
        };
        Some((key, value))
    });
    message.collect::<Option<Vec<_>>>().map(object)
}

/// A notification of which no more is known than which task it is of, and that it failed.
pub(super) fn failed_task(method: &str, id: &str) -> String {
    let params = json!({ "taskId": id, "status": "failed" });
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn task_with_end(task: &[u8], is_modern: bool, rendering: &Rendering) -> Option<String> {
    let task = raw::members(task)?.into_iter().map(|(key, value)| {
        let value = match &*key {
            "result" => result(is_modern, rendering).to_string(),
            "error" => error(rendering).to_string(),
            "statusMessage" => Value::from(&*rendering.text).to_string(),
            _ => value.get().to_owned(),
        };
        (key, value)
    });
    Some(object(task.collect()))
}

/// An object of these members, whose values are JSON.
fn object(members: Vec<(Cow<'_, str>, String)>) -> String {
    let members = members.iter().map(|(key, value)| format!("{}:{value}", Value::from(&**key)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// A message as an event of a stream. Line breaks in JSON, which an id of the client's may have, are
/// white space.
pub(super) fn event(message: &str) -> String {
    format!("event: message\ndata: {}\n\n", message.replace(['\n', '\r'], " "))
}

/// Several messages as one body.
pub(super) fn batch(messages: &[String]) -> String {
    format!("[{}]", messages.join(","))
}

/// Makes a head one of an answer of ours.
pub(super) fn answer_head(parts: &mut Parts, body: &Bytes, is_json: bool) {
    parts.status = StatusCode::OK;
    for name in OF_THE_BODY {
        parts.headers.remove(name);
    }
    let media_type = if is_json { "application/json" } else { "text/event-stream" };
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if is_json {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
}

/// The head where there is nothing that could be answered.
pub(super) fn empty_head(parts: &mut Parts) {
    parts.status = StatusCode::INTERNAL_SERVER_ERROR;
    for name in OF_THE_BODY {
        parts.headers.remove(name);
    }
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
}
