//! Bounds on what a failure quotes: records and texts stay small, whatever was sent.

use std::time::Duration;

use serde_json::Value;

use crate::text;

/// Bytes of a received value, as JSON.
pub(super) const RECEIVED_BYTES: usize = 256;
/// Characters of a message, and of the text as a whole.
pub(super) const MESSAGE_CHARS: usize = 1500;
pub(super) const TEXT_CHARS: usize = 2000;
/// Characters of the next step.
pub(super) const RECOVER_CHARS: usize = 400;
/// Characters of a field's path, an item of a list, a reference.
pub(super) const NAME_CHARS: usize = 128;
/// Characters of a permitted form in words.
pub(super) const FORM_CHARS: usize = 256;
/// Items of any list.
pub(super) const ITEMS: usize = 64;

/// `value` as JSON, to be quoted in a text.
pub(super) fn json(value: &Value) -> String {
    text::json_within(value, RECEIVED_BYTES).unwrap_or_else(|start| start + "…")
}

/// Whether `value` takes at most [`RECEIVED_BYTES`] as JSON.
pub(super) fn fits(value: &Value) -> bool {
    text::json_within(value, RECEIVED_BYTES).is_ok()
}

/// `value`, or what fits of it into [`RECEIVED_BYTES`] of JSON: the start of a string, or of
/// anything else's JSON as a string.
pub(super) fn received(value: Value) -> Value {
    if fits(&value) {
        return value;
    }
    let text = match value {
        Value::String(text) => text,
        other => match text::json_within(&other, RECEIVED_BYTES) {
            Ok(text) | Err(text) => text,
        },
    };
    // Two quotes and the ellipsis.
    let mut room = RECEIVED_BYTES - 5;
    let keep = text.char_indices().find_map(|(at, c)| {
        let size = match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            c => c.len_utf8(),
        };
        match room.checked_sub(size) {
            Some(rest) => room = rest,
            None => return Some(at),
        }
        None
    });
    let keep = keep.and_then(|at| text.get(..at)).unwrap_or(&text);
    Value::String([keep, "…"].concat())
}

/// A permitted form: a text, or a list of values; nothing else is one.
pub(super) fn permitted(value: Value) -> Option<Value> {
    match value {
        Value::String(form) => Some(Value::String(cut(&form, FORM_CHARS))),
        Value::Array(mut values) => {
            values.truncate(ITEMS);
            values.iter().all(fits).then_some(Value::Array(values))
        }
        _ => None,
    }
}

pub(super) fn cut(text: &str, max: usize) -> String {
    text::cut(text, max).into_owned()
}

/// The first of these names, and how many more there are. Blank ones do not count.
pub(super) fn counted_names(
    names: impl IntoIterator<Item = impl AsRef<str>>,
) -> (Vec<String>, usize) {
    let mut names = names.into_iter().filter(|name| !name.as_ref().trim().is_empty());
    let kept = names.by_ref().take(ITEMS).map(|name| cut(name.as_ref(), NAME_CHARS)).collect();
    (kept, names.count())
}

/// A delay that means something: finite, not negative, at most about a century.
pub(super) fn seconds(seconds: f64) -> Option<f64> {
    (0.0..=f64::from(u32::MAX)).contains(&seconds).then_some(seconds)
}

pub(super) fn seconds_of(delay: Duration) -> f64 {
    // To the millisecond: a delay that was computed carries digits that mean nothing.
    let rounded = (delay.as_secs_f64() * 1000.0).ceil() / 1000.0;
    rounded.min(f64::from(u32::MAX))
}

/// Seconds as JSON: an integer where they are whole.
pub(super) fn number(seconds: f64) -> Value {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float too large or negative saturates, and then is not equal"
    )]
    let whole = seconds as u64;
    #[allow(clippy::cast_precision_loss, reason = "then it is not equal, or means the same")]
    if whole as f64 == seconds { Value::from(whole) } else { Value::from(seconds) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_small_stays_and_what_is_large_is_cut() {
        assert_eq!(received(json!({"a": [1, null]})), json!({"a": [1, null]}));
        let cut = received(Value::from("x".repeat(999)));
        assert_eq!(cut, Value::from("x".repeat(251) + "…"));
        let list = received(Value::from(vec!["ä"; 999]));
        assert!(list.as_str().is_some_and(|text| text.starts_with(r#"["ä","ä""#)), "{list}");
        assert!(fits(&list));
    }

    #[test]
    fn whole_seconds_are_integers() {
        assert_eq!(number(12.0), json!(12));
        assert_eq!(number(0.5), json!(0.5));
        assert_eq!(seconds_of(Duration::from_micros(1_500_100)), 1.501);
        for invalid in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(seconds(invalid), None);
        }
    }

    proptest! {
        #[test]
        fn what_was_received_fits(text in "[\u{0}-\u{7f}ä€😀\"\\\\\n]{0,400}") {
            let cut = received(Value::from(text));
            prop_assert!(fits(&cut));
            prop_assert_eq!(received(cut.clone()), cut);
        }
    }
}
