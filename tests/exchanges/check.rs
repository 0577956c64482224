//! Whether what became of an exchange is what had to.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, value::RawValue};
use tower_outcome::{Declaration, Kind, Outcome, Record, RequestId};

use crate::{
    client::{Run, renamed},
    corpus::{Client, Ends, Event, Exchange},
    events,
    stacks::Stack,
};

/// Fails with a text that says why.
pub type Checked = Result<(), String>;

pub fn ensure(is_so: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(otherwise()) }
}

/// Everything that an exchange says about its run.
pub fn run(exchange: &Exchange, stack: Stack, session: usize, run: &Run) -> Checked {
    sane(run)?;
    server(exchange, session, run)?;
    events(exchange, run)?;
    client(exchange, stack, session, run)
}

/// What holds of every run, whatever the exchange.
pub fn sane(run: &Run) -> Checked {
    ensure(run.panic.is_none(), || format!("panicked: {:?}", run.panic))?;
    ensure(run.misuse.is_empty(), || format!("{:?}", run.misuse))?;
    let records = run.records();
    let first = records.first().map(|records| lines(records));
    for records in &records {
        let calls: BTreeSet<String> = records.iter().map(|it| it.call_id.to_string()).collect();
        ensure(calls.len() == records.len(), || format!("ended twice: {records:?}"))?;
        let own = lines(records);
        ensure(first.as_ref() == Some(&own), || format!("hooks differ: {first:?} {own:?}"))?;
    }
    let Some(head) = run.head.as_ref().filter(|_| run.error.is_none() && !run.has_left) else {
        return Ok(());
    };
    let length = run.bytes().len();
    if let Some(said) = head.headers.get(header::CONTENT_LENGTH) {
        ensure(said.as_bytes() == length.to_string().as_bytes(), || {
            format!("content-length: {said:?}, but {length} bytes")
        })?;
    }
    let is_as_long = run.hint.is_none_or(|hint| hint == length as u64);
    ensure(is_as_long, || format!("size hint {:?}, but {length} bytes", run.hint))
}

fn lines(records: &[Record]) -> BTreeSet<String> {
    records.iter().map(summary).collect()
}

/// That the server read what the client sent.
pub fn server(exchange: &Exchange, session: usize, run: &Run) -> Checked {
    let parts = run.got.parts.as_ref().ok_or("the server was not called")?;
    let mut expected = renamed(exchange.request.headers(), session);
    let mut headers = parts.headers.clone();
    for headers in [&mut expected, &mut headers] {
        headers.remove(header::ACCEPT_ENCODING);
    }
    ensure(headers == expected, || format!("the server got other headers: {headers:?}"))?;
    ensure(parts.uri == *exchange.request.uri(), || format!("uri: {}", parts.uri))?;
    ensure(run.got.error.is_none(), || format!("{:?}", run.got.error))?;
    same("the server read", &run.got.body, exchange.request.body())
}

pub fn same(what: &str, got: &[u8], expected: &[u8]) -> Checked {
    ensure(got == expected, || {
        let at = got.iter().zip(expected).take_while(|(one, other)| one == other).count();
        let (got, expected) = (around(got, at), around(expected, at));
        format!("{what}, from {at}:\n     {got}\n not {expected}")
    })
}

fn around(bytes: &[u8], at: usize) -> String {
    let piece = &bytes[at.saturating_sub(20).min(bytes.len())..bytes.len().min(at + 160)];
    format!("{:?}", Bytes::copy_from_slice(piece))
}

/// `NAME OUTCOME CODE LEVEL ID`, as in the corpus.
pub fn summary(record: &Record) -> String {
    let code = record.failure.as_ref().map_or("-", |failure| failure.code.as_str());
    let id = match &record.request_id {
        None => "-".to_owned(),
        Some(RequestId::String(text)) => Value::from(&**text).to_string(),
        Some(id) => id.to_string(),
    };
    let level = record.level().to_string().to_uppercase();
    let outcome = match record.kind {
        Kind::Notification if record.outcome == Outcome::Completed => "-",
        _ => record.outcome.as_str(),
    };
    format!("{} {outcome} {code} {level} {id}", record.event())
}

fn expected(event: &Event) -> String {
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    // As it means, not as it is written.
    let id = or(&event.id);
    let id = serde_json::from_str::<String>(&id).map_or(id, |text| Value::from(text).to_string());
    format!("{} {} {} {} {id}", event.name, or(&event.outcome), or(&event.code), event.level)
}

/// What is to be logged, in order.
pub fn expected_lines(exchange: &Exchange) -> Vec<String> {
    let mut lines: Vec<String> = exchange.expected.events.iter().map(expected).collect();
    lines.sort();
    lines
}

pub fn events(exchange: &Exchange, run: &Run) -> Checked {
    let wanted = expected_lines(exchange);
    for records in run.records() {
        let mut got: Vec<String> = records.iter().map(summary).collect();
        got.sort();
        ensure(got == wanted, || format!("events\n     {got:?}\n not {wanted:?}"))?;
    }
    Ok(())
}

