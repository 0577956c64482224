//! Sixty-four bytes of JSON at a time, as bit masks.
//!
//! The crate has no `unsafe`, and so no intrinsics: the byte loops here are what LLVM turns into
//! vector code on its own, if they stand in small functions: what is not inlined here is not so that
//! it stays vector code. [`mask`] is written so that little is left to do after them.

/// How many bytes are looked at together.
pub(super) const BLOCK: usize = 64;
pub(super) type Block = [u8; BLOCK];

/// Bit `i` for each byte in the `i`th eight: all eight of one kind go into one byte.
const BITS: Block = {
    let mut bits = [0; BLOCK];
    let mut rest: &mut [u8] = &mut bits;
    let mut at = 0;
    while let [bit, behind @ ..] = rest {
        *bit = 1 << (at / 8);
        at += 1;
        rest = behind;
    }
    bits
};

/// The quotes of a block and what stands between them.
#[derive(Clone, Copy)]
pub(super) struct Strings {
    /// Quotes that no backslash escapes.
    pub(super) quotes: u64,
    /// Opening quotes and what follows them, up to the closing quote and without it.
    pub(super) inside: u64,
    /// Whether a string goes on after the block.
    pub(super) is_open: bool,
    /// The byte at which the next block begins is escaped, where the block is `len` bytes long.
    escaped: u64,
    carry: bool,
}

impl Strings {
    /// The strings of `block`, which begins in a string if `is_open`, with an escaped byte if
    /// `is_escaped`.
    #[inline(never)]
    pub(super) fn of(block: &Block, is_open: bool, is_escaped: bool) -> Self {
        let quotes = mask(block, |byte| byte == b'"');
        let (escaped, carry) = escaped(mask(block, |byte| byte == b'\\'), is_escaped);
        let quotes = quotes & !escaped;
        let inside = prefix_xor(quotes) ^ if is_open { u64::MAX } else { 0 };
        Self { quotes, inside, is_open: inside >> 63 == 1, escaped, carry }
    }

    /// Whether the byte after the first `len` of the block is escaped.
    #[inline(always)]
    pub(super) fn escapes_next(&self, len: usize) -> bool {
        match u32::try_from(len) {
            Ok(len) if len < 64 => self.escaped >> len & 1 == 1,
            _ => self.carry,
        }
    }
}

/// Where brackets open and close in a block, strings not looked at.
#[inline(never)]
pub(super) fn brackets(block: &Block) -> (u64, u64) {
    // `[` and `{`, and `]` and `}`, differ in the bit 0x20 alone.
    let opens = mask(block, |byte| byte | 0x20 == b'{');
    let closes = mask(block, |byte| byte | 0x20 == b'}');
    (opens, closes)
}

/// Whether a quote of `text` from its third byte on may end a string, and whether there is any.
///
/// What is not escaped for certain may end one: a quote behind exactly one backslash is. No carry
/// from byte to byte, so this costs a fraction of what [`Strings::of`] does.
#[inline(always)]
pub(super) fn may_end(text: &[u8; BLOCK + 2]) -> (bool, bool) {
    let (mut ends, mut quotes) = ([0_u8; BLOCK], [0_u8; BLOCK]);
    let (before, previous, this) = (text.iter(), text.iter().skip(1), text.iter().skip(2));
    let bytes = before.zip(previous).zip(this).zip(ends.iter_mut().zip(&mut quotes));
    for (((before, previous), this), (end, quote)) in bytes {
        let is_escaped = flag(*previous == b'\\') & !flag(*before == b'\\');
        *quote = flag(*this == b'"');
        *end = *quote & !is_escaped;
    }
    (has_any(&ends), has_any(&quotes))
}

/// One bit for each byte of `block`, the first byte's the lowest: whether `is` accepts it.
#[inline(always)]
pub(super) fn mask(block: &Block, is: impl Fn(u8) -> bool) -> u64 {
    let mut hits = [0_u8; BLOCK];
    for ((hit, byte), bit) in hits.iter_mut().zip(block).zip(&BITS) {
        *hit = if is(*byte) { *bit } else { 0 };
    }
    let (quarters, _) = hits.as_chunks::<16>();
    let all = quarters.iter().fold(0, |all, quarter| all | u128::from_le_bytes(*quarter));
    transpose(all as u64 | (all >> 64) as u64)
}

