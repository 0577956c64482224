//! What is kept back of a body until it is known whether it may go out.

use std::borrow::Cow;

use bytes::Bytes;

use crate::binding::http::frames::Frames;

/// What becomes of the bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nobody knows yet what it is.
    Deciding,
    Flowing,
    /// It is held to its end, then judged.
    Holding,
    /// It was replaced before its end.
    Discarding,
}

/// What comes must not go out, for this reason, and it is no message that another could stand for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut(pub(super) &'static str);

impl Cut {
    /// The start of the message has gone out as one of a result.
    pub(super) const TWO_KINDS: Self = Self("a message that is a result and an error");
    /// It is in the middle of others, or answers nothing that is known.
    pub(super) const OVERSIZE: Self = Self("an error of more than 64 KiB");
    /// The status speaks against one, and what has come so far is none.
    pub(super) const NO_ANSWER: Self = Self("more than 64 KiB without an answer");
    pub(super) const NO_JSON: Self = Self("the body is no JSON");
    /// Most clients take neither.
    pub(super) const TWO_TEXTS: Self = Self("more than one JSON text");
}

/// Bytes of a message that may be kept back.
pub(super) const MAX_HELD: usize = 64 * 1024;
/// Frames of them: each takes room of its own, however short it is.
const MAX_FRAMES: usize = 1024;

/// Bytes of what is too long that are kept for the log.
const START_BYTES: usize = 4 * 1024;

/// Frames that wait for a decision.
#[derive(Debug, Default)]
pub(super) struct Held {
    frames: Vec<Bytes>,
    len: usize,
}

impl Held {
    pub(super) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.len = self.len.saturating_add(bytes.len());
            self.frames.push(bytes);
        }
    }

    /// Whether it is more than may be kept back.
    pub(super) fn is_full(&self) -> bool {
        self.len > MAX_HELD || self.frames.len() > MAX_FRAMES
    }

    /// Lets all of it go.
    pub(super) fn release(&mut self, out: &mut Frames) {
        self.len = 0;
        out.extend(self.frames.drain(..));
    }

    pub(super) fn discard(&mut self) {
        self.len = 0;
        self.frames.clear();
    }

    /// All of it and `more`, in one piece; nothing of it is held any more.
    pub(super) fn take_with(&mut self, more: &[u8]) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len.saturating_add(more.len()));
        for frame in &self.frames {
            all.extend_from_slice(frame);
        }
        all.extend_from_slice(more);
        self.discard();
        all
    }

    /// The same, still held, without a copy where it is in one piece.
    pub(super) fn with<'a>(&'a self, more: &'a [u8]) -> Cow<'a, [u8]> {
        match &*self.frames {
            [] => Cow::Borrowed(more),
            [frame] if more.is_empty() => Cow::Borrowed(frame),
            frames => {
                let mut all = Vec::with_capacity(self.len.saturating_add(more.len()));
                frames.iter().for_each(|frame| all.extend_from_slice(frame));
                all.extend_from_slice(more);
                Cow::Owned(all)
            }
        }
    }

    /// How it begins; nothing of it is held any more.
    pub(super) fn take_start(&mut self) -> Vec<u8> {
        let mut start = Vec::new();
        for frame in &self.frames {
            let room = START_BYTES.saturating_sub(start.len());
            start.extend_from_slice(frame.get(..room).unwrap_or(frame));
        }
        self.discard();
        start
    }
}

/// The part of a frame, if it is not empty.
pub(super) fn piece(frame: &Bytes, start: usize, end: usize) -> Option<Bytes> {
    match (start, end) {
        (0, end) if end == frame.len() => Some(frame.clone()),
        (start, end) if start < end && end <= frame.len() => Some(frame.slice(start..end)),
        _ => None,
    }
}