/// What the client was to get.
pub fn client(exchange: &Exchange, stack: Stack, session: usize, run: &Run) -> Checked {
    let ends = exchange.expected.ends;
    ensure(run.has_left == (ends == Ends::Left), || format!("left: {}", run.has_left))?;
    let head = run.head.as_ref().ok_or_else(|| format!("no answer: {:?}", run.error))?;
    let said = exchange.response.headers();
    let is_faulty = !faults(exchange).is_empty();
    let client = if stack.contains() { exchange.expected.client } else { Client::Unchanged };
    if client == Client::Unchanged {
        let is_broken = ends == Ends::Broken && (is_faulty || !stack.contains());
        ensure(run.error.is_some() == is_broken, || format!("error: {:?}", run.error))?;
        ensure(head.status == exchange.response.status(), || head.status.to_string())?;
        unchanged_headers(&head.headers, &renamed(said, session))?;
        return same("the client read", &run.bytes(), exchange.response.body());
    }
    ensure(run.error.is_none(), || format!("error: {:?}", run.error))?;
    ensure(head.status == 200, || head.status.to_string())?;
    let session_id = renamed(said, session);
    let is_kept = head.headers.get("mcp-session-id") == session_id.get("mcp-session-id");
    ensure(is_kept, || "the session is gone".to_owned())?;
    let text = run.bytes();
    no_leak(exchange, client, &text)?;
    let media_type = head.headers.get(header::CONTENT_TYPE).map(|it| it.as_bytes());
    let is_stream = media_type.is_some_and(|it| it.starts_with(b"text/event-stream"));
    match client {
        Client::Appended => appended(exchange, run, &text),
        _ if is_stream => replaced_in_stream(exchange, run, &text),
        _ => {
            ensure(media_type == Some(b"application/json"), || format!("{media_type:?}"))?;
            // A batch goes on with the answers that are the server's own.
            if !exchange.request.body().starts_with(b"[") {
                let stale = OF_THE_BODY.iter().find(|name| head.headers.contains_key(**name));
                ensure(stale.is_none(), || format!("{stale:?} is said of another body"))?;
            }
            replaced(exchange, run, &text)
        }
    }
}

/// What a head says of a body that is not there any more.
const OF_THE_BODY: [&str; 7] = [
    "accept-ranges",
    "content-encoding",
    "content-language",
    "etag",
    "last-modified",
    "retry-after",
    "transfer-encoding",
];

fn unchanged_headers(got: &HeaderMap, expected: &HeaderMap) -> Checked {
    let mut expected = expected.clone();
    if !got.contains_key(header::CONTENT_LENGTH) {
        // It may be left out where something might have had to be said later.
        expected.remove(header::CONTENT_LENGTH);
    }
    ensure(*got == expected, || format!("headers\n     {got:?}\n not {expected:?}"))
}

/// The calls that ended in a fault which nobody declared.
fn faults(exchange: &Exchange) -> Vec<&Event> {
    let is_fault = |event: &&Event| event.outcome.as_deref() == Some("fault");
    exchange.expected.events.iter().filter(is_fault).collect()
}

fn replaced(exchange: &Exchange, run: &Run, text: &[u8]) -> Checked {
    let messages = messages(text)?;
    for event in &exchange.expected.events {
        let id = event.id.as_deref().unwrap_or("null");
        let message = messages.iter().find(|message| id_of(message) == id);
        let message = message.ok_or_else(|| format!("no answer to {id}: {messages:?}"))?;
        if event.outcome.as_deref() == Some("fault") && was_replaced(exchange, message) {
            fault(message, run)?;
        }
    }
    let length = exchange.expected.events.len();
    ensure(messages.len() == length, || format!("{} answers", messages.len()))
}

/// Whether a message is none that the server sent.
fn was_replaced(exchange: &Exchange, message: &str) -> bool {
    let body = exchange.response.body();
    !body.windows(message.len()).any(|window| window == message.as_bytes())
}

fn replaced_in_stream(exchange: &Exchange, run: &Run, text: &[u8]) -> Checked {
    let (sent, _) = events::read(exchange.response.body());
    let (got, rest) = events::read(text);
    ensure(rest.is_empty(), || format!("an open event: {rest:?}"))?;
    if exchange
        .response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_none_or(|it| it != "text/event-stream")
    {
        let told: Vec<Vec<u8>> = got.iter().filter_map(events::Event::data).collect();
        return told.iter().try_for_each(|data| fault(text_of(data)?, run));
    }
    ensure(got.len() == sent.len(), || format!("{} events of {}", got.len(), sent.len()))?;
    let mut ids: Vec<String> = faults(exchange).iter().filter_map(|it| it.id.clone()).collect();
    for (sent, got) in sent.iter().zip(&got) {
        if sent.data() == got.data() {
            continue;
        }
        ensure(sent.others() == got.others(), || {
            format!("{:?} {:?}", sent.others(), got.others())
        })?;
        let (was, is) = (sent.data().unwrap_or_default(), got.data().unwrap_or_default());
        for (was, is) in messages(&was)?.iter().zip(messages(&is)?) {
            if *was != is {
                fault(&is, run)?;
                ids.retain(|id| *id != id_of(&is));
            }
        }
    }
    ensure(ids.is_empty(), || format!("not told: {ids:?}"))
}

