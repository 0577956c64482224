//! How keys and each sort of value are read.

use super::{
    super::{
        Seen,
        capture::{Kept, Text},
        facts::{Envelope, Facts, Shape},
        place::{Interest, KEY_BYTES, Place, SHAPES},
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
        self.place = self.inside.member(key);
        self.step = step;
        behind
    }

    /// A key that has escapes in it, or was cut apart.
    pub(super) fn key_text<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let (piece, behind) = self.piece_of_string(rest);
        self.buffer.push(piece);
        let Some(behind) = behind else { return &[] };
        self.place = match self.buffer.is_cut() {
            true => Place::Other,
            false => self.inside.member(unescape(self.buffer.bytes(), false).as_bytes()),
        };
        self.step = Step::Colon;
        behind
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
        self.begin(shape, rest);
        match (shape, place.interest(&self.config)) {
            (Shape::Object, Interest::Members) => {
                self.inside = place;
                self.step = Step::FirstKey;
                after
            }
            (Shape::Array, Interest::Elements) => {
                self.inside = place;
                self.step = Step::FirstElement;
                after
            }
            (Shape::String, Interest::Text(bound)) => self.kept_string(rest, Keep::Text, bound),
            (Shape::String, Interest::Json(bound)) => self.kept_string(rest, Keep::Json, bound),
            (_, Interest::Json(bound)) => {
                self.buffer.start(bound);
                self.kept = Keep::Json;
                self.plain_value(shape, rest, after)
            }
            _ => self.plain_value(shape, rest, after),
        }
    }

    /// An element of an array begins with `byte`, as `rest` does.
    pub(super) fn element<'a>(&mut self, byte: u8, rest: &'a [u8]) -> &'a [u8] {
        self.place = self.inside.element();
        if self.inside == Place::Content {
            self.facts.result.blocks = self.facts.result.blocks.more();
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

    /// A string that is kept, up to `bound` bytes; `rest` begins with its opening quote.
    #[inline]
    fn kept_string<'a>(&mut self, rest: &'a [u8], keep: Keep, bound: usize) -> &'a [u8] {
        let after = rest.get(1..).unwrap_or_default();
        let (text, behind) = self.piece_of_string(after);
        let Some(behind) = behind else {
            self.buffer.start(bound);
            self.kept = keep;
            self.keep(if keep == Keep::Json { rest } else { after });
            self.step = Step::String;
            return &[];
        };
        // Most come whole.
        let all = match keep {
            Keep::Json => rest.get(..text.len() + 2).unwrap_or_default(),
            Keep::Text | Keep::Nothing => text,
        };
        match all.get(..bound) {
            Some(_) if all.len() > bound && keep == Keep::Json => {
                self.keep_value(Kept::of(&[], true));
            }
            Some(beginning) => self.keep_value(Kept::of(beginning, beginning.len() < all.len())),
            None if self.place == Place::BlockType && text == b"text" => self.block.is_text = true,
            None => self.keep_value(Kept::of(all, false)),
        }
        self.end_value();
        behind
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
            self.block = Block::default();
            self.facts.begin = self.position(rest);
            self.envelope = Envelope::Undecided;
        }
        if self.begun & bit != 0 {
            self.forget(place);
        }
        self.begun |= bit;
        if SHAPES & bit != 0 {
            self.facts.shape(place, shape);
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
                self.block = Block { is_found: self.block.is_found, ..Block::default() }
            }
            Place::BlockType => self.block.is_text = false,
            Place::BlockText => self.block.text = Text::default(),
            Place::Content => {
                self.block.is_found = false;
                self.facts.forget(place);
            }
            place => self.facts.forget(place),
        }
    }

    /// A value begins of which nothing but perhaps its JSON matters.
    #[inline]
    fn plain_value<'a>(&mut self, shape: Shape, rest: &'a [u8], after: &'a [u8]) -> &'a [u8] {
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

    /// A value has ended of which something may be kept.
    #[inline]
    fn end_kept(&mut self) {
        if self.kept != Keep::Nothing {
            self.kept = Keep::Nothing;
            let kept = self.buffer.take();
            self.keep_value(kept);
        }
        self.end_value();
    }

    pub(super) fn keep_value(&mut self, value: Kept) {
        match self.place {
            Place::BlockType => self.block.is_text = Text(value).is("text"),
            Place::BlockText => self.block.text = Text(value),
            place => self.facts.keep(place, value),
        }
    }

    /// The rest of a string, and what is behind its closing quote; or all there is, if it goes on.
    #[inline]
    fn piece_of_string<'a>(&mut self, rest: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        let end = self.string.find_end(rest);
        match end.and_then(|end| rest.split_at_checked(end)) {
            Some((text, [_, behind @ ..])) => (text, Some(behind)),
            _ => (rest, None),
        }
    }

    #[inline]
    fn keep(&mut self, json: &[u8]) {
        if self.kept != Keep::Nothing {
            self.buffer.push(json);
            if self.kept == Keep::Json && self.buffer.is_cut() {
                // Of JSON that was cut, nothing is of use.
                self.buffer.free();
            }
        }
    }
}
