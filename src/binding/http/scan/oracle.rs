//! What `serde_json` says of the same bytes, for the tests and the fuzz target.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Blocks, ClientFacts, Code, Config, Envelope, ErrorFacts, EventScanner, Facts, Inner, Json,
    Members, ParamsFacts, Progress, ResultFacts, Scanner, Seen, Shape, TaskFacts, Text,
    generate::PATHS,
};

/// What a scanner made of a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Scan {
    /// The messages that ended.
    pub(crate) messages: Vec<Facts>,
    /// What it knows of one that did not.
    pub(crate) rest: Facts,
    pub(crate) progress: Progress,
    pub(crate) is_batch: bool,
}

/// All that scanners keep, with bounds that a test can reach.
pub(crate) fn small_config() -> Config {
    Config {
        answers: true,
        requests: true,
        text_bytes: 8,
        structured_bytes: 24,
        total_bytes: 128,
        ..Config::answers()
    }
}

/// The same, with members that the generated messages have.
pub(crate) fn small_config_with_members() -> Config {
    Config { member_bytes: 24, total_bytes: 512, ..small_config() }.members(Arc::new(members()))
}

/// What the generator's messages have.
pub(crate) fn members() -> Members {
    Members::new(PATHS)
}

/// Scans `text` in pieces of these sizes, again and again; a size of 0 is the rest.
pub(crate) fn scan(text: &[u8], sizes: &[usize], config: &Config) -> Scan {
    let mut scanner = Scanner::new(config.clone());
    let (mut messages, mut envelope) = (Vec::new(), Envelope::Undecided);
    for piece in pieces(text, sizes) {
        each_seen(piece, |bytes| {
            let (read, seen) = scanner.push(bytes);
            assert!(read > 0 || seen != Seen::Nothing, "no progress");
            match seen {
                Seen::Envelope => {
                    assert_ne!(scanner.facts().envelope(), envelope);
                    envelope = scanner.facts().envelope();
                }
                Seen::End => {
                    let facts = scanner.take_facts();
                    if facts.result.shape != Shape::Null {
                        assert_eq!(facts.envelope(), envelope);
                    }
                    envelope = Envelope::Undecided;
                    messages.push(facts);
                }
                Seen::Nothing | Seen::Dispatch => assert_eq!(read, bytes.len()),
            }
            read
        });
    }
    assert_eq!(scanner.offset(), text.len() as u64);
    let (progress, is_batch) = (scanner.progress(), scanner.is_batch());
    Scan { messages, rest: scanner.take_facts(), progress, is_batch }
}

/// Checks that a scanner says of `text` what `serde_json` does, however it is cut.
pub(crate) fn check(text: &[u8], sizes: &[usize], config: &Config) {
    let whole = scan(text, &[], config);
    assert_eq!(whole, scan(text, sizes, config), "cut into {sizes:?}");
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return };
    let messages: Vec<&Map<String, Value>> = match &value {
        Value::Object(message) => vec![message],
        Value::Array(batch) => batch.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    };
    assert_eq!(whole.is_batch, value.is_array());
    if !(value.is_number() || value.is_boolean() || value.is_null()) {
        assert_eq!(whole.progress, Progress::Complete);
    }
    assert_eq!(whole.messages.len(), messages.len());
    for (facts, message) in whole.messages.iter().zip(messages) {
        let range = facts.begin as usize..facts.end.unwrap() as usize;
        let there: Value = serde_json::from_slice(&text[range]).unwrap();
        assert_eq!(there.as_object(), Some(message));
        Oracle { config, len: text.len() }.message(facts, message);
    }
}

