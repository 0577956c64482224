//! What is kept of a message, in bounded memory.

use std::borrow::Cow;

use super::unescape::{lossy, unescape};

/// A string that was looked for.
///
/// It is kept as it came: most are never asked for, and so their escapes are not undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(super) Kept);

/// A value that was looked for, as the JSON that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Json(pub(super) Kept);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is not there, or not of the type that it should be.
    #[default]
    Absent,
    /// All of what is short, as ids, methods and versions are: no allocation for them.
    Short {
        len: u8,
        bytes: [u8; SHORT_BYTES],
    },
    Whole(Box<[u8]>),
    Cut(Box<[u8]>),
}

/// What fits beside the tag where a box would be.
pub(super) const SHORT_BYTES: usize = 22;

/// What a buffer reserves at first.
const LEAST_BYTES: usize = 128;

/// Bytes up to a bound.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    bound: usize,
    is_cut: bool,
}

impl Text {
    /// The text, or how it begins.
    pub(crate) fn get(&self) -> Option<Cow<'_, str>> {
        Some(unescape(self.0.bytes()?, self.is_cut()))
    }

    /// Whether it is all of `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        // What has no backslash needs no look at its escapes.
        let is_equal = |bytes| bytes == text.as_bytes() || *unescape(bytes, false) == *text;
        !self.is_cut() && self.0.bytes().is_some_and(is_equal)
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.0, Kept::Absent)
    }

    /// Whether it is longer than what is kept of it.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.0, Kept::Cut(_))
    }
}

impl Json {
    /// The JSON. Of what was cut nothing is kept, since nobody could read it.
    pub(crate) fn get(&self) -> Option<Cow<'_, str>> {
        let bytes = self.0.bytes().filter(|_| !self.is_cut())?;
        Some(lossy(bytes, false))
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.0, Kept::Absent)
    }

    /// Whether it is longer than what would be kept of it.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.0, Kept::Cut(_))
    }
}

impl Kept {
    /// `bytes`, which are not all of it if it `is_cut`.
    #[inline]
    pub(super) fn of(bytes: &[u8], is_cut: bool) -> Self {
        match u8::try_from(bytes.len()) {
            _ if is_cut => Self::Cut(bytes.into()),
            Ok(len) if bytes.len() <= SHORT_BYTES => {
                let mut short = [0; SHORT_BYTES];
                for (to, from) in short.iter_mut().zip(bytes) {
                    *to = *from;
                }
                Self::Short { len, bytes: short }
            }
            _ => Self::Whole(bytes.into()),
        }
    }

    /// Bytes that it takes elsewhere.
    #[inline]
    pub(super) fn heap(&self) -> usize {
        match self {
            Self::Absent | Self::Short { .. } => 0,
            Self::Whole(bytes) | Self::Cut(bytes) => bytes.len(),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => None,
            Self::Short { len, bytes } => bytes.get(..usize::from(*len)),
            Self::Whole(bytes) | Self::Cut(bytes) => Some(bytes),
        }
    }
}

impl Buffer {
    /// Empty, for at most `bound` bytes.
    pub(super) fn start(&mut self, bound: usize) {
        self.bytes.clear();
        self.bound = bound;
        self.is_cut = false;
    }

    /// No more than this, whatever it was begun with.
    pub(super) fn limit(&mut self, bound: usize) {
        self.bound = self.bound.min(bound);
    }

    /// Adds what there is room for.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.is_cut {
            return;
        }
        let fits = bytes.get(..self.room()).unwrap_or(bytes);
        self.is_cut = fits.len() < bytes.len();
        // As a vector grows, but never past the bound.
        let needed = self.bytes.len().saturating_add(fits.len());
        if needed > self.bytes.capacity() {
            let twice = self.bytes.capacity().saturating_mul(2).max(LEAST_BYTES);
            let capacity = twice.min(self.bound).max(needed);
            self.bytes.reserve_exact(capacity.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(fits);
    }

    /// Whether all of `bytes` could be added.
    pub(super) fn has_room_for(&self, bytes: &[u8]) -> bool {
        bytes.len() <= self.room()
    }

    fn room(&self) -> usize {
        self.bound.saturating_sub(self.bytes.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// What it holds.
    pub(super) fn take(&mut self) -> Kept {
        match (self.is_cut, self.bytes.len()) {
            (false, 0..=SHORT_BYTES) => Kept::of(&self.bytes, false),
            (false, _) => Kept::Whole(std::mem::take(&mut self.bytes).into()),
            (true, _) => Kept::Cut(std::mem::take(&mut self.bytes).into()),
        }
    }

    /// Gives its memory back.
    pub(super) fn free(&mut self) {
        self.bytes = Vec::new();
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
        let text = Text(buffer.take());
        assert_eq!(text.get().as_deref(), Some(&*"x".repeat(999)));
        assert!(text.is_cut() && !text.is(&"x".repeat(999)));
    }

    #[test]
    fn what_is_short_is_kept_in_place() {
        assert_eq!(size_of::<Kept>(), 24);
        let mut buffer = Buffer::default();
        for len in 0..40 {
            let text = "x".repeat(len);
            buffer.start(100);
            buffer.push(text.as_bytes());
            assert_eq!(buffer.take(), Kept::of(text.as_bytes(), false));
            assert!(Text(Kept::of(text.as_bytes(), false)).is(&text));
        }
    }

    #[test]
    fn a_text_is_compared_without_its_escapes() {
        let text = Text(Kept::of(br"t\u0061sk", false));
        assert!(text.is("task") && !text.is(r"t\u0061sk"[1..].trim()) && !text.is("t"));
        assert!(!Text::default().is("") && Text(Kept::of(b"", false)).is(""));
    }

    #[test]
    fn of_json_that_was_cut_nothing_can_be_read() {
        let mut buffer = Buffer::default();
        buffer.start(3);
        buffer.push(b"[1,2]");
        let json = Json(buffer.take());
        assert_eq!((json.get(), json.is_cut(), json.is_absent()), (None, true, false));
    }
}
