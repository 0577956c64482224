//! The scanner for JSON: one pass, in pieces of any size, without recursion.

mod kept;
mod member;
mod scalar;
mod value;

#[cfg(test)]
mod task_tests;
#[cfg(test)]
mod tests;

use super::{
    Config, Seen,
    capture::{Buffer, Text},
    facts::{Envelope, Facts},
    place::{Place, Scope},
    skip::{NestedSkip, StringSkip},
};

/// Reads a JSON-RPC message, or a batch of them, as it streams past, and keeps what matters.
///
/// What is looked at has to be JSON, or the text is malformed and nothing more of it is read. In
/// what is skipped, only strings and brackets are: a scanner is no validator, and the peer has a
/// parser of its own.
#[derive(Debug)]
pub(crate) struct Scanner {
    config: Config,
    step: Step,
    /// The array or object whose elements or members are being read.
    inside: Place,
    /// The value that is being read.
    place: Place,
    /// Whose `result` and `error` they are in.
    scope: Scope,
    /// Which of the members that are asked for `inside` and `place` are, if they are some.
    inside_node: u8,
    node: u8,
    /// What is kept of the value.
    kept: Keep,
    is_batch: bool,
    block: Block,
    string: StringSkip,
    nested: NestedSkip,
    buffer: Buffer,
    /// Bytes that were read before the piece, and those that will be with it.
    offset: u64,
    end: u64,
    seen: Seen,
    /// What was last said of the message.
    envelope: Envelope,
    facts: Facts,
    /// One bit for each place of the scope at which a value has begun.
    begun: u64,
    /// The same of the scope that is not read now: the message's, or that inside of it. A bit that
    /// is left there from one that was read before costs time alone.
    other_begun: u64,
    /// Bytes that may be kept of a message beyond the usual.
    extra: usize,
    /// Those that are kept of this one. Of keys that are there twice, both count.
    spent: usize,
}

/// How far a text has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing yet, but perhaps white space.
    Empty,
    /// It goes on.
    Open,
    /// To its end.
    Complete,
    /// As far as it was JSON.
    Malformed,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The text begins.
    Root,
    /// The value of a key.
    Value,
    /// An element, or the end of the array.
    FirstElement,
    Element,
    /// A key, or the end of the object.
    FirstKey,
    Key,
    /// The rest of a key.
    KeyText,
    Colon,
    /// A comma, or the end.
    Next,
    /// The rest of a string.
    String,
    /// The rest of a number or a literal.
    Scalar,
    /// The rest of an array or object that this bracket ends.
    Nested(u8),
    /// The text is over.
    Done,
    Malformed,
}

/// What is kept of a value as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Nothing,
    /// What stands between its quotes.
    Text,
    /// All of it.
    Json,
}

/// An element of `content`.
#[derive(Debug, Default)]
struct Block {
    is_text: bool,
    text: Text,
    /// Whether one of type `text` was there before, or is this one.
    is_found: bool,
}