/// Checks that a stream of events has the data that it has, however it is cut.
pub(crate) fn check_events(stream: &[u8], sizes: &[usize], config: &Config) {
    let (events, last_id) = events(stream);
    let mut scanner = EventScanner::new(config.clone());
    let (mut dispatched, mut messages, mut begins) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces(stream, sizes) {
        each_seen(piece, |bytes| {
            let (read, seen) = scanner.push(bytes);
            match seen {
                Seen::Nothing => assert_eq!(read, bytes.len()),
                Seen::Envelope => {}
                Seen::End => messages.push(scanner.take_facts()),
                Seen::Dispatch => {
                    assert!(!scanner.is_open());
                    begins.push(scanner.begin());
                    let (progress, is_batch) = (scanner.progress(), scanner.is_batch());
                    let messages = std::mem::take(&mut messages);
                    let scan = Scan { messages, rest: scanner.take_facts(), progress, is_batch };
                    dispatched.push((scanner.has_data(), without_places(scan)));
                }
            }
            read
        });
    }
    let expected = events.iter().map(|data| {
        let scan = scan(data.as_deref().unwrap_or_default(), &[], config);
        (data.is_some(), without_places(scan))
    });
    assert_eq!(dispatched, expected.collect::<Vec<_>>());
    assert_eq!(scanner.has_event_id(), last_id.is_some_and(|id| !id.is_empty()));
    assert!(begins.is_sorted());
}

/// The data of each event that ends in a blank line, comments among them, and the last id: all of
/// it at once, as the specification is written.
fn events(stream: &[u8]) -> (Vec<Option<Vec<u8>>>, Option<Vec<u8>>) {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let (mut events, mut data, mut id, mut last_id) = (Vec::new(), None::<Vec<u8>>, None, None);
    let mut rest = stream;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let line = &rest[..end];
        rest = &rest[end + if rest[end..].starts_with(b"\r\n") { 2 } else { 1 }..];
        if line.is_empty() {
            last_id.clone_from(&id);
            events.push(data.take());
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut data {
                Some(data) => data.extend([b"\n", value].concat()),
                None => data = Some(value.to_vec()),
            },
            b"id" if !value.contains(&0) => id = Some(value.to_vec()),
            _ => {}
        }
    }
    (events, last_id)
}

/// In a stream, messages do not stand where they stand in their event's data.
fn without_places(mut scan: Scan) -> Scan {
    for facts in scan.messages.iter_mut().chain([&mut scan.rest]) {
        facts.begin = 0;
        facts.end = facts.end.map(|_| 0);
    }
    scan
}

fn pieces<'a>(text: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut sizes = sizes.iter().copied().cycle();
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = sizes.next().filter(|size| (1..rest.len()).contains(size)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(size);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

fn each_seen(piece: &[u8], mut push: impl FnMut(&[u8]) -> usize) {
    let mut rest = piece;
    while !rest.is_empty() {
        let read = push(rest);
        rest = &rest[read..];
    }
}

struct Oracle<'a> {
    config: &'a Config,
    /// Bytes of the text: nothing in a shorter one is cut.
    len: usize,
}

