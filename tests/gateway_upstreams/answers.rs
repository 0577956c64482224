//! What clients get.

use serde_json::{Value, json};

use crate::{events::SECRET, logs::Event, wire::Answer};

/// Headers that are about one connection, or one moment.
const OF_THE_MOMENT: &[&str] = &["connection", "date", "keep-alive", "transfer-encoding"];

/// The messages of an answer, in whichever form it came.
pub(crate) fn messages(answer: &Answer) -> Vec<Value> {
    let text = answer.text();
    let is_sse =
        answer.header("content-type").is_some_and(|it| it.starts_with("text/event-stream"));
    if !is_sse {
        return serde_json::from_str(&text).into_iter().collect();
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// The message that answers the request.
pub(crate) fn answer_to(case: &str, id: &Value, answer: &Answer) -> Value {
    let mut all = messages(answer).into_iter().filter(|it| it["id"] == *id);
    let first = all.next().unwrap_or_else(|| panic!("{case}: no answer to {id}: {answer:?}"));
    assert_eq!(all.next(), None, "{case}: two answers to {id}: {}", answer.text());
    first
}

/// Whether a body contains this.
pub(crate) fn has(text: &'static str) -> impl Fn(&[u8]) -> bool {
    move |body| body.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Whether a body contains an event that is over.
pub(crate) fn has_event(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).replace("\r\n", "\n").contains("\n\n")
}

/// The id of the last event.
pub(crate) fn last_event(answer: &Answer) -> String {
    let text = answer.text();
    let last = text.lines().filter_map(|line| line.strip_prefix("id:")).next_back();
    last.unwrap_or_else(|| panic!("no event id: {text}")).trim().to_owned()
}

/// That two answers are the same, but for what differs each time.
pub(crate) fn assert_same(case: &str, direct: &Answer, through: &Answer) {
    assert_eq!(through.response.status(), direct.response.status(), "{case}: {}", through.text());
    // The length of a stream of events is not promised: there may be one more.
    let is_promised = |(name, _): &(String, String)| {
        name != "content-length" || through.header("content-length").is_some()
    };
    let direct_headers: Vec<_> = headers(direct).into_iter().filter(is_promised).collect();
    assert_eq!(headers(through), direct_headers, "{case}");
    let (through_text, direct_text) = (plain(through), plain(direct));
    // Megabytes would be printed otherwise.
    let (a, b) = (through_text.len(), direct_text.len());
    assert!(
        through_text == direct_text,
        "{case}: {a} bytes, directly {b}:\n{:.2000}\ndirectly:\n{:.2000}",
        through_text,
        direct_text
    );
    assert_eq!(through.ends, direct.ends, "{case}");
}

/// But for what is about the moment.
fn headers(answer: &Answer) -> Vec<(String, String)> {
    let headers = answer.response.headers().iter();
    let mut all: Vec<_> = headers
        .filter(|(name, _)| !OF_THE_MOMENT.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = match name.as_str() {
                "mcp-session-id" => "*".to_owned(),
                _ => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            };
            (name.as_str().to_owned(), value)
        })
        .collect();
    all.sort();
    all
}

/// The body without the ids of events, and without references.
fn plain(answer: &Answer) -> String {
    let text = answer.text();
    let mut lines = text.split_inclusive('\n').map(|line| match line.strip_prefix("id: ") {
        Some(id) => format!("id: *{}", &id[id.trim_end().len()..]),
        None => line.to_owned(),
    });
    let mut text: String = lines.by_ref().collect();
    for message in messages(answer) {
        for record in [&message["result"]["_meta"], &message["error"]["data"]] {
            if let Some(reference) = record["tower-outcome/failure"]["reference"].as_str() {
                text = text.replace(reference, "*");
            }
        }
    }
    text
}

/// That the client reads a fault of ours, which the event is about.
pub(crate) fn assert_fault(case: &str, id: &Value, answer: &Answer, revision: &str, end: &Event) {
    let text = answer.text();
    assert_eq!(answer.response.status(), 200, "{case}: {text}");
    let message = answer_to(case, id, answer);
    assert_eq!(message["jsonrpc"], json!("2.0"), "{case}: {text}");
    let result = &message["result"];
    assert_eq!(result["isError"], json!(true), "{case}: {text}");
    let kind = (revision == "2026-07-28").then_some("complete");
    assert_eq!(result["resultType"].as_str(), kind, "{case}: {text}");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{case}: {text}");
    let words = result["content"][0]["text"].as_str().unwrap_or_default();
    let reference = end.field("call_id").unwrap_or_default();
    assert!(words.contains(reference) && !reference.is_empty(), "{case}: {reference} in {words}");
    assert_eq!(result["_meta"]["tower-outcome/failure"]["outcome"], json!("fault"), "{case}");
    assert_eq!(end.field("error"), Some(words), "{case}: {end:?}");
    for internal in [SECRET, "127.0.0.1", "hyper", "onnection", "RuntimeError", "Traceback"] {
        assert!(!text.contains(internal), "{case}: {internal} in {text}");
    }
    if let Some(length) = answer.header("content-length") {
        assert_eq!(length, text.len().to_string(), "{case}");
    }
}