impl Scanner {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            extra: config.extra_bytes(),
            config,
            step: Step::Root,
            inside: Place::Root,
            place: Place::Root,
            scope: Scope::Message,
            inside_node: 0,
            node: 0,
            kept: Keep::Nothing,
            is_batch: false,
            block: Block::default(),
            string: StringSkip::default(),
            nested: NestedSkip::new(),
            buffer: Buffer::default(),
            offset: 0,
            end: 0,
            seen: Seen::Nothing,
            envelope: Envelope::Undecided,
            facts: Facts::default(),
            begun: 0,
            other_begun: 0,
            spent: 0,
        }
    }

    /// Reads `bytes` up to the first thing that a caller may act on: how many were read, and what
    /// was seen at the end of them. To be called again with the rest, until all is read.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> (usize, Seen) {
        self.end = self.offset.saturating_add(bytes.len() as u64);
        self.seen = Seen::Nothing;
        let mut rest = bytes;
        while let [byte, after @ ..] = rest
            && self.seen == Seen::Nothing
        {
            rest = match self.step {
                Step::String => self.string(rest),
                Step::Nested(closing) => self.nested(rest, closing),
                Step::Scalar => self.scalar(rest),
                Step::KeyText => self.key_text(rest),
                Step::Malformed => &[],
                _ => self.token(*byte, rest, after),
            };
        }
        self.offset = self.position(rest);
        (bytes.len() - rest.len(), self.seen)
    }

    /// Another text begins: the next event of a stream.
    pub(crate) fn restart(&mut self) {
        self.step = Step::Root;
        self.inside = Place::Root;
        self.scope = Scope::Message;
        self.kept = Keep::Nothing;
        self.is_batch = false;
        self.string = StringSkip::default();
        self.envelope = Envelope::Undecided;
        if std::mem::take(&mut self.begun) | std::mem::take(&mut self.other_begun) != 0 {
            self.facts = Facts::default();
        }
    }

    /// What the message that was last begun has said so far.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The same, to keep. To be called when the message has ended.
    pub(crate) fn take_facts(&mut self) -> Facts {
        std::mem::take(&mut self.facts)
    }

    /// Whether the text is an array of messages.
    pub(crate) fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// How far the text was read.
    pub(crate) fn progress(&self) -> Progress {
        match self.step {
            Step::Root => Progress::Empty,
            Step::Done => Progress::Complete,
            Step::Malformed => Progress::Malformed,
            _ => Progress::Open,
        }
    }

    /// Bytes that were read since the scanner was made.
    #[allow(dead_code, reason = "for the fuzz target")]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that are reserved for what is being read.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// What stands between values: a `byte`, with which `rest` begins, and which `after` follows.
    #[inline]
    fn token<'a>(&mut self, byte: u8, rest: &'a [u8], after: &'a [u8]) -> &'a [u8] {
        match (self.step, byte) {
            (_, b' ' | b'\n' | b'\r' | b'\t') => return after,
            (Step::FirstKey | Step::Key, b'"') => return self.members(after),
            (Step::Next, b',') if self.inside.is_array() => self.step = Step::Element,
            (Step::Next, b',') => self.step = Step::Key,
            (Step::Next, b']') if self.inside.is_array() => self.close(after),
            (Step::Next, b'}') if !self.inside.is_array() => self.close(after),
            (Step::FirstElement, b']') | (Step::FirstKey, b'}') => self.close(after),
            (Step::FirstElement | Step::Element, _) => return self.element(byte, rest),
            (Step::Colon, b':') => self.step = Step::Value,
            (Step::Value, _) => return self.value(byte, rest),
            (Step::Root, _) => {
                self.is_batch = byte == b'[';
                self.place = match byte {
                    b'{' => Place::Message,
                    b'[' => Place::Batch,
                    _ => Place::Other,
                };
                return self.value(byte, rest);
            }
            _ => self.malformed(),
        }
        after
    }

    /// The array or object ends of which elements or members were read, before `after`.
    fn close(&mut self, after: &[u8]) {
        let closed = self.inside;
        if closed == Place::Member {
            return self.close_member();
        }
        self.inside = match closed {
            Place::Result | Place::Error if self.scope != Scope::Message => self.leave_task(),
            closed => closed.parent(self.is_batch),
        };
        self.end_value();
        match closed {
            Place::Message => {
                self.facts.end = Some(self.position(after));
                self.seen = Seen::End;
            }
            Place::Block if self.block.is_text => {
                self.block.is_found = true;
                let text = std::mem::take(&mut self.block.text);
                self.facts.parts(self.scope).0.text = text;
            }
            _ => {}
        }
    }

    /// The `result` or `error` of a task ends: what it is in.
    #[cold]
    fn leave_task(&mut self) -> Place {
        std::mem::swap(&mut self.begun, &mut self.other_begun);
        match std::mem::take(&mut self.scope) {
            Scope::Params => Place::Params,
            Scope::Message | Scope::Result => Place::Result,
        }
    }

    /// What follows passes unread.
    fn malformed(&mut self) {
        self.step = Step::Malformed;
        self.kept = Keep::Nothing;
        self.buffer.free();
    }

    /// Where in the stream `rest` begins, the rest of the piece.
    #[inline]
    fn position(&self, rest: &[u8]) -> u64 {
        self.end.saturating_sub(rest.len() as u64)
    }

    /// A value has ended.
    #[inline]
    fn end_value(&mut self) {
        self.step = if self.inside == Place::Root { Step::Done } else { Step::Next };
    }
}
