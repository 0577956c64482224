//! Whether an answer and its log line are what a row expects.

use serde_json::{Value, json};

use crate::{
    row::{Row, Wire},
    support::{Answer, Client, Event},
};

/// What no answer of this server has a reason to contain: places in the source, and words of the
/// standard library and of the causes that the log has.
const INTERNAL: &[&str] = &[".rs:", "panicked", "PoisonError", "JoinError", "query failed"];

/// Sends what the row says, then a healthy call. Returns what is wrong, each with the row's name.
pub(crate) async fn row(client: &Client, row: &Row) -> Vec<String> {
    let alarms = alarming(client);
    let progress = progress_of(client, row.name);
    let id = client.start(row.method, row.params.clone()).await;
    let mut wrong = end_of(client, row, &id).await;
    // It may come on a stream of its own.
    let expected = progress + row.progress as usize;
    client.inbox().wait_until(|| progress_of(client, row.name) >= expected).await;
    let came = progress_of(client, row.name) - progress;
    if came != row.progress as usize {
        wrong.push(format!("{came} progress notifications instead of {}", row.progress));
    }
    let healthy = client.call("ok", json!({ "text": "still here" })).await;
    if healthy.text() != "still here" {
        wrong.push(format!("a healthy call afterwards is answered with {healthy:?}"));
    }
    // After another call, so that a line that the library writes behind its answer is there.
    check_alarms(client, row, alarms, &mut wrong);
    wrong.into_iter().map(|wrong| format!("'{}': {wrong}", row.name)).collect()
}

/// Waits for the answer to a request that was sent for the row, and for its log line.
pub(crate) async fn end_of(client: &Client, row: &Row, id: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let answer = client.wait(id).await;
    check_answer(client, row, &answer, &mut wrong);
    match client.logs().wait_for_end(id).await {
        Some(event) => {
            check_event(row, &answer, &event, &mut wrong);
            check_cause(row, &event, &mut wrong);
        }
        None => wrong.push("no event ends it in the log".to_owned()),
    }
    wrong
}

fn check_answer(client: &Client, row: &Row, answer: &Answer, wrong: &mut Vec<String>) {
    let wire = match answer {
        Answer::Result { .. } if answer.is_error() => Wire::ToolError,
        Answer::Result { .. } => Wire::Result,
        Answer::Error { .. } => Wire::Error(answer.error_code().unwrap_or_default()),
        Answer::None | Answer::Http { .. } => {
            wrong.push(format!("no JSON-RPC answer, but {answer:?}"));
            return;
        }
    };
    if wire != expected_wire(client, row) {
        wrong.push(format!("answered with {wire:?}: {answer:?}"));
    }
    let text = answer.text();
    for expected in row.says.iter().filter(|expected| !text.contains(**expected)) {
        wrong.push(format!("the text does not say {}: {}", short(expected), short(&text)));
    }
    let whole = answer.result().or(answer.error()).cloned().unwrap_or_default();
    for (pointer, expected) in &row.holds {
        if whole.pointer(pointer) != Some(expected) {
            wrong.push(format!("{pointer} is not {expected}: {}", short(&whole.to_string())));
        }
    }
    if answer.is_error() && answer.content().len() != 1 {
        wrong.push(format!("{} blocks of text instead of one", answer.content().len()));
    }
}

fn expected_wire(client: &Client, row: &Row) -> Wire {
    match row.wire {
        // rmcp 3.11 says it so to peers of 2026-07-28, after the layers, but not of tools.
        Wire::Error(-32002) if client.is_2026() && row.method != "tools/call" => {
            Wire::Error(-32602)
        }
        wire => wire,
    }
}

fn check_event(row: &Row, answer: &Answer, event: &Event, wrong: &mut Vec<String>) {
    let ends = &row.ends;
    let is_tool = row.method == "tools/call";
    let verb = match ends.outcome {
        "completed" => "completed",
        "input_required" => "input_required",
        _ => "failed",
    };
    let name = format!("{}_{verb}", if is_tool { "tool_call" } else { "request" });
    let facts = [
        ("event", Some(event.message.as_str()), Some(name.as_str())),
        ("level", Some(event.level.as_str()), Some(ends.level)),
        ("outcome", event.field("outcome"), Some(ends.outcome)),
        ("code", event.field("code"), ends.code),
        ("actor", event.field("actor"), ends.actor),
        ("retryable", event.field("retryable"), ends.retryable),
        // A `tools/call` that is no tool call is about no tool for sure.
        ("tool", event.field("tool"), tool_of(row).or(event.field("tool"))),
        ("method", event.field("method"), (!is_tool).then_some(row.method)),
    ];
    for (fact, logged, expected) in facts {
        if logged != expected {
            wrong.push(format!("the log has {fact} {logged:?} instead of {expected:?}: {event:?}"));
        }
    }
    if event.field("call_id").is_none() || !event.fields.contains_key("duration_ms") {
        wrong.push(format!("call_id or duration_ms is missing: {event:?}"));
    }
    check_record(row, answer, event, wrong);
}

fn check_cause(row: &Row, event: &Event, wrong: &mut Vec<String>) {
    let Some(secret) = row.secret.filter(|_| row.cause_is_logged) else { return };
    if !event.field("cause").unwrap_or_default().contains(secret) {
        wrong.push(format!("the log does not say what caused it: {event:?}"));
    }
}

fn tool_of(row: &Row) -> Option<&str> {
    let is_call = row.params.get("arguments").is_some_and(Value::is_object);
    row.params.get("name")?.as_str().filter(|_| is_call && row.method == "tools/call")
}