/// The matrix of eight bytes of eight bits, turned over (Hacker's Delight, section 7-3).
#[inline(always)]
fn transpose(bits: u64) -> u64 {
    let swap = |bits: u64, by: u32, these: u64| {
        let swapped = (bits ^ bits >> by) & these;
        bits ^ swapped ^ swapped << by
    };
    let bits = swap(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swap(bits, 14, 0x0000_cccc_0000_cccc);
    swap(bits, 28, 0x0000_0000_f0f0_f0f0)
}

#[inline(always)]
fn flag(is: bool) -> u8 {
    if is { 0xff } else { 0 }
}

#[inline(always)]
fn has_any(flags: &Block) -> bool {
    let (words, _) = flags.as_chunks::<8>();
    words.iter().fold(0, |any, word| any | u64::from_le_bytes(*word)) != 0
}

/// The bytes behind an odd run of backslashes, and whether the byte after the block is one; by the
/// subtraction that simdjson uses (`json_escape_scanner::next`).
#[inline(always)]
fn escaped(backslashes: u64, is_escaped: bool) -> (u64, bool) {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let first = u64::from(is_escaped);
    let starts = backslashes & !first;
    let series = (starts << 1 | ODD).wrapping_sub(starts) ^ ODD;
    (series ^ (backslashes | first), (series & backslashes) >> 63 == 1)
}

/// Each bit is the parity of the bits up to it.
#[inline(always)]
fn prefix_xor(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(bits, |bits, by| bits ^ bits << by)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, byte by byte.
    fn slowly(block: &Block, mut is_open: bool, mut is_escaped: bool) -> (u64, u64, Vec<bool>) {
        let (mut quotes, mut inside, mut escapes) = (0, 0, vec![is_escaped]);
        for (at, byte) in block.iter().enumerate() {
            let was_escaped = std::mem::take(&mut is_escaped);
            match byte {
                b'"' if !was_escaped => {
                    quotes |= 1 << at;
                    is_open = !is_open;
                }
                b'\\' => is_escaped = !was_escaped,
                _ => {}
            }
            inside |= u64::from(is_open) << at;
            escapes.push(is_escaped);
        }
        (quotes, inside, escapes)
    }

    #[test]
    fn masks_say_what_a_loop_over_the_bytes_says() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..20_000 {
            let block: Block = std::array::from_fn(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                b"\\\"\\\\\"a{}[]"
                    [usize::try_from(random % if round % 2 == 0 { 10 } else { 3 }).unwrap()]
            });
            let (is_open, is_escaped) = (round % 3 == 0, round % 5 == 0);
            let strings = Strings::of(&block, is_open, is_escaped);
            let (quotes, inside, escapes) = slowly(&block, is_open, is_escaped);
            assert_eq!((strings.quotes, strings.inside), (quotes, inside), "{block:?}");
            for (len, escape) in escapes.into_iter().enumerate() {
                assert_eq!(strings.escapes_next(len), escape, "{block:?} {len}");
            }
            let (opens, closes) = brackets(&block);
            for (at, byte) in block.iter().enumerate() {
                assert_eq!(opens >> at & 1 == 1, matches!(byte, b'[' | b'{'));
                assert_eq!(closes >> at & 1 == 1, matches!(byte, b']' | b'}'));
            }
        }
    }

    #[test]
    fn no_end_of_a_string_is_overlooked() {
        let mut text = [b'a'; BLOCK + 2];
        assert_eq!(may_end(&text), (false, false));
        for at in 2..text.len() {
            for (before, may) in
                [(*b"aa", true), (*b"a\\", false), (*b"\\\\", true), (*b"\\a", true)]
            {
                text[at - 2..at].copy_from_slice(&before);
                text[at] = b'"';
                assert_eq!(may_end(&text), (may, true), "{at}");
                text = [b'a'; BLOCK + 2];
            }
        }
    }
}