impl Oracle<'_> {
    fn message(&self, facts: &Facts, message: &Map<String, Value>) {
        let get = |key: &str| message.get(key);
        self.json(&facts.id, get("id"));
        assert_eq!(facts.version, shape(get("jsonrpc")));
        assert_eq!(facts.method.shape, shape(get("method")));
        self.text(&facts.method.name, get("method"));
        assert_eq!(facts.result.shape, shape(get("result")));
        assert_eq!(facts.error.shape, shape(get("error")));
        let params = facts.params.as_deref().cloned().unwrap_or_default();
        assert_eq!(params.shape, shape(get("params")));
        let entered = |key, is_entered| get(key).filter(|_| is_entered);
        let result = entered("result", self.config.answers);
        self.result(&facts.result, result);
        self.inner(facts.inner.as_deref(), result);
        self.error(&facts.error, entered("error", self.config.answers));
        let is_entered = self.config.answers || self.config.requests;
        self.params(&params, entered("params", is_entered));
        let is_there = |key| get(key).is_some_and(|value| !value.is_null());
        let envelope = match (is_there("method"), is_there("error"), get("result")) {
            (true, ..) => Envelope::NotAnAnswer,
            (false, true, _) => Envelope::Error,
            (false, false, Some(_)) => Envelope::Result,
            (false, false, None) => Envelope::Undecided,
        };
        assert_eq!(facts.envelope(), envelope);
    }

    fn result(&self, facts: &ResultFacts, result: Option<&Value>) {
        let get = |key| member(result, key);
        assert_eq!(facts.is_error, get("isError").and_then(Value::as_bool));
        self.text(&facts.result_type, get("resultType"));
        let meta = get("_meta");
        self.json(&facts.record, member(meta, "tower-outcome/failure"));
        let related = member(meta, "io.modelcontextprotocol/related-task");
        self.text(&facts.related_task, member(related, "taskId"));
        let content = get("content").and_then(Value::as_array).map(Vec::as_slice);
        let blocks = match content {
            None | Some([]) => Blocks::None,
            Some([_]) => Blocks::One,
            Some(_) => Blocks::Many,
        };
        assert_eq!(facts.blocks, blocks);
        let is_text = |block: &&Value| block.get("type").is_some_and(|kind| kind == "text");
        let text = content.unwrap_or_default().iter().find(is_text);
        self.text(&facts.text, member(text, "text"));
        assert_eq!(facts.lone_text().is_some(), blocks == Blocks::One && !facts.text.is_absent());
        let structured = get("structuredContent");
        assert_eq!(facts.structured_shape, shape(structured));
        match &self.config.members {
            Some(asked) => self.members(facts, asked, structured),
            None => self
                .json(&facts.structured, structured.filter(|_| self.config.structured_bytes > 0)),
        }
        self.task(&facts.flat_task, result, "ttlMs");
        self.text(&facts.status_message, get("statusMessage"));
        assert_eq!(facts.core_ttl, get("ttl").and_then(Value::as_u64));
        self.task(&facts.task, get("task"), "ttl");
    }

    fn error(&self, facts: &ErrorFacts, error: Option<&Value>) {
        let code = match member(error, "code") {
            None => Code::Absent,
            Some(code) => code.as_i64().map_or(Code::Invalid, Code::Number),
        };
        assert_eq!(facts.code, code);
        self.text(&facts.message, member(error, "message"));
        let data = member(error, "data");
        self.json(&facts.record, member(data, "tower-outcome/failure"));
    }

    fn task(&self, facts: &TaskFacts, task: Option<&Value>, ttl: &str) {
        self.text(&facts.id, member(task, "taskId"));
        self.text(&facts.status, member(task, "status"));
        assert_eq!(facts.ttl, member(task, ttl).and_then(Value::as_u64));
    }

    /// What the task ended in that `task` tells of.
    fn inner(&self, facts: Option<&Inner>, task: Option<&Value>) {
        let (result, error) = (member(task, "result"), member(task, "error"));
        assert_eq!(facts.is_some(), result.is_some() || error.is_some());
        let Some(facts) = facts else { return };
        assert_eq!(facts.result.shape, shape(result));
        assert_eq!(facts.error.shape, shape(error));
        self.result(&facts.result, result);
        self.error(&facts.error, error);
    }

    fn members(&self, facts: &ResultFacts, asked: &Members, structured: Option<&Value>) {
        let found = facts.members(asked);
        if facts.members_are_cut() {
            assert!(found.is_some() && self.len > 64);
            return;
        }
        let paths: Vec<Vec<&str>> = PATHS.iter().map(|path| path.split('.').collect()).collect();
        let expected = structured.filter(|value| value.is_object());
        let expected = expected.map(|value| partial(value, &paths));
        let found = found.map(Value::Object);
        assert!(is_alike(found.as_ref(), expected.as_ref()), "{found:?} {expected:?}");
    }

    fn params(&self, facts: &ParamsFacts, params: Option<&Value>) {
        let get = |key| member(params, key);
        assert_eq!(facts.arguments, shape(get("arguments")));
        self.text(&facts.task_id, get("taskId"));
        self.text(&facts.status, get("status").filter(|_| self.config.answers));
        let message = get("statusMessage").filter(|_| self.config.answers);
        self.text(&facts.status_message, message);
        self.inner(facts.inner.as_deref(), params.filter(|_| self.config.answers));
        let get = |key| member(params.filter(|_| self.config.requests), key);
        self.text(&facts.name, get("name"));
        self.text(&facts.uri, get("uri"));
        self.json(&facts.request_id, get("requestId"));
        let meta = get("_meta");
        self.text(&facts.traceparent, member(meta, "traceparent"));
        self.client(&facts.client, get("protocolVersion"), get("clientInfo"));
        let version = member(meta, "io.modelcontextprotocol/protocolVersion");
        let client = member(meta, "io.modelcontextprotocol/clientInfo");
        self.client(&facts.meta_client, version, client);
    }

    fn client(&self, facts: &ClientFacts, version: Option<&Value>, client: Option<&Value>) {
        self.text(&facts.protocol_version, version);
        self.text(&facts.name, member(client, "name"));
        self.text(&facts.version, member(client, "version"));
    }

    fn text(&self, text: &Text, expected: Option<&Value>) {
        let expected = expected.and_then(Value::as_str);
        if text.is_cut() {
            assert!(expected.unwrap().starts_with(&*text.get().unwrap()));
            assert!(self.len > 8);
        } else {
            assert_eq!(text.get().as_deref(), expected);
            assert!(expected.is_none_or(|expected| text.is(expected)));
        }
    }

    fn json(&self, json: &Json, expected: Option<&Value>) {
        if json.is_cut() {
            assert!(expected.is_some() && self.len > 24);
        } else {
            let json = json.get().map(|json| serde_json::from_str::<Value>(&json).unwrap());
            assert_eq!(json.as_ref(), expected);
        }
    }
}