/// What a failure of ours tells a program: the record beside the text, and the reference by which
/// an operator finds the log line.
fn check_record(row: &Row, answer: &Answer, event: &Event, wrong: &mut Vec<String>) {
    let ends = &row.ends;
    // Argument errors of rmcp go out as they are, without a record.
    let is_ours = matches!(ends.outcome, "rejected" | "stale" | "fault")
        && ends.code != Some("invalid_arguments");
    let Some(record) = answer.record() else {
        if is_ours {
            wrong.push(format!("no record in the answer: {answer:?}"));
        }
        return;
    };
    if !is_ours {
        wrong.push(format!("a record in an answer that should be unchanged: {answer:?}"));
        return;
    }
    let code = ends.code.map(|code| if code == "panic" { "internal_error" } else { code });
    let told = |key: &str| record.get(key).and_then(Value::as_str);
    for (key, expected) in
        [("outcome", Some(ends.outcome)), ("code", code), ("retryable", ends.retryable)]
    {
        if told(key) != expected {
            wrong.push(format!("the record's {key} is not {expected:?}: {record}"));
        }
    }
    if ends.outcome == "fault" {
        let reference = event.field("call_id").unwrap_or_default();
        if told("reference") != Some(reference) || !answer.text().contains(reference) {
            wrong.push(format!("record or text lack the reference {reference}: {answer:?}"));
        }
    }
}

/// `isError` answers of outcomes 2 and 3 alarm nobody, whichever crate logs.
fn check_alarms(client: &Client, row: &Row, before: usize, wrong: &mut Vec<String>) {
    let is_for_the_model = matches!(row.ends.outcome, "rejected" | "stale" | "completed")
        && !matches!(row.wire, Wire::Error(_));
    if is_for_the_model && alarming(client) != before {
        let events = client.logs().events();
        let last = events.iter().rev().find(|event| event.is_alarming());
        wrong.push(format!("it is logged as an alarm: {last:?}"));
    }
}

fn alarming(client: &Client) -> usize {
    client.logs().events().iter().filter(|event| event.is_alarming()).count()
}

fn progress_of(client: &Client, token: &str) -> usize {
    let is_it = |message: &Value| message["params"]["progressToken"].as_str() == Some(token);
    client.inbox().others().iter().filter(|message| is_it(message)).count()
}

/// What holds for the session as a whole, at its end.
pub(crate) fn whole_session(client: &Client, rows: &[Row]) -> Vec<String> {
    let mut wrong = Vec::new();
    for id in client.sent() {
        let ends = client.logs().terminal(&id);
        if ends.len() != 1 {
            wrong.push(format!("request {id} has {} ends in the log: {ends:?}", ends.len()));
        }
        let answers = client.inbox().answers(&id);
        if answers.len() > 1 {
            wrong.push(format!("request {id} has {} answers: {answers:?}", answers.len()));
        }
    }
    let received = String::from_utf8_lossy(&client.bytes()).into_owned();
    for internal in INTERNAL.iter().filter(|internal| received.contains(**internal)) {
        wrong.push(format!("the client received something with '{internal}' in it"));
    }
    let events = client.logs().events();
    for row in rows {
        let Some(secret) = row.secret else { continue };
        if received.contains(secret) {
            wrong.push(format!("'{}': the client received {secret}", row.name));
        }
        let is_ours = |event: &&Event| event.target == "tower_outcome";
        let tells = |event: &&Event| {
            event.is_alarming() && !is_ours(event) && format!("{event:?}").contains(secret)
        };
        if let Some(event) = events.iter().find(tells) {
            wrong.push(format!("'{}': another crate logged {secret}: {event:?}", row.name));
        }
    }
    let lost = events.iter().filter(|event| event.message == "tool_failed");
    wrong.extend(lost.map(|event| format!("a cause without its line: {event:?}")));
    wrong.extend(client.inbox().garbage().iter().map(|text| format!("no JSON: {}", short(text))));
    if !client.stdout().is_empty() {
        let text = String::from_utf8_lossy(&client.stdout()).into_owned();
        wrong.push(format!("an HTTP server wrote to stdout: {}", short(&text)));
    }
    wrong
}

/// Starts a call, and waits until the server is at it.
pub(crate) async fn start(client: &Client, tool: &str, arguments: Value) -> Value {
    let id = client.start_call(tool, arguments).await;
    let started = client.logs().wait_for_event(&id, "tool_call_started").await;
    assert!(started.is_some(), "'{tool}' does not start:\n{}", client.logs().raw());
    id
}

/// Whether a call that nobody waits for ends so in the log.
pub(crate) async fn check_end(
    client: &Client,
    name: &str,
    id: &Value,
    outcome: &str,
    reason: Option<&str>,
) -> Vec<String> {
    let Some(event) = client.logs().wait_for_end(id).await else {
        return vec![format!("'{name}': no event ends it in the log")];
    };
    let mut wrong = Vec::new();
    if event.field("outcome") != Some(outcome) || event.message != format!("tool_call_{outcome}") {
        wrong.push(format!("'{name}': it does not end as {outcome}: {event:?}"));
    }
    if event.level != "INFO" {
        wrong.push(format!("'{name}': it is logged at {}: {event:?}", event.level));
    }
    if reason.is_some() && event.field("reason") != reason {
        wrong.push(format!("'{name}': the reason is not {reason:?}: {event:?}"));
    }
    wrong
}

/// Enough of a text to recognise it.
fn short(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{:?}…", &text[..at]),
        None => format!("{text:?}"),
    }
}
