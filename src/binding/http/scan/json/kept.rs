//! What is kept of a value, and where.

use super::{
    super::{
        capture::{Kept, SHORT_BYTES, Text},
        members::Entry,
        place::Place,
    },
    Keep, Scanner, Step,
};

impl Scanner {
    /// Bytes that may be kept of what stands at `place`, of at most `bound`.
    ///
    /// What is short takes no room: a word says what it says, however much was kept before it. A
    /// member always does, and more than its text: one that is cut for the room will not fit.
    #[inline]
    pub(super) fn bound(&self, place: Place, bound: usize) -> usize {
        bound.min(self.room(place).max(SHORT_BYTES))
    }

    #[inline]
    pub(super) fn room(&self, place: Place) -> usize {
        let usual = place.share(self.config.total_bytes);
        usual.saturating_add(self.extra).saturating_sub(self.spent)
    }

    /// A string that is kept, up to `bound` bytes; `rest` begins with its opening quote.
    #[inline]
    pub(super) fn kept_string<'a>(&mut self, rest: &'a [u8], keep: Keep, bound: usize) -> &'a [u8] {
        let after = rest.get(1..).unwrap_or_default();
        let (text, behind) = self.piece_of_string(after);
        let Some(behind) = behind else {
            self.buffer.start(self.bound(self.place, bound));
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
        if all.len() > bound.min(SHORT_BYTES) || self.place == Place::Member {
            self.keep_long(all, keep, bound);
        } else if self.place == Place::BlockType && all == b"text" {
            self.block.is_text = true;
        } else {
            self.keep_value(Kept::of(all, false));
        }
        self.end_value();
        behind
    }

    /// Keeps a string that may be more than there is room for.
    #[inline]
    fn keep_long(&mut self, all: &[u8], keep: Keep, bound: usize) {
        let kept = all.get(..self.bound(self.place, bound)).unwrap_or(all);
        let is_cut = kept.len() < all.len();
        match self.place {
            Place::Member => self.keep_member(Entry::Text(kept, is_cut)),
            _ if is_cut && keep == Keep::Json => self.keep_counted(Kept::of(&[], true)),
            _ => self.keep_counted(Kept::of(kept, is_cut)),
        }
    }

    /// A value has ended of which something may be kept.
    #[inline]
    pub(super) fn end_kept(&mut self) {
        if self.kept != Keep::Nothing {
            self.kept = Keep::Nothing;
            if self.place == Place::Member {
                // Taken out, since what it says is written elsewhere in `self`.
                let buffer = std::mem::take(&mut self.buffer);
                self.keep_member(Entry::Text(buffer.bytes(), buffer.is_cut()));
            } else {
                let kept = self.buffer.take();
                self.keep_counted(kept);
            }
        }
        self.end_value();
    }

    /// Keeps what may take memory of its own.
    pub(super) fn keep_counted(&mut self, value: Kept) {
        if self.place != Place::BlockType {
            self.spent += value.heap();
        }
        self.keep_value(value);
    }

    fn keep_value(&mut self, value: Kept) {
        match self.place {
            Place::BlockType => self.block.is_text = Text(value).is("text"),
            Place::BlockText => self.block.text = Text(value),
            place => self.facts.keep(self.scope, place, value),
        }
    }

    /// The text of a block is no more kept.
    pub(super) fn drop_block_text(&mut self) {
        let text = std::mem::take(&mut self.block.text);
        self.spent = self.spent.saturating_sub(text.0.heap());
    }

    #[inline]
    pub(super) fn keep(&mut self, json: &[u8]) {
        if self.kept != Keep::Nothing {
            self.buffer.push(json);
            if self.kept == Keep::Json && self.buffer.is_cut() {
                // Of JSON that was cut, nothing is of use.
                self.buffer.free();
            }
        }
    }
}
