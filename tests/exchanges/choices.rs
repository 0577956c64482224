//! Choices made from bytes, so that a test that fails can be made smaller.

use bytes::Bytes;

use crate::script::Step;

/// When the bytes are used up, every choice is the first.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let mut number = 0;
        let mut reach = 1;
        while reach < end {
            let (byte, rest) = self.0.split_first().unwrap_or((&0, &[]));
            self.0 = rest;
            number = number << 8 | usize::from(*byte);
            reach <<= 8;
        }
        number % end.max(1)
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// True once in so many times; never where the bytes are used up.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in 1..items.len() {
            // The last one is where it was, so that no choice is the order that it was in.
            items.swap(at, at - self.below(at + 1));
        }
    }

    /// `bytes` in frames of any size, empty ones among them, with pauses.
    pub fn frames(&mut self, bytes: &Bytes) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut rest = bytes.clone();
        while !rest.is_empty() {
            if self.once_in(8) {
                steps.push(Step::Data(Bytes::new()));
            }
            if self.once_in(6) {
                steps.push(Step::Pending);
            }
            let longest = self.of(&[usize::MAX, 3, 17, 200]).min(rest.len());
            let length = longest - self.below(longest);
            steps.push(Step::Data(rest.split_to(length)));
        }
        if self.once_in(4) {
            steps.push(Step::Data(Bytes::new()));
        }
        steps
    }
}

/// `bytes` cut at these places.
pub fn cut(bytes: &Bytes, places: &[usize]) -> Vec<Step> {
    let mut start = 0;
    let mut steps = Vec::new();
    for end in places.iter().copied().chain([bytes.len()]) {
        let end = end.clamp(start, bytes.len());
        steps.push(Step::Data(bytes.slice(start..end)));
        start = end;
    }
    steps
}

/// `bytes` in pieces of `size`.
pub fn pieces(bytes: &Bytes, size: usize) -> Vec<Step> {
    let starts = (0..bytes.len()).step_by(size.max(1));
    starts.map(|start| Step::Data(bytes.slice(start..bytes.len().min(start + size)))).collect()
}