fn appended(exchange: &Exchange, run: &Run, text: &[u8]) -> Checked {
    let sent = exchange.response.body();
    let (complete, open) = events::read(sent);
    let whole = complete.last().map_or(0, |event| event.end);
    same("before it", &text[..whole.min(text.len())], &sent[..whole])?;
    let (got, rest) = events::read(&text[whole..]);
    ensure(rest.is_empty(), || format!("an open event: {rest:?}"))?;
    let told: Vec<Vec<u8>> = got.iter().filter_map(events::Event::data).collect();
    let faults = faults(exchange);
    // What was begun may have been let go or dropped.
    ensure(
        told.len()
            == faults.len() + usize::from(!open.is_empty() && text[whole..].starts_with(open)),
        || format!("{} events for {} faults", told.len(), faults.len()),
    )?;
    for data in told.iter().rev().take(faults.len()) {
        let message = text_of(data)?;
        fault(message, run)?;
        let is_owed = faults.iter().any(|event| event.id.as_deref() == Some(&id_of(message)));
        ensure(is_owed, || format!("nobody asked for {message}"))?;
    }
    Ok(())
}

/// That a message tells of outcome 4 to somebody who has a record of that.
pub fn fault(message: &str, run: &Run) -> Checked {
    let value: Value = serde_json::from_str(message).map_err(|why| format!("{why}: {message}"))?;
    let record = value.pointer("/result/_meta").or(value.pointer("/error/data"));
    let record = record.and_then(|it| it.get(Declaration::KEY));
    let is_fault = record.and_then(|it| it.get("outcome")).is_some_and(|it| it == "fault");
    ensure(is_fault, || format!("no record of a fault: {message}"))?;
    let is_tool = value.pointer("/result/isError") == Some(&Value::Bool(true));
    let is_error = value.pointer("/error/code") == Some(&Value::from(-32603));
    ensure(is_tool != is_error, || format!("no outcome 4: {message}"))?;
    let id = id_of(message);
    let records = run.records();
    let all: Vec<&Record> = records.iter().flatten().collect();
    let is_its = |record: &&&Record| {
        let own = summary(record);
        let meant = serde_json::from_str::<String>(&id).map(|text| Value::from(text).to_string());
        own.ends_with(&format!(" {}", meant.as_ref().unwrap_or(&id)))
    };
    let Some(record) = all.iter().find(is_its).or(all.iter().find(|it| it.request_id.is_none()))
    else {
        return ensure(all.is_empty(), || format!("nobody asked for {message}: {all:?}"));
    };
    ensure((record.kind == Kind::ToolCall) == is_tool, || format!("{:?}: {message}", record.kind))?;
    let reference = record.call_id.to_string();
    ensure(message.contains(&reference), || format!("no reference {reference}: {message}"))
}

/// The messages of a body, or of an event's data, as they are written.
pub fn messages(text: &[u8]) -> Result<Vec<String>, String> {
    let text = text_of(text)?;
    let raw = |text: &str| serde_json::from_str::<Vec<Box<RawValue>>>(text);
    if let Ok(batch) = raw(text) {
        return Ok(batch.iter().map(|message| message.get().to_owned()).collect());
    }
    serde_json::from_str::<Value>(text).map_err(|why| format!("{why}: {text}"))?;
    Ok(vec![text.to_owned()])
}

fn text_of(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|why| format!("{why}: {bytes:?}"))
}

/// The id of a message, as it is written; the last one, where there are several.
pub fn id_of(message: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let id = serde_json::from_str::<Id<'_>>(message).ok().and_then(|message| message.id);
    id.map_or_else(|| "null".to_owned(), |id| id.get().to_owned())
}

/// That nothing of what a server said of its troubles is in what the client got.
fn no_leak(exchange: &Exchange, client: Client, text: &[u8]) -> Checked {
    let body = exchange.response.body();
    if client == Client::Appended {
        return Ok(());
    }
    let (events, _) = events::read(body);
    let data: Vec<Vec<u8>> = events.iter().filter_map(events::Event::data).collect();
    let mut secrets: Vec<String> = Vec::new();
    for text in data.iter().map(Vec::as_slice).chain([&body[..]]) {
        for message in messages(text).unwrap_or_default() {
            let value: Value = serde_json::from_str(&message).unwrap_or_default();
            let error = value.get("error");
            let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
            if code.is_none_or(|code| code == -32603 || (-32099..=-32000).contains(&code)) {
                let message = error.and_then(|error| error.get("message"));
                secrets.extend(message.and_then(Value::as_str).map(str::to_owned));
            }
        }
    }
    let is_cut = body.starts_with(b"{\"jsonrpc\"");
    if messages(body).is_err() && data.is_empty() && !is_cut {
        secrets.push(String::from_utf8_lossy(body).into_owned());
    }
    let text = String::from_utf8_lossy(text);
    let leaked = secrets.iter().find(|secret| secret.len() > 7 && text.contains(secret.as_str()));
    ensure(leaked.is_none(), || format!("leaked {leaked:?}: {text}"))
}
