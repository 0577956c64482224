//! Past what does not matter: to the end of a string, or of an array or object.
//!
//! Text comes in two sorts, and no one way is fast on both. Where quotes are far apart, `memchr`
//! jumps from one to the next. Where they are close, as in code or in JSON inside of a string,
//! whole blocks are looked at. Each way notices when the other would do better.

use memchr::memchr;

use super::block::{BLOCK, Block, Strings, brackets, may_end};

/// Words of eight bytes that are tried before anything that has a cost of its own.
const SHORT: usize = 4;
/// Quotes further apart than this are jumped to.
const FAR: usize = 256;

/// A string whose end is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StringSkip {
    /// Whether the next byte is escaped.
    is_escaped: bool,
}

/// An array or object whose end is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct NestedSkip {
    /// Brackets that are open. No more can be than bytes are read: it cannot overflow.
    depth: u64,
    is_in_string: bool,
    string: StringSkip,
}

impl StringSkip {
    /// Where in `text` the closing quote stands.
    #[inline]
    pub(super) fn find_end(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        if self.is_escaped && !text.is_empty() {
            self.is_escaped = false;
            at = 1;
        }
        for _ in 0..SHORT {
            let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) else {
                return self.find_end_slowly(text, at);
            };
            let skipped = quotes_and_backslashes(*word).trailing_zeros() as usize / 8;
            at += skipped;
            if skipped < 8 {
                if text.get(at) == Some(&b'"') {
                    return Some(at);
                }
                if at + 1 >= text.len() {
                    self.is_escaped = true;
                    return None;
                }
                at += 2;
            }
        }
        self.find_end_far(text, at)
    }

    /// Byte by byte, from `at`, which is not escaped.
    fn find_end_slowly(&mut self, text: &[u8], mut at: usize) -> Option<usize> {
        loop {
            match text.get(at)? {
                b'"' => return Some(at),
                b'\\' if at + 1 >= text.len() => {
                    self.is_escaped = true;
                    return None;
                }
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    /// In what may be a long text, from `at`, which is not escaped.
    fn find_end_far(&mut self, text: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let rest = text.get(at..)?;
            let Some(skipped) = memchr(b'"', rest) else {
                self.is_escaped = escapes_next(rest);
                return None;
            };
            if !escapes_next(rest.get(..skipped)?) {
                return Some(at + skipped);
            }
            // Behind a quote, no run of backslashes goes on.
            at += skipped + 1;
            if skipped < FAR {
                match pass_blocks(text, at) {
                    Ok(end) => return Some(end),
                    Err(next) => at = next,
                }
            }
        }
    }
}

impl NestedSkip {
    /// Behind the opening bracket.
    pub(super) fn new() -> Self {
        Self { depth: 1, is_in_string: false, string: StringSkip::default() }
    }

    /// How much of `text` is read when the closing bracket is.
    #[inline(never)]
    pub(super) fn find_end(&mut self, text: &[u8]) -> Option<usize> {
        let (mut at, mut is_long_string) = (0, self.is_in_string);
        loop {
            if is_long_string {
                at += self.string.find_end(text.get(at..)?)? + 1;
                self.is_in_string = false;
            }
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            let Some(block) = rest.first_chunk() else {
                let mut block = [b' '; BLOCK];
                for (to, from) in block.iter_mut().zip(rest) {
                    *to = *from;
                }
                return self.pass_block(&block, rest.len()).ok().map(|end| at + end);
            };
            match self.pass_block(block, BLOCK) {
                Ok(end) => return Some(at + end),
                Err(is_all_string) => is_long_string = is_all_string,
            }
            at += BLOCK;
        }
    }

    /// Reads the first `len` bytes of a block, up to the closing bracket if it is among them; if it
    /// is not, whether all of them belong to one string that goes on.
    #[inline(always)]
    fn pass_block(&mut self, block: &Block, len: usize) -> Result<usize, bool> {
        let strings = Strings::of(block, self.is_in_string, self.string.is_escaped);
        let (opens, closes) = brackets(block);
        let (opens, closes) = (opens & !strings.inside, closes & !strings.inside);
        if u64::from(closes.count_ones()) >= self.depth
            && let Some(end) = self.end_in_block(opens, closes)
        {
            return Ok(end);
        }
        self.depth = self
            .depth
            .saturating_add(u64::from(opens.count_ones()))
            .saturating_sub(u64::from(closes.count_ones()));
        self.is_in_string = strings.is_open;
        self.string.is_escaped = strings.escapes_next(len);
        Err(strings.is_open && strings.quotes == 0)
    }

    /// How much of a block is read when the closing bracket is.
    #[inline(always)]
    fn end_in_block(&self, opens: u64, closes: u64) -> Option<usize> {
        let (mut depth, mut rest) = (self.depth, opens | closes);
        while rest != 0 {
            let bracket = rest & rest.wrapping_neg();
            let is_open = u64::from(opens & bracket != 0);
            depth = depth.wrapping_add(is_open << 1).wrapping_sub(1);
            if depth == 0 {
                return Some(bracket.trailing_zeros() as usize + 1);
            }
            rest ^= bracket;
        }
        None
    }
}

/// Where the first quote or backslash of `text` is. For what is short.
#[inline]
pub(super) fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        match quotes_and_backslashes(*word) {
            0 => at += word.len(),
            hits => return Some(at + hits.trailing_zeros() as usize / 8),
        }
    }
    let rest = text.get(at..)?;
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|found| at + found)
}

/// Looks at the blocks of `text` from `from`, which is behind an escaped quote, until quotes become
/// rare: where the string ends, or where to go on.
fn pass_blocks(text: &[u8], from: usize) -> Result<usize, usize> {
    let (mut at, mut since_quote) = (from, 0);
    loop {
        // With the two bytes in front of it: at the start, a backslash and a quote.
        let window = text.get(at.saturating_sub(2)..).and_then(<[u8]>::first_chunk);
        let Some(window) = window.filter(|_| since_quote < FAR) else {
            let behind = text.get(from..at).unwrap_or_default();
            return Err(at - usize::from(escapes_next(behind)));
        };
        let (may_end, has_quotes) = may_end(window);
        if may_end && let Some(end) = end_in_block(text, from, at) {
            return Ok(end);
        }
        at += BLOCK;
        since_quote = if has_quotes { 0 } else { since_quote + BLOCK };
    }
}

/// Where in the block at `at` a string ends of which nothing before `from` is a backslash.
fn end_in_block(text: &[u8], from: usize, at: usize) -> Option<usize> {
    let is_escaped = escapes_next(text.get(from..at)?);
    let quotes = Strings::of(text.get(at..)?.first_chunk()?, true, is_escaped).quotes;
    (quotes != 0).then(|| at + quotes.trailing_zeros() as usize)
}

/// Whether `text`, whose first byte is not escaped, ends in an odd number of backslashes.
fn escapes_next(text: &[u8]) -> bool {
    const RUN: [u8; 32] = [b'\\'; 32];
    let mut rest = text;
    while let Some((front, &RUN)) = rest.split_last_chunk() {
        rest = front;
    }
    rest.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The highest bit of each byte that is a quote or a backslash: the lowest of them is exact.
#[inline(always)]
fn quotes_and_backslashes(word: [u8; 8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let word = u64::from_le_bytes(word);
    zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64))
}
