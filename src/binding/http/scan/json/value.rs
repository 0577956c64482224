//! How keys and each sort of value are read.

use super::{
    super::{
        Seen, TEXT_BYTES,
        facts::{Envelope, Facts, Shape},
        place::{Interest, KEY_BYTES, Place, SHAPES, Scope},
        skip::{NestedSkip, quote_or_backslash},
        unescape::unescape,
    },
    Block, Keep, Scanner, Step,
    scalar::TOKEN_BYTES,
};

impl Scanner {
    /// Members, of which the first is read behind the opening quote of its key. What is cut apart,
    /// or not written as most write it, ends the loop, not the object.
    pub(super) fn members<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let mut rest = rest;
        loop {
            rest = self.key(rest);
            if self.step != Step::Value {
                return rest;
            }
            let Some(&byte) = rest.first() else { return rest };
            rest = self.value(byte, rest);
            if self.seen != Seen::Nothing {
                return rest;
            }
            rest = match (self.step, rest) {
                (Step::Next, [b',', b'"', behind @ ..]) if !self.inside.is_array() => behind,
                (Step::FirstKey, [b'"', behind @ ..]) => behind,
                _ => return rest,
            };
        }
    }

    /// A key, behind its opening quote.
    #[inline]
    fn key<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let end = quote_or_backslash(rest).unwrap_or(rest.len());
        let (key, behind) = rest.split_at_checked(end).unwrap_or_default();
        let (step, behind) = match behind {
            [b'"', b':', behind @ ..] => (Step::Value, behind),
            [b'"', behind @ ..] => (Step::Colon, behind),
            _ => {
                self.buffer.start(KEY_BYTES);
                self.step = Step::KeyText;
                return self.key_text(rest);
            }
        };
        self.place = self.member(key);
        self.step = step;
        behind
    }

    /// A key that has escapes in it, or was cut apart.
    pub(super) fn key_text<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let (piece, behind) = self.piece_of_string(rest);
        self.buffer.push(piece);
        let Some(behind) = behind else { return &[] };
        // Taken out, since which member it is may be written elsewhere in `self`.
        let buffer = std::mem::take(&mut self.buffer);
        self.place = match buffer.bytes() {
            _ if buffer.is_cut() => Place::Other,
            // As it is, also where it is no UTF-8: like one that comes whole.
            key if !key.contains(&b'\\') => self.member(key),
            key => self.member(unescape(key, false).as_bytes()),
        };
        self.buffer = buffer;
        self.step = Step::Colon;
        behind
    }

    /// Where the value of `key` stands.
    #[inline]
    fn member(&mut self, key: &[u8]) -> Place {
        match self.inside {
            Place::Structured | Place::Member => self.asked_member(key),
            inside => match inside.member(key) {
                // What a task ended in is no task again.
                place if place.inner().is_some() && !self.enters_tasks() => Place::Other,
                place => place,
            },
        }
    }

    /// The value of a key, or an element, begins with `byte`, as `rest` does.
    #[inline]
    pub(super) fn value<'a>(&mut self, byte: u8, rest: &'a [u8]) -> &'a [u8] {
        let after = rest.get(1..).unwrap_or_default();
        let shape = Shape::of(byte);
        let place = self.place;
        if place == Place::Other || shape == Shape::Absent {
            return self.plain_value(shape, rest, after);
        }
        if matches!(place, Place::Member | Place::Unasked) {
            return self.member_value(shape, rest, after);
        }
        self.begin(shape, rest);
        match (shape, place.interest(&self.config)) {
            (Shape::Object, Interest::Members) => {
                self.enter(place);
                after
            }
            (Shape::Array, Interest::Elements) => {
                if place == Place::Content && self.has_read_blocks() {
                    self.drop_block_text();
                    self.block = Block::default();
                }
                self.inside = place;
                self.step = Step::FirstElement;
                after
            }
            (Shape::String, Interest::Text(bound)) => {
                let is_plain = place == Place::BlockText && !may_be_json(after);
                let bound = if is_plain { bound.min(TEXT_BYTES) } else { bound };
                self.kept_string(rest, Keep::Text, bound)
            }
            (Shape::String, Interest::Json(bound)) => self.kept_string(rest, Keep::Json, bound),
            (_, Interest::Json(bound)) => {
                self.buffer.start(self.bound(place, bound));
                self.kept = Keep::Json;
                self.plain_value(shape, rest, after)
            }
            _ => self.plain_value(shape, rest, after),
        }
    }

    /// Whether there were some in the message before, of this scope or the other.
    fn has_read_blocks(&self) -> bool {
        (self.begun | self.other_begun) & Place::Block.bit() != 0
    }

    /// Whether a `result` or an `error` that stands here may be what a task ended in.
    fn enters_tasks(&self) -> bool {
        self.scope == Scope::Message && self.config.answers
    }

    /// The members of the object at `place` follow.
    #[inline]
    fn enter(&mut self, place: Place) {
        self.inside = place;
        self.inside_node = 0;
        self.step = Step::FirstKey;
        if let Some((scope, place)) = place.inner() {
            self.scope = scope;
            self.inside = place;
            std::mem::swap(&mut self.begun, &mut self.other_begun);
        }
    }

    /// An element of an array begins with `byte`, as `rest` does.
    pub(super) fn element<'a>(&mut self, byte: u8, rest: &'a [u8]) -> &'a [u8] {
        self.place = self.inside.element();
        if self.inside == Place::Content {
            let result = self.facts.parts(self.scope).0;
            result.blocks = result.blocks.more();
            if self.block.is_found {
                // The text is known, so nothing matters from here to the end of the array.
                self.inside = Place::Result;
                self.nested = NestedSkip::new();
                self.step = Step::Nested(b']');
                return rest;
            }
        }
        self.value(byte, rest)
    }

    /// A string, behind its opening quote.
    #[inline]
    pub(super) fn string<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        if self.place == Place::BlockText && self.buffer.is_empty() && !may_be_json(rest) {
            // It was cut apart behind its opening quote.
            self.buffer.limit(TEXT_BYTES);
        }
        match self.piece_of_string(rest) {
            (piece, Some(behind)) => {
                self.keep(piece);
                if self.kept == Keep::Json {
                    self.keep(b"\"");
                }
                self.end_kept();
                behind
            }
            (piece, None) => {
                self.keep(piece);
                &[]
            }
        }
    }

    /// An array or object of which nothing but perhaps its JSON matters, behind its opening
    /// bracket.
    pub(super) fn nested<'a>(&mut self, rest: &'a [u8], closing: u8) -> &'a [u8] {
        let end = self.nested.find_end(rest);
        if end.is_some_and(|end| rest.get(end - 1) != Some(&closing)) {
            self.malformed();
            return rest;
        }
        self.pass(rest, end)
    }

    /// A value begins that is not [`Place::Other`].
    #[inline]
    fn begin(&mut self, shape: Shape, rest: &[u8]) {
        let (place, bit) = (self.place, self.place.bit());
        if place == Place::Message && shape == Shape::Object {
            if std::mem::take(&mut self.begun) != 0 {
                self.facts = Facts::default();
            }
            self.other_begun = 0;
            self.spent = 0;
            self.block = Block::default();
            self.facts.begin = self.position(rest);
            self.envelope = Envelope::Undecided;
        }
        if self.begun & bit != 0 {
            self.forget(place);
        }
        self.begun |= bit;
        if SHAPES & bit != 0 {
            self.facts.shape(self.scope, place, shape);
            let envelope = self.facts.envelope();
            if std::mem::replace(&mut self.envelope, envelope) != envelope {
                self.seen = Seen::Envelope;
            }
        }
    }

    /// The key of `place` was there before, or is one of another element: the last counts.
    #[cold]
    fn forget(&mut self, place: Place) {
        match place {
            Place::Block => {
                self.drop_block_text();
                self.block.is_text = false;
            }
            Place::BlockType => self.block.is_text = false,
            Place::BlockText => self.drop_block_text(),
            place => self.facts.forget(self.scope, place),
        }
    }

    /// A value begins of which nothing but perhaps its JSON matters.
    #[inline]
    pub(super) fn plain_value<'a>(
        &mut self,
        shape: Shape,
        rest: &'a [u8],
        after: &'a [u8],
    ) -> &'a [u8] {
        let closing = match shape {
            Shape::Object => b'}',
            Shape::Array => b']',
            Shape::String => {
                self.step = Step::String;
                return self.string(after);
            }
            Shape::Absent => {
                // Behind white space, it may begin yet.
                match rest {
                    [b' ' | b'\n' | b'\r' | b'\t', ..] => self.step = Step::Value,
                    _ => self.malformed(),
                }
                return after;
            }
            Shape::Null | Shape::Bool | Shape::Number => {
                if self.kept == Keep::Nothing {
                    self.buffer.start(TOKEN_BYTES);
                }
                self.step = Step::Scalar;
                return self.scalar(rest);
            }
        };
        self.keep(if closing == b'}' { b"{" } else { b"[" });
        self.nested = NestedSkip::new();
        self.step = Step::Nested(closing);
        self.nested(after, closing)
    }

    /// Passes the piece of a value that ends at `end`, or goes on behind `rest`.
    #[inline]
    fn pass<'a>(&mut self, rest: &'a [u8], end: Option<usize>) -> &'a [u8] {
        let (piece, rest) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or_default();
        self.keep(piece);
        if end.is_some() {
            self.end_kept();
        }
        rest
    }

    /// The rest of a string, and what is behind its closing quote; or all there is, if it goes on.
    #[inline]
    pub(super) fn piece_of_string<'a>(&mut self, rest: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        let end = self.string.find_end(rest);
        match end.and_then(|end| rest.split_at_checked(end)) {
            Some((text, [_, behind @ ..])) => (text, Some(behind)),
            _ => (rest, None),
        }
    }
}

/// Whether a text that begins like this, as JSON, may be JSON itself: an object.
fn may_be_json(text: &[u8]) -> bool {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\\' | b'n' | b'r' | b't');
    // Line breaks and tabs before it are escapes. Of what was cut apart nobody knows.
    text.iter().find(|byte| !is_blank(byte)).is_none_or(|byte| *byte == b'{')
}
