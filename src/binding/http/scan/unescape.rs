//! The text of a JSON string, piece by piece.

use super::{capture::Buffer, skip::quote_or_backslash};

/// Turns the pieces of a JSON string into its text, wherever they were cut apart.
///
/// What is no escape, half of a surrogate pair among it, becomes U+FFFD: peers that send it read
/// it back so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unescape {
    state: State,
    /// The first half of a pair, whose second has to follow.
    high: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Plain,
    /// Behind a backslash.
    Escape,
    /// In the digits of `\u`.
    Hex { digits: u8, unit: u16 },
}

impl Unescape {
    /// Adds the text of `piece` to `text`.
    pub(super) fn push(&mut self, piece: &[u8], text: &mut Buffer) {
        let mut rest = piece;
        // What follows a cut matters no more.
        while !rest.is_empty() && !text.is_cut() {
            rest = match self.state {
                State::Plain => self.plain(rest, text),
                State::Escape => self.escape(rest, text),
                State::Hex { digits, unit } => self.hex(rest, text, digits, unit),
            };
        }
    }

    /// The string has ended.
    pub(super) fn finish(&mut self, text: &mut Buffer) {
        if !matches!(self.state, State::Plain) {
            text.push_char(char::REPLACEMENT_CHARACTER);
        }
        self.end_pair(text);
        self.state = State::Plain;
    }

    /// Up to the next escape, and over its backslash.
    fn plain<'a>(&mut self, piece: &'a [u8], text: &mut Buffer) -> &'a [u8] {
        let mut rest = piece;
        while !text.is_cut() {
            // Not further than there is room, by a byte more. A quote stands behind a backslash,
            // which comes first.
            let near = rest.get(..text.room().saturating_add(1)).unwrap_or(rest);
            let plain = quote_or_backslash(near).unwrap_or(near.len());
            let (plain, behind) = rest.split_at_checked(plain).unwrap_or_default();
            if !plain.is_empty() {
                self.end_pair(text);
                text.push(plain);
            }
            rest = match behind {
                [] => return &[],
                [b'\\', escape, behind @ ..] if let Some(byte) = simple(*escape) => {
                    self.end_pair(text);
                    text.push_byte(byte);
                    behind
                }
                [b'\\', b'u', a, b, c, d, behind @ ..]
                    if let Some(unit) = unit([*a, *b, *c, *d]) =>
                {
                    self.unit(unit, text);
                    behind
                }
                [_, behind @ ..] => {
                    self.state = State::Escape;
                    return behind;
                }
            };
        }
        rest
    }

    /// Behind a backslash, where a piece began there, or what is not an escape.
    fn escape<'a>(&mut self, piece: &'a [u8], text: &mut Buffer) -> &'a [u8] {
        let [byte, rest @ ..] = piece else { return piece };
        if *byte == b'u' {
            self.state = State::Hex { digits: 0, unit: 0 };
            return rest;
        }
        self.state = State::Plain;
        self.end_pair(text);
        match simple(*byte) {
            Some(byte) => text.push_byte(byte),
            None => text.push_char(char::REPLACEMENT_CHARACTER),
        }
        rest
    }

    /// The digits of `\u`, where they are cut apart or are none.
    fn hex<'a>(&mut self, piece: &'a [u8], text: &mut Buffer, digits: u8, unit: u16) -> &'a [u8] {
        let [byte, rest @ ..] = piece else { return piece };
        let Some(digit) = hex_digit(*byte) else {
            self.state = State::Plain;
            self.end_pair(text);
            text.push_char(char::REPLACEMENT_CHARACTER);
            return piece;
        };
        let unit = unit << 4 | digit;
        if digits < 3 {
            self.state = State::Hex { digits: digits + 1, unit };
        } else {
            self.state = State::Plain;
            self.unit(unit, text);
        }
        rest
    }

    /// A UTF-16 code unit: a character, or half of one.
    #[inline]
    fn unit(&mut self, unit: u16, text: &mut Buffer) {
        match (self.high.take(), unit) {
            (None, 0..=0x7f) => text.push_byte(unit as u8),
            (Some(high), 0xdc00..=0xdfff) => {
                for character in char::decode_utf16([high, unit]) {
                    text.push_char(character.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
            (high, unit) => {
                self.high = high;
                self.end_pair(text);
                match unit {
                    0xd800..=0xdbff => self.high = Some(unit),
                    unit => text.push_char(
                        char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
                    ),
                }
            }
        }
    }

    /// A first half that no second follows.
    fn end_pair(&mut self, text: &mut Buffer) {
        if self.high.take().is_some() {
            text.push_char(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// What a backslash and `byte` stand for.
#[inline]
fn simple(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        _ => return None,
    })
}

/// The code unit that four digits are.
#[inline]
fn unit(digits: [u8; 4]) -> Option<u16> {
    digits.into_iter().try_fold(0, |unit, digit| Some(unit << 4 | hex_digit(digit)?))
}

#[inline]
fn hex_digit(byte: u8) -> Option<u16> {
    Some(u16::from(match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        b'A'..=b'F' => byte - b'A' + 10,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pieces: &[&[u8]], bound: usize) -> (String, bool) {
        let (mut unescape, mut buffer) = (Unescape::default(), Buffer::default());
        buffer.start(bound);
        for piece in pieces {
            unescape.push(piece, &mut buffer);
        }
        unescape.finish(&mut buffer);
        (String::from_utf8(buffer.take()).unwrap(), buffer.is_cut())
    }

    #[test]
    fn escapes_are_undone_wherever_they_are_cut() {
        for (json, expected) in [
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
            (r"\x\u12g", "\u{fffd}\u{fffd}g"),
            (r"\u12", "\u{fffd}"),
        ] {
            for cut in 0..=json.len() {
                let (front, back) = json.as_bytes().split_at(cut);
                assert_eq!(text(&[front, back], 100), (expected.into(), false), "{json} at {cut}");
            }
            let bytes: Vec<_> = json.as_bytes().chunks(1).collect();
            assert_eq!(text(&bytes, 100), (expected.into(), false), "{json}");
        }
    }

    #[test]
    fn nothing_is_added_behind_what_did_not_fit() {
        assert_eq!(text(&[br"ab\u20acc"], 4), ("ab".into(), true));
        assert_eq!(text(&[br"ab\u20acc"], 5), ("ab€".into(), true));
        assert_eq!(text(&[br"ab\u20ac"], 5), ("ab€".into(), false));
    }
}
