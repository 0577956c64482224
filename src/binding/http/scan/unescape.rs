//! The text of a JSON string.

use std::borrow::Cow;

use memchr::memchr;

/// The text of `json`, which is what stands between the quotes of a string; or how it begins, if
/// `json` `is_cut`: then the escape or the character that the cut goes through is left out.
///
/// What is no escape, half of a surrogate pair among it, and what is no UTF-8 becomes U+FFFD: peers
/// that send it read it back so.
pub(super) fn unescape(json: &[u8], is_cut: bool) -> Cow<'_, str> {
    let (plain, mut rest) = split_at_backslash(json);
    if rest.is_empty() {
        return lossy(plain, is_cut);
    }
    let mut text = plain.to_vec();
    while let [_, behind @ ..] = rest {
        let escape = Escape::of(behind);
        if is_cut && escape.is_torn {
            break;
        }
        text.extend_from_slice(escape.character.encode_utf8(&mut [0; 4]).as_bytes());
        let plain;
        (plain, rest) = split_at_backslash(behind.get(escape.len..).unwrap_or_default());
        text.extend_from_slice(plain);
    }
    Cow::Owned(lossy(&text, is_cut).into_owned())
}

/// `text`, with U+FFFD for what is no UTF-8; without the character that the cut goes through, if it
/// `is_cut`.
pub(super) fn lossy(text: &[u8], is_cut: bool) -> Cow<'_, str> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => return Cow::Borrowed(text),
        Err(error) if is_cut && error.error_len().is_none() => text.get(..error.valid_up_to()),
        Err(_) => Some(text),
    };
    String::from_utf8_lossy(text.unwrap_or_default())
}

/// What stands behind a backslash.
struct Escape {
    character: char,
    /// How many bytes it is.
    len: usize,
    /// It might go on behind the end.
    is_torn: bool,
}

impl Escape {
    /// The escape with which `json` begins.
    fn of(json: &[u8]) -> Self {
        let character = match json {
            [] => return Self::unknown(0, true),
            [b'u', digits @ ..] => return Self::of_digits(digits),
            [b'n', ..] => '\n',
            [b't', ..] => '\t',
            [b'r', ..] => '\r',
            [b'b', ..] => '\u{8}',
            [b'f', ..] => '\u{c}',
            [byte @ (b'"' | b'\\' | b'/'), ..] => char::from(*byte),
            _ => return Self::unknown(1, false),
        };
        Self { character, len: 1, is_torn: false }
    }

    /// The same, behind its `u`.
    fn of_digits(json: &[u8]) -> Self {
        let (high, digits) = unit(json);
        let len = 1 + digits;
        if digits < 4 {
            return Self::unknown(len, digits == json.len());
        }
        if let Some(character) = char::from_u32(high.into()) {
            return Self { character, len, is_torn: false };
        }
        // Half of a pair: the other half has to follow.
        let behind = match json.get(4..) {
            Some([] | [b'\\']) => return Self::unknown(len, true),
            Some([b'\\', b'u', behind @ ..]) => behind,
            _ => return Self::unknown(len, false),
        };
        let (low, digits) = unit(behind);
        if digits < 4 {
            return Self::unknown(len, digits == behind.len());
        }
        match char::decode_utf16([high, low]).next() {
            Some(Ok(character)) => Self { character, len: len + 6, is_torn: false },
            _ => Self::unknown(len, false),
        }
    }

    fn unknown(len: usize, is_torn: bool) -> Self {
        Self { character: char::REPLACEMENT_CHARACTER, len, is_torn }
    }
}

/// The UTF-16 code unit that the first four digits are, or fewer where there are fewer.
fn unit(digits: &[u8]) -> (u16, usize) {
    let digits = digits.iter().take(4).map_while(|digit| char::from(*digit).to_digit(16));
    digits.fold((0, 0), |(unit, count), digit| (unit << 4 | digit as u16, count + 1))
}

fn split_at_backslash(json: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr(b'\\', json).unwrap_or(json.len());
    json.split_at_checked(at).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (json, text) in [
            (r"", ""),
            (r"plain ü", "plain ü"),
            (r#"\"\\\/\n\t\r\b\f"#, "\"\\/\n\t\r\u{8}\u{c}"),
            (r"\u00e9\u20AC\u0000x", "é€\0x"),
            (r"\ud83d\ude00!", "😀!"),
            (r"\ud83d!", "\u{fffd}!"),
            (r"\ud83d", "\u{fffd}"),
            (r"\ud83d\n", "\u{fffd}\n"),
            (r"\ude00a", "\u{fffd}a"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\ud83d\u12", "\u{fffd}\u{fffd}"),
            (r"\x\u12g", "\u{fffd}\u{fffd}g"),
            (r"\u12", "\u{fffd}"),
        ] {
            assert_eq!(unescape(json.as_bytes(), false), text, "{json}");
        }
        assert_eq!(unescape(b"a\xffb\xc3", false), "a\u{fffd}b\u{fffd}");
        assert_eq!(unescape(b"\\na\xffb\xc3", false), "\na\u{fffd}b\u{fffd}");
    }

    #[test]
    fn what_a_cut_goes_through_is_left_out() {
        let json = r"a\n\u00e9\\€\ud83d\ude00b";
        let text = "a\né\\€😀b";
        for cut in 0..json.len() {
            let beginning = unescape(&json.as_bytes()[..cut], true);
            assert!(text.starts_with(&*beginning), "{cut} {beginning}");
        }
        assert_eq!(unescape(json.as_bytes(), true), text);
        assert_eq!(unescape(&json.as_bytes()[..json.len() - 2], true), "a\né\\€");
    }
}
