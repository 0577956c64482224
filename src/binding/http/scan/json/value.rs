//! How keys and each sort of value are read.

use std::borrow::Cow;

use memchr::memchr;

use super::{
    super::{
        Seen,
        capture::Captured,
        facts::{Envelope, Facts, Shape},
        place::{Interest, KEY_BYTES, Place, SHAPES},
        skip::{NestedSkip, quote_or_backslash},
    },
    Block, Scanner, Step,
};

/// Longer than any literal, and than any number that 64 bits hold.
const TOKEN_BYTES: usize = 64;

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
        let (text, behind) = self.piece_of_string(rest);
        self.unescape.push(text, &mut self.buffer);
        let Some(behind) = behind else { return &[] };
        self.unescape.finish(&mut self.buffer);
        // No key that matters is as long.
        self.place = match self.buffer.is_cut() {
            true => Place::Other,
            false => self.inside.member(self.buffer.bytes()),
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
            (Shape::String, Interest::Text(bound)) => self.first_text(after, bound),
            (_, Interest::Json(bound)) => {
                self.buffer.start(bound);
                self.is_kept = true;
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

    /// A string that matters, behind its opening quote.
    #[inline]
    fn first_text<'a>(&mut self, rest: &'a [u8], bound: usize) -> &'a [u8] {
        let (text, behind) = self.piece_of_string(rest);
        let kept = text.get(..bound).unwrap_or(text);
        if let Some(behind) = behind
            && !has_backslash(kept)
        {
            // Most come whole, and have no escapes in them.
            self.end_text(Cow::Borrowed(kept), kept.len() < text.len());
            return behind;
        }
        self.buffer.start(bound);
        self.step = Step::Text;
        self.add_text(text, behind)
    }

    /// The next piece of a string that matters.
    pub(super) fn text<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let (text, behind) = self.piece_of_string(rest);
        self.add_text(text, behind)
    }

    fn add_text<'a>(&mut self, text: &[u8], behind: Option<&'a [u8]>) -> &'a [u8] {
        self.unescape.push(text, &mut self.buffer);
        let Some(behind) = behind else { return &[] };
        self.unescape.finish(&mut self.buffer);
        let is_cut = self.buffer.is_cut();
        let text = Cow::Owned(self.buffer.take());
        self.end_text(text, is_cut);
        behind
    }

    fn end_text(&mut self, text: Cow<'_, [u8]>, is_cut: bool) {
        match self.place {
            Place::BlockType => self.block.is_text = *text == *b"text" && !is_cut,
            Place::BlockText => self.block.text = Captured::of(text.into_owned(), is_cut),
            place => self.facts.keep(place, Captured::of(text.into_owned(), is_cut)),
        }
        self.end_value();
    }

    /// A string of which nothing but perhaps its JSON matters, behind its opening quote.
    #[inline]
    pub(super) fn string<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let end = self.string.find_end(rest).map(|end| end + 1);
        self.pass(rest, end)
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

    /// A number or a literal.
    #[inline]
    pub(super) fn scalar<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let end = rest.iter().position(|byte| !is_in_scalar(*byte));
        let (piece, rest) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or_default();
        match end {
            Some(_) if self.buffer.is_empty() && piece.len() <= TOKEN_BYTES => {
                self.end_scalar(piece, false);
            }
            end => {
                self.buffer.push(piece);
                if end.is_some() {
                    let is_cut = self.buffer.is_cut();
                    let token = self.buffer.take();
                    self.end_scalar(&token, is_cut);
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
            // What is kept may be written into an answer.
            _ => !self.is_kept || is_cut || is_number(token),
        };
        if !is_valid {
            return self.malformed();
        }
        if std::mem::take(&mut self.is_kept) {
            let token =
                if is_cut { Captured::Cut(Vec::new()) } else { Captured::Whole(token.to_vec()) };
            self.facts.keep(self.place, token);
        } else if self.place != Place::Other {
            // What was cut is no literal, and no number that anybody asks for.
            self.facts.scalar(self.place, if is_cut { b"" } else { token });
        }
        self.end_value();
    }

    /// A value begins that is not [`Place::Other`].
    #[inline]
    fn begin(&mut self, shape: Shape, rest: &[u8]) {
        let (place, bit) = (self.place, self.place.bit());
        if place == Place::Message && shape == Shape::Object {
            if std::mem::take(&mut self.begun) != 0 {
                self.facts = Facts::default();
            }
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
            Place::BlockText => self.block.text = Captured::Absent,
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
                self.keep(b"\"");
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
                if !self.is_kept {
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
            if std::mem::take(&mut self.is_kept) {
                let is_cut = self.buffer.is_cut();
                let json = self.buffer.take();
                self.facts.keep(self.place, Captured::of(json, is_cut));
            }
            self.end_value();
        }
        rest
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
        if self.is_kept {
            self.buffer.push(json);
            if self.buffer.is_cut() {
                // Of JSON that was cut, nothing is of use.
                self.buffer.free();
            }
        }
    }
}

#[inline]
fn has_backslash(text: &[u8]) -> bool {
    // A loop is quicker than the call where there is little to look at.
    if text.len() < 16 {
        text.iter().any(|byte| *byte == b'\\')
    } else {
        memchr(b'\\', text).is_some()
    }
}

/// Whether `byte` may stand in a literal or a number.
#[inline]
fn is_in_scalar(byte: u8) -> bool {
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
    let digits = |rest: &[u8]| rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let skip = |rest: &mut &[u8], count: usize| *rest = rest.get(count..).unwrap_or_default();
    let mut rest = token.strip_prefix(b"-").unwrap_or(token);
    match rest {
        [b'0', ..] => skip(&mut rest, 1),
        _ => match digits(rest) {
            0 => return false,
            count => skip(&mut rest, count),
        },
    }
    if let [b'.', behind @ ..] = rest {
        rest = behind;
        match digits(rest) {
            0 => return false,
            count => skip(&mut rest, count),
        }
    }
    if let [b'e' | b'E', b'+' | b'-', behind @ ..] | [b'e' | b'E', behind @ ..] = rest {
        rest = behind;
        match digits(rest) {
            0 => return false,
            count => skip(&mut rest, count),
        }
    }
    rest.is_empty()
}
