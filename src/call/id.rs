//! The short, unique name of a call.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The name of one call: ten characters, unique in the process, unlikely to repeat in another.
///
/// It stands as `call_id` on every log line about the call, and as the reference in the text of a
/// fault, so that the user who is told about it can be helped. It says nothing about how many
/// calls there were.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(u64);

const BITS: u32 = 50;
const HALF: u32 = BITS / 2;
const HALF_MASK: u64 = (1 << HALF) - 1;
/// Crockford's base 32: no letters that look like digits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl CallId {
    /// A name that this process has not given out yet.
    #[must_use]
    pub fn next() -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        static KEY: OnceLock<u64> = OnceLock::new();
        let key = *KEY.get_or_init(|| RandomState::new().hash_one(std::process::id()));
        Self(scramble(COUNTER.fetch_add(1, Ordering::Relaxed), key))
    }

    pub(crate) fn text(self) -> CallIdText {
        let mut rest = self.0;
        let mut text = [0; CallIdText::LEN];
        for byte in text.iter_mut().rev() {
            *byte = usize::try_from(rest & 31)
                .ok()
                .and_then(|at| ALPHABET.get(at))
                .copied()
                .unwrap_or(b'0');
            rest >>= 5;
        }
        CallIdText(text)
    }
}

/// A Feistel network: a keyed permutation of the 50-bit numbers, so that a counter gives names
/// that do not repeat and do not look like one.
fn scramble(counter: u64, key: u64) -> u64 {
    let (mut left, mut right) = ((counter >> HALF) & HALF_MASK, counter & HALF_MASK);
    for round in 0..4_u32 {
        let mixed = (right ^ key.rotate_left(round * 16)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (left, right) = (right, left ^ (mixed & HALF_MASK));
    }
    (left << HALF) | right
}

/// A [`CallId`] written out, without an allocation.
pub(crate) struct CallIdText([u8; Self::LEN]);

impl CallIdText {
    const LEN: usize = (BITS / 5) as usize;

    pub(crate) fn as_str(&self) -> &str {
        // The alphabet is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_do_not_repeat_and_are_ten_plain_characters() {
        let ids: HashSet<String> = (0..100_000).map(|_| CallId::next().to_string()).collect();
        assert_eq!(ids.len(), 100_000);
        assert!(ids.iter().all(|id| id.len() == 10 && id.bytes().all(|b| ALPHABET.contains(&b))));
    }

    #[test]
    fn the_permutation_has_no_collisions_in_either_half() {
        for key in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let seen: HashSet<u64> =
                (0..50_000).flat_map(|n| [n, n << HALF]).map(|n| scramble(n, key)).collect();
            assert_eq!(seen.len(), 99_999, "0 is in both");
        }
    }
}
