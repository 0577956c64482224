//! Sentences, lists and spans of time, and what a text says already.

use crate::tool_error::bounds::{self, cut};

/// Items of a list that are written out.
const ITEMS: usize = 10;
/// Characters of a written list.
const LIST_CHARS: usize = 300;

pub(super) fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    list_and(items, 0)
}

/// The same, where there are `more` than `items`.
pub(super) fn list_and(items: impl IntoIterator<Item = impl AsRef<str>>, more: usize) -> String {
    let mut items = items.into_iter();
    let mut text = String::new();
    let mut room = LIST_CHARS;
    let mut left_out = 0_usize;
    for item in items.by_ref().take(ITEMS) {
        let comma = if text.is_empty() { "" } else { ", " };
        let item = item.as_ref();
        let size = comma.len() + item.chars().count();
        match room.checked_sub(size) {
            Some(rest) if left_out == 0 => {
                room = rest;
                text.push_str(comma);
                text.push_str(item);
            }
            // Whole items, so that the number of the others is right; the first in any case.
            _ if text.is_empty() => {
                room = 0;
                text = cut(item, LIST_CHARS);
            }
            _ => left_out += 1,
        }
    }
    let more = more.saturating_add(left_out).saturating_add(items.count());
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// The whole, whose end is never what is cut: it says what to do.
pub(super) fn joined(lead: String, tail: &str) -> String {
    let room = bounds::TEXT_CHARS.saturating_sub(tail.chars().count().saturating_add(1));
    let mut text = cut(&lead, room);
    add(&mut text, Some(tail.to_owned()));
    cut(&text, bounds::TEXT_CHARS)
}

pub(super) fn add(text: &mut String, sentence: Option<String>) {
    let Some(sentence) = sentence.filter(|sentence| !sentence.is_empty()) else { return };
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&sentence);
}

/// `text`, ended like a sentence.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let is_ended = text.is_empty() || text.ends_with(['.', '!', '?', '…', ':', ';']);
    let end = if is_ended { "" } else { "." };
    format!("{text}{end}")
}

/// `text`, begun like a sentence.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

/// So many of a thing: `1 call`, `2 calls`.
pub(super) fn count(number: impl std::fmt::Display, thing: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// A span of time as one says it, rounded up: `90 seconds`, `20 minutes`, `2 hours`.
pub(super) fn span(seconds: f64) -> String {
    let mut amount = seconds.ceil().max(1.0);
    let mut unit = "second";
    for (size, larger) in [(60.0, "minute"), (60.0, "hour"), (24.0, "day")] {
        let next: f64 = amount / size;
        // From minutes on, no more than a tenth is added by rounding up.
        let is_near = unit == "second" || next.fract() == 0.0 || next >= 10.0;
        if next < 2.0 || !is_near {
            break;
        }
        (amount, unit) = (next.ceil(), larger);
    }
    count(amount, unit)
}

/// Whether `what` stands in `text`, not as a part of a longer word.
pub(super) fn mentions(text: &str, what: &str) -> bool {
    places(text, what).next().is_some()
}

/// What stands before and after each place where `what` stands in `text` as a word.
pub(super) fn places<'a>(text: &'a str, what: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(what)
        .filter(|(_, found)| !found.is_empty())
        .filter_map(|(at, found)| Some((text.get(..at)?, text.get(at + found.len()..)?)))
        .filter(move |(before, after)| {
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        })
}
