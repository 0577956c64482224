//! What holds for every field of every event, whatever it is about.

use serde_json::{Map, Value};

use crate::support::{Event, Logs};

/// Texts that are not fit to print as they are.
pub(crate) const NASTY: [&str; 9] = [
    "x\n2026-11-30T20:00:00Z ERROR tower_outcome: fake",
    "\u{1b}[31mred\u{1b}[2J\u{9b}31m",
    "a\r\nb\tc\u{b}d",
    "nul\0del\u{7f}bell\u{7}",
    "\u{202e}gnp.exe\u{2066}\u{200f}\u{61c}",
    "line\u{2028}paragraph\u{2029}nel\u{85}bom\u{feff}",
    "tag\u{e0041}zero\u{200b}width\u{2060}",
    "{\"level\":\"ERROR\"} \"quoted\" \\n %s {}",
    "",
];

/// Checks all events of ours so far.
pub(crate) fn assert_fit_to_print(logs: &Logs) {
    let events = logs.of_target("tower_outcome");
    assert!(!events.is_empty());
    events.iter().for_each(check);
    let is_ours = |line: &&str| line.contains("\"target\":\"tower_outcome\"");
    for line in logs.raw().lines().filter(is_ours) {
        assert!(!line.chars().any(is_nasty), "{line:?}");
    }
}

fn check(event: &Event) {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    assert!(event.message.chars().all(is_name), "a name and nothing else: {event:?}");
    check_fields(&event.fields, event);
}

fn check_fields(fields: &Map<String, Value>, event: &Event) {
    for (name, value) in fields {
        let Value::String(text) = value else {
            assert!(value.is_number() || value.is_boolean(), "{name} of {event:?}");
            continue;
        };
        if name == "backtrace" {
            // Lines of our own process, and only where it is asked for them.
            continue;
        }
        assert!(!text.chars().any(is_nasty), "{name} is {text:?}");
        if name == "notes" {
            check_notes(text);
            continue;
        }
        let (shown, bound) = (shown(text), bound(name));
        assert!(shown <= bound, "{name} has {shown} characters: {text:.200?}…");
    }
}

/// A JSON object of what the tool noted.
fn check_notes(text: &str) {
    let notes: Map<String, Value> = serde_json::from_str(text).unwrap();
    assert!(notes.len() <= 16, "{text}");
    for note in notes.values().map(|note| note.as_str().unwrap()) {
        assert!(!note.chars().any(is_nasty) && shown(note) <= 256, "{note}");
    }
}

/// Characters that are kept of a field.
fn bound(name: &str) -> usize {
    match name {
        "error" => 512,
        "cause" => 4096,
        "code" => 64,
        "call_id" | "session" | "trace_id" | "span_id" => 32,
        // Names, and what is written in this repository.
        _ => 256,
    }
}

/// The characters of a text that was escaped, each escape counted as the one that it stands for.
fn shown(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        count += 1;
        if c == '\\' && rest.next() == Some('u') {
            let digits = rest.as_str();
            if let Some(end) = digits.strip_prefix('{').and_then(|digits| digits.find('}')) {
                rest = digits[end + 2..].chars();
            }
        }
    }
    count
}

/// Controls, separators of lines, and what turns or hides text.
fn is_nasty(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{ad}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
