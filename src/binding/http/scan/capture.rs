//! What is kept of a message, in bounded memory.

use std::borrow::Cow;

/// A value that was looked for: the text of a string, or any value as the JSON that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Captured {
    /// It is not there, or not of the type that it should be.
    #[default]
    Absent,
    /// All of it.
    Whole(Vec<u8>),
    /// It is longer than what is kept: how a text begins. Of JSON that was cut nothing is kept,
    /// since nobody could read it.
    Cut(Vec<u8>),
}

/// What a buffer reserves at first.
const LEAST_BYTES: usize = 128;

/// Bytes up to a bound.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    bound: usize,
    is_cut: bool,
}

impl Captured {
    pub(super) fn of(bytes: Vec<u8>, is_cut: bool) -> Self {
        if is_cut { Self::Cut(bytes) } else { Self::Whole(bytes) }
    }

    /// The text. Most are never asked for, so what is no UTF-8 in them is replaced only here.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        let bytes = match self {
            Self::Absent => return None,
            Self::Whole(bytes) => bytes,
            Self::Cut(bytes) => match std::str::from_utf8(bytes) {
                // It was cut within a character.
                Err(fault) if fault.error_len().is_none() => bytes.get(..fault.valid_up_to())?,
                _ => bytes,
            },
        };
        Some(String::from_utf8_lossy(bytes))
    }

    /// The text or the JSON, if none of it is missing.
    pub(crate) fn whole(&self) -> Option<Cow<'_, str>> {
        if self.is_cut() { None } else { self.text() }
    }

    /// Whether it is all of `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self, Self::Whole(bytes) if bytes == text.as_bytes())
    }

    /// Whether it is there, and there is more of it than is kept.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::Cut(_))
    }
}

impl Buffer {
    /// Empty, for at most `bound` bytes.
    pub(super) fn start(&mut self, bound: usize) {
        self.bytes.clear();
        self.bound = bound;
        self.is_cut = false;
    }

    /// Adds what there is room for.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.is_cut {
            return;
        }
        let fits = bytes.get(..self.room()).unwrap_or(bytes);
        self.is_cut = fits.len() < bytes.len();
        self.reserve(fits.len());
        self.bytes.extend_from_slice(fits);
    }

    /// Adds `byte`.
    #[inline]
    pub(super) fn push_byte(&mut self, byte: u8) {
        if self.bytes.len() < self.bytes.capacity() && self.bytes.len() < self.bound {
            self.bytes.push(byte);
        } else {
            self.push(&[byte]);
        }
    }

    /// Adds `character`, or nothing if there is no room for all of it.
    pub(super) fn push_char(&mut self, character: char) {
        let mut utf8 = [0; 4];
        let utf8 = character.encode_utf8(&mut utf8).as_bytes();
        if self.room() < utf8.len() {
            self.is_cut = true;
        }
        self.push(utf8);
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Bytes that it has room for.
    pub(super) fn room(&self) -> usize {
        self.bound.saturating_sub(self.bytes.len())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What it holds.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Gives its memory back.
    pub(super) fn free(&mut self) {
        self.bytes = Vec::new();
    }

    /// Doubles what is reserved, as a vector does, but never past the bound.
    fn reserve(&mut self, more: usize) {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        let needed = len.saturating_add(more);
        if needed > capacity {
            let target = capacity.saturating_mul(2).max(LEAST_BYTES).min(self.bound).max(needed);
            self.bytes.reserve_exact(target.saturating_sub(len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_never_reserves_more_than_its_bound() {
        let mut buffer = Buffer::default();
        buffer.start(1000);
        for _ in 0..999 {
            buffer.push(b"x");
            assert!(buffer.bytes.capacity() <= 1000);
        }
        buffer.push("é".as_bytes());
        assert_eq!((buffer.bytes().len(), buffer.is_cut()), (1000, true));
        buffer.push(b"x");
        assert_eq!(Captured::of(buffer.take(), true).text().as_deref(), Some(&*"x".repeat(999)));
    }

    #[test]
    fn a_text_ends_before_the_character_that_does_not_fit() {
        let mut buffer = Buffer::default();
        buffer.start(4);
        for character in "aé€b".chars() {
            buffer.push_char(character);
        }
        assert_eq!((buffer.take(), buffer.is_cut()), ("aé".into(), true));
    }

    #[test]
    fn what_is_no_text_is_shown_as_far_as_it_is() {
        let whole = Captured::Whole(b"a\xffb\xc3".to_vec());
        assert_eq!(whole.text().as_deref(), Some("a\u{fffd}b\u{fffd}"));
        let cut = Captured::Cut(b"a\xe2\x82".to_vec());
        assert_eq!((cut.text().as_deref(), cut.whole()), (Some("a"), None));
    }
}
