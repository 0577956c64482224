//! A key and its value: where they stand, and what may be wrong with them.

use std::{borrow::Cow, ops::Range};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::error::{PolicyError, QUOTED};
use crate::text::clean;

/// No known key is meant by one that is further away than this.
const MAX_DISTANCE: usize = 3;

type Key<'t> = Spanned<Cow<'t, str>>;
type Value<'t> = Spanned<DeValue<'t>>;

/// A key and its value.
pub(super) struct Entry<'a, 't> {
    text: &'a str,
    /// The one whose table it stands in; none at the top.
    parent: Option<&'a Entry<'a, 't>>,
    key: &'a Key<'t>,
    value: &'a Value<'t>,
}

impl<'a, 't> Entry<'a, 't> {
    /// The entries of a whole text.
    pub(super) fn all(text: &'a str, table: &'a DeTable<'t>) -> Vec<Self> {
        Self::of(text, None, table)
    }

    /// A table's entries as the text has them, so that the first mistake is told first.
    fn of(text: &'a str, parent: Option<&'a Entry<'a, 't>>, table: &'a DeTable<'t>) -> Vec<Self> {
        let mut entries: Vec<_> =
            table.iter().map(|(key, value)| Self { text, parent, key, value }).collect();
        entries.sort_by_key(|entry| entry.key.span().start);
        entries
    }

    /// What is in the table that the value is, if it is one.
    pub(super) fn entries(&self) -> Option<Vec<Entry<'_, 't>>> {
        Some(Entry::of(self.text, Some(self), self.value().as_table()?))
    }

    pub(super) fn name(&self) -> &str {
        self.key.get_ref()
    }

    pub(super) fn value(&self) -> &DeValue<'t> {
        self.value.get_ref()
    }

    /// What a header would call the table that the value is.
    pub(super) fn path(&self) -> String {
        let parent = self.parent.map_or_else(String::new, |parent| parent.path() + ".");
        parent + &self.key()
    }

    /// The key as the text has it.
    pub(super) fn key(&self) -> String {
        self.quoted(&self.key.span())
    }

    /// That the value is none that the key can have.
    pub(super) fn unfit(&self, fix: &str) -> PolicyError {
        let (key, at) = (self.key(), self.value.span());
        let found = match self.value() {
            DeValue::Table(_) => format!("the table {key}"),
            // The header of an array of tables, of which the key is a part.
            _ if at.start < self.key.span().start => self.quoted(&at),
            _ => format!("{key} = {}", self.quoted(&at)),
        };
        self.error(&at, &format!("{found} does not fit; write {fix}"))
    }

    /// That the key is none of those that are known where it stands.
    pub(super) fn unknown(&self, known: &[&str]) -> PolicyError {
        self.unknown_or(known, "")
    }

    /// The same, where something else may be meant besides.
    pub(super) fn unknown_or(&self, known: &[&str], besides: &str) -> PolicyError {
        let key = self.name().to_lowercase();
        let nearest = known
            .iter()
            .map(|known| (strsim::osa_distance(known, &key), known))
            .min()
            .filter(|(distance, _)| *distance <= MAX_DISTANCE);
        let fix = match (known, nearest) {
            ([only], _) => format!("write {only}"),
            (_, Some((_, meant))) => format!("write {meant}, or one of {}", known.join(", ")),
            (_, None) => format!("one of {}", known.join(", ")),
        };
        let key = clean(self.name(), QUOTED);
        self.error_of_key(&format!("the key '{key}' is not known; {fix}{besides}"))
    }

    /// That the key is known elsewhere.
    pub(super) fn misplaced(&self, place: &str) -> PolicyError {
        self.error_of_key(&format!("the key '{}' is not known here; write it {place}", self.name()))
    }

    pub(super) fn error_of_key(&self, problem: &str) -> PolicyError {
        self.error(&self.key.span(), problem)
    }

    /// A problem, and the table that it is in.
    pub(super) fn error(&self, at: &Range<usize>, problem: &str) -> PolicyError {
        let place = self.parent.map_or_else(String::new, |table| format!("[{}] ", table.path()));
        PolicyError::new(self.text, at, place + problem)
    }

    /// What stands in the text there, or at least its first line.
    pub(super) fn quoted(&self, at: &Range<usize>) -> String {
        let found = self.text.get(at.clone()).unwrap_or_default();
        clean(found.lines().next().unwrap_or_default(), QUOTED).into_owned()
    }
}
