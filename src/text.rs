//! Text from elsewhere, made fit for a log line: cut on a character boundary, and escaped so that
//! it can neither start a line of its own nor steer a terminal.

use std::{borrow::Cow, fmt::Write as _};

/// Characters of a tool name that are shown.
pub(crate) const NAME_CHARS: usize = 128;
/// Characters of a name that are kept until it is redacted, and then cut.
pub(crate) const RAW_NAME_CHARS: usize = 8 * NAME_CHARS;
/// Characters of a failure's text that are kept.
pub(crate) const ERROR_CHARS: usize = 512;
/// Bytes of a source chain that are kept.
pub(crate) const CAUSE_BYTES: usize = 4096;
/// Bytes of a backtrace that are kept.
pub(crate) const BACKTRACE_BYTES: usize = 16 * 1024;
/// Bytes of a note that are kept.
pub(crate) const NOTE_BYTES: usize = 256;

/// `text`, at most `max` characters long; where it was longer, the last of them is `…`.
pub(crate) fn cut(text: &str, max: usize) -> Cow<'_, str> {
    // A text of `max` bytes has at most `max` characters: no need to count them.
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let mut ends = text.char_indices().map(|(at, _)| at);
    let keep = ends.nth(max.saturating_sub(1));
    match (keep, ends.next()) {
        (Some(keep), Some(_)) => Cow::Owned([text.get(..keep).unwrap_or_default(), "…"].concat()),
        _ => Cow::Borrowed(text),
    }
}

/// The first `max` characters of `text`.
pub(crate) fn prefix(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// `text`, at most `max` bytes long, cut before the character that would not fit, `…` included.
pub(crate) fn cut_bytes(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let room = max.saturating_sub("…".len());
    let keep = (0..=room).rev().find_map(|end| text.get(..end)).unwrap_or_default();
    Cow::Owned([keep, "…"].concat())
}

/// `text` with every character replaced that could end a line, move a cursor, hide or turn text:
/// controls, line separators, bidi and other format characters. What reads well stays as it is.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_unsafe) else {
        return Cow::Borrowed(text);
    };
    let (plain, rest) = text.split_at(first);
    let mut escaped = String::with_capacity(text.len() + 16);
    escaped.push_str(plain);
    for c in rest.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if is_unsafe(c) => {
                // Writing to a `String` cannot fail.
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// [`cut`], then [`escape`].
pub(crate) fn clean(text: &str, max: usize) -> Cow<'_, str> {
    match cut(text, max) {
        Cow::Borrowed(text) => escape(text),
        Cow::Owned(text) => match escape(&text) {
            Cow::Owned(escaped) => Cow::Owned(escaped),
            Cow::Borrowed(_) => Cow::Owned(text),
        },
    }
}

/// `value` as JSON, at most `max` bytes of it: `Err` with the start where it would be longer.
pub(crate) fn json_within(value: &serde_json::Value, max: usize) -> Result<String, String> {
    let mut out = Limited { bytes: Vec::new(), max };
    let is_whole = serde_json::to_writer(&mut out, value).is_ok();
    let text = String::from_utf8_lossy(&out.bytes).into_owned();
    if is_whole { Ok(text) } else { Err(text) }
}

/// Takes so many bytes and refuses the rest.
struct Limited {
    bytes: Vec<u8>,
    max: usize,
}

impl std::io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.max.saturating_sub(self.bytes.len());
        let fits = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(fits);
        if fits.len() < bytes.len() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn is_unsafe(c: char) -> bool {
    match c {
        ' '..='~' => false,
        // C0, DEL, C1
        c if c.is_control() => true,
        // Unicode general categories Cf, Zl and Zp, and the variation selectors and tags that
        // can hide text.
        '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e01ef}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_falls_between_characters() {
        let text = format!("{}{}", "a".repeat(199), "—".repeat(9));
        assert_eq!(cut(&text, 200), format!("{}…", "a".repeat(199)));
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(cut("", 0), "");
        assert_eq!(cut_bytes("aaaä", 5), "aaaä");
        assert_eq!(cut_bytes("aaaäb", 5), "aa…");
    }

    #[test]
    fn what_could_forge_a_line_or_steer_a_terminal_is_escaped() {
        assert_eq!(escape("x\n2026 ERROR fake"), "x\\n2026 ERROR fake");
        assert_eq!(escape("\u{1b}[31mred\u{202e}"), "\\u{1b}[31mred\\u{202e}");
        assert_eq!(escape("\u{2028}\u{85}\r\t"), "\\u{2028}\\u{85}\\r\\t");
        assert!(matches!(escape("größe/tool — ok"), Cow::Borrowed("größe/tool — ok")));
    }

    proptest! {
        #[test]
        fn clean_text_is_bounded_and_without_controls(text in any::<String>(), max in 1_usize..40) {
            let cut = cut(&text, max);
            prop_assert!(cut.chars().count() <= max);
            prop_assert!(cut_bytes(&text, max.max(3)).len() <= max.max(3));
            let clean = clean(&text, max);
            prop_assert!(!clean.chars().any(is_unsafe));
        }
    }
}
