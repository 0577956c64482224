//! A first guess at what a new exchange means, by what was asked. A person reads and corrects it
//! in the file.

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::{
    corpus::{Client, Ends, Event, Expected},
    wire::Answer,
};

pub(crate) fn of(name: &str, request: &Request<Bytes>, answer: &Answer) -> Expected {
    let asked = serde_json::from_slice::<Value>(request.body()).unwrap_or_default();
    let mut expected = Expected { ends: answer.ends, ..Expected::default() };
    let messages = messages(answer);
    match &asked {
        Value::Array(batch) => {
            for message in batch {
                expected.events.extend(event(name, message, &messages, answer));
            }
        }
        Value::Object(_) => expected.events.extend(event(name, &asked, &messages, answer)),
        _ if request.method() == "POST" => {
            expected.events.extend(event(name, &Value::Null, &messages, answer));
        }
        _ => {}
    }
    let is_fault = |event: &Event| event.outcome.as_deref() == Some("fault");
    if expected.events.iter().any(|event| event.code.as_deref() == Some("upstream_error")) {
        expected.client = Client::Appended;
    } else if expected.events.iter().any(|event| is_fault(event) && !name.contains("declared")) {
        expected.client = Client::Replaced;
    }
    if name.ends_with("answer-later") {
        expected.events.clear();
        expected.pending.push("7".to_owned());
        expected.client = Client::Unchanged;
    }
    if name.ends_with("resumed") {
        expected.events = vec![ended("tool_call_completed", "completed", "-", "INFO", "7")];
    }
    expected
}

/// The JSON-RPC messages of an answer in any form.
fn messages(answer: &Answer) -> Vec<Value> {
    let text = answer.text();
    let whole = serde_json::from_str(&text).ok();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let parts = whole.into_iter().chain(data.filter_map(|data| serde_json::from_str(data).ok()));
    parts
        .flat_map(|part| match part {
            Value::Array(batch) => batch,
            part => vec![part],
        })
        .filter(|message| message.get("result").is_some() || message.get("error").is_some())
        .collect()
}

fn event(name: &str, asked: &Value, messages: &[Value], answer: &Answer) -> Option<Event> {
    let id = asked.get("id").map_or("-".to_owned(), Value::to_string);
    if asked.is_object() && asked.get("id").is_none() {
        return Some(ended("notification_received", "-", "-", "DEBUG", "-"));
    }
    let is_call = asked["method"] == "tools/call";
    let (done, failed) = match is_call {
        true => ("tool_call_completed", "tool_call_failed"),
        false => ("request_completed", "request_failed"),
    };
    let malformed = is_call && (name.ends_with("no-object") || name.ends_with("without-a-name"));
    let protocol = |code: &str| Some(ended(failed, "protocol_error", code, "INFO", &id));
    let status = answer.response.status();
    // A refusal names its request in whatever way: with its id, with null, or with an id of its own.
    let is_refused = status.is_client_error();
    let same =
        |message: &&Value| message["id"] == asked["id"] || message["id"].is_null() || is_refused;
    let Some(message) = messages.iter().find(same) else {
        if is_refused {
            return protocol(&format!("http_{}", status.as_u16()));
        }
        let is_cut = answer.ends == Ends::Broken;
        return is_cut.then(|| ended(failed, "fault", "upstream_error", "ERROR", &id));
    };
    let text = message.to_string().to_lowercase();
    let unknown = asked["params"]["name"] == "no_such_tool"
        && ["unknown tool", "tool not found", "no_such_tool not found"]
            .iter()
            .any(|known| text.contains(known));
    if let Some(error) = message.get("error") {
        let code = error["code"].as_i64().unwrap_or_default();
        return match code {
            _ if malformed => protocol("invalid_params"),
            -32601 | -32602 if unknown => protocol("unknown_tool"),
            -32700 => protocol("parse_error"),
            -32600 => protocol("invalid_request"),
            -32601 => protocol("method_not_found"),
            -32602 => protocol("invalid_params"),
            -32002 => protocol("resource_not_found"),
            -32020 => protocol("header_mismatch"),
            -32021 => protocol("missing_capability"),
            -32022 => protocol("unsupported_version"),
            _ if is_refused => protocol(&format!("http_{}", status.as_u16())),
            -32603 | -32099..=-32000 => {
                Some(ended(failed, "fault", "internal_error", "ERROR", &id))
            }
            _ => Some(ended(failed, "undeclared", "undeclared_error", "ERROR", &id)),
        };
    }
    let result = &message["result"];
    let is_error = result["isError"] == true;
    Some(match result["_meta"].get("tower-outcome/failure") {
        Some(record) => {
            let (outcome, code) = (record["outcome"].as_str(), record["code"].as_str());
            let level = if outcome == Some("stale") { "INFO" } else { "WARN" };
            ended(failed, outcome.unwrap_or("-"), code.unwrap_or("-"), level, &id)
        }
        None if is_error && malformed => return protocol("invalid_params"),
        None if is_error && unknown => return protocol("unknown_tool"),
        None if is_error && name.ends_with("-arguments") => {
            ended(failed, "rejected", "invalid_arguments", "INFO", &id)
        }
        None if is_error => ended(failed, "undeclared", "undeclared_error", "ERROR", &id),
        None => ended(done, "completed", "-", if is_call { "INFO" } else { "DEBUG" }, &id),
    })
}

fn ended(name: &str, outcome: &str, code: &str, level: &str, id: &str) -> Event {
    let known = |word: &str| (word != "-").then(|| word.to_owned());
    Event {
        name: name.to_owned(),
        outcome: known(outcome),
        code: known(code),
        level: level.to_owned(),
        id: known(id),
    }
}