fn member<'a>(value: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    value?.as_object()?.get(key)
}

/// Of `value`, which stands where these paths begin, what they ask for: nothing of an empty path's
/// own but what it is.
fn partial(value: &Value, paths: &[Vec<&str>]) -> Value {
    match value {
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(members) => {
            let mut asked = Map::new();
            for (key, value) in members {
                let below: Vec<Vec<&str>> = paths
                    .iter()
                    .filter_map(|path| path.split_first().filter(|(first, _)| *first == key))
                    .map(|(_, below)| below.to_vec())
                    .collect();
                let is_asked = below.iter().any(Vec::is_empty);
                let partial = partial(value, &below);
                let has_below = partial.as_object().is_some_and(|partial| !partial.is_empty());
                if is_asked || has_below {
                    asked.insert(key.clone(), partial);
                }
            }
            Value::Object(asked)
        }
        value => value.clone(),
    }
}

/// Whether they are equal, but for texts of which `found` has only the beginning.
fn is_alike(found: Option<&Value>, expected: Option<&Value>) -> bool {
    match (found, expected) {
        (Some(Value::Object(found)), Some(Value::Object(expected))) => {
            let is_alike = |(key, value)| is_alike(found.get(key), Some(value));
            found.len() == expected.len() && expected.iter().all(is_alike)
        }
        (Some(Value::String(found)), Some(Value::String(expected))) => {
            found == expected || expected.len() > 3 && expected.starts_with(found.as_str())
        }
        (found, expected) => found == expected,
    }
}

fn shape(value: Option<&Value>) -> Shape {
    match value {
        None => Shape::Absent,
        Some(Value::Null) => Shape::Null,
        Some(Value::Bool(_)) => Shape::Bool,
        Some(Value::Number(_)) => Shape::Number,
        Some(Value::String(_)) => Shape::String,
        Some(Value::Array(_)) => Shape::Array,
        Some(Value::Object(_)) => Shape::Object,
    }
}
