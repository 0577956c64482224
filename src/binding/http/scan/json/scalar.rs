//! Numbers and literals.

use super::{
    super::{capture::Kept, place::Place},
    Keep, Scanner,
};

/// Longer than any literal, and than any number that 64 bits hold.
pub(super) const TOKEN_BYTES: usize = 64;

impl Scanner {
    /// A number or a literal.
    #[inline]
    pub(super) fn scalar<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let end = rest.iter().position(|byte| !is_in_scalar(*byte));
        let (piece, rest) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or_default();
        match end {
            Some(_) if self.buffer.is_empty() && self.buffer.has_room_for(piece) => {
                self.end_scalar(piece, false);
            }
            end => {
                self.buffer.push(piece);
                if end.is_some() {
                    // Taken out, since what it means is written elsewhere in `self`.
                    let buffer = std::mem::take(&mut self.buffer);
                    self.end_scalar(buffer.bytes(), buffer.is_cut());
                }
            }
        }
        rest
    }

    #[inline]
    fn end_scalar(&mut self, token: &[u8], is_cut: bool) {
        let is_valid = match token {
            [b't', ..] => token == b"true",
            [b'f', ..] => token == b"false",
            [b'n', ..] => token == b"null",
            _ => !self.is_kept() || is_cut || is_number(token),
        };
        if !is_valid {
            return self.malformed();
        }
        if self.kept == Keep::Json {
            self.kept = Keep::Nothing;
            self.keep_counted(Kept::of(if is_cut { &[] } else { token }, is_cut));
        } else if self.place == Place::Member {
            self.keep_scalar(token, is_cut);
        } else if self.place != Place::Other {
            // What was cut is no literal, and no number that anybody asks for.
            self.facts.scalar(self.scope, self.place, if is_cut { b"" } else { token });
        }
        self.end_value();
    }

    /// Whether something is kept of the value, which then may be written elsewhere.
    fn is_kept(&self) -> bool {
        self.kept != Keep::Nothing || self.place == Place::Member
    }
}

/// Whether `byte` may stand in a literal or a number.
#[inline]
pub(super) fn is_in_scalar(byte: u8) -> bool {
    #[allow(clippy::indexing_slicing, reason = "an index past the end would not compile")]
    const TABLE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            table[byte as usize] =
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
            byte += 1;
        }
        table
    };
    TABLE.get(usize::from(byte)).is_some_and(|is| *is)
}

/// Whether `token` is a number as JSON has them.
fn is_number(token: &[u8]) -> bool {
    let rest = token.strip_prefix(b"-").unwrap_or(token);
    let rest = match rest {
        [b'0', rest @ ..] => Some(rest),
        rest => behind_digits(rest),
    };
    let rest = rest.and_then(|rest| match rest {
        [b'.', rest @ ..] => behind_digits(rest),
        rest => Some(rest),
    });
    let rest = rest.and_then(|rest| match rest {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => behind_digits(rest),
        rest => Some(rest),
    });
    rest.is_some_and(<[u8]>::is_empty)
}

/// What is behind the digits with which `text` begins, if it does with any.
fn behind_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 { None } else { text.get(digits..) }
}
