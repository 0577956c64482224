//! What a failed call is known to have done, and the limit that it ran into.

use std::time::Duration;

use serde_json::{Map, Value};

use super::bounds;

/// What is known to have happened before a call failed: of a batch, or of anything with several
/// steps. "Nothing was changed" is only said where a tool said so, with [`none`](Self::none):
/// empty lists, and [`default`](Self::default), say nothing and are as if no effects were given.
///
/// ```
/// use tower_outcome::Effects;
///
/// let effects = Effects::confirmed(["p1"]).and(Effects::unresolved(["p2", "p3"]));
/// assert_eq!(effects.unresolved, ["p2", "p3"]);
/// assert!(!effects.unknown);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// What did happen. At most 64 items of 128 characters are kept.
    pub confirmed: Vec<String>,
    /// How many more did, of which the names are not kept.
    pub more_confirmed: usize,
    /// What is not known to have happened, or known not to have. The model is told to check before
    /// it sends any of it again. Bounded like `confirmed`.
    pub unresolved: Vec<String>,
    /// How many more are, of which the names are not kept.
    pub more_unresolved: usize,
    /// Whether more may have happened than is listed.
    pub unknown: bool,
    /// Said by [`none`](Self::none) alone; without it, empty lists say nothing.
    nothing: bool,
    /// What is unresolved is known not to have happened: nothing of it has to be checked.
    settled: bool,
}

impl Effects {
    /// These happened.
    pub fn confirmed(items: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let (confirmed, more_confirmed) = bounds::counted_names(items);
        Self { confirmed, more_confirmed, ..Self::default() }
    }

    /// These are not known to have happened, or known not to have.
    pub fn unresolved(items: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let (unresolved, more_unresolved) = bounds::counted_names(items);
        Self { unresolved, more_unresolved, ..Self::default() }
    }

    /// These are known not to have happened. On the wire that is unresolved too.
    pub(crate) fn not_done(items: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { settled: true, ..Self::unresolved(items) }
    }

    /// Nobody knows what happened.
    #[must_use]
    pub fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    /// Nothing happened: what the tool knows, and says, of its own accord. Only here does the text
    /// say "Nothing was changed."
    #[must_use]
    pub fn none() -> Self {
        Self { nothing: true, ..Self::default() }
    }

    /// Whether it says that nothing happened: [`none`](Self::none), and nothing else added.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.nothing && self.is_empty()
    }

    /// Whether all that is unresolved is known not to have happened, and there is such.
    pub(super) fn is_settled(&self) -> bool {
        self.settled && !self.unknown && !self.unresolved.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.confirmed.is_empty() && self.unresolved.is_empty() && !self.unknown
    }

    /// Both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        // One that is not, and it has to be checked which.
        let is_settled = |it: &Self| it.settled || it.unresolved.is_empty();
        self.settled = (self.settled || other.settled) && is_settled(&self) && is_settled(&other);
        self.confirmed.extend(other.confirmed);
        self.more_confirmed = self.more_confirmed.saturating_add(other.more_confirmed);
        self.unresolved.extend(other.unresolved);
        self.more_unresolved = self.more_unresolved.saturating_add(other.more_unresolved);
        self.unknown |= other.unknown;
        self.nothing |= other.nothing;
        self
    }

    /// The same, bounded; `None` where it says nothing.
    pub(super) fn bounded(self) -> Option<Self> {
        let (confirmed, more_confirmed) = bounds::counted_names(self.confirmed);
        let (unresolved, more_unresolved) = bounds::counted_names(self.unresolved);
        let bounded = Self {
            confirmed,
            more_confirmed: self.more_confirmed.saturating_add(more_confirmed),
            unresolved,
            more_unresolved: self.more_unresolved.saturating_add(more_unresolved),
            ..self
        };
        (bounded.nothing || !bounded.is_empty()).then_some(bounded)
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let names = |key: &str| match object.get(key) {
            None => Some((Vec::new(), 0)),
            Some(value) => names(value),
        };
        let unknown = match object.get("unknown") {
            None => false,
            Some(value) => value.as_bool()?,
        };
        // What is not valid here says nothing, as what is not listed never did.
        let more = |key: &str| {
            let more = object.get(key).and_then(Value::as_u64);
            more.and_then(|more| usize::try_from(more).ok()).unwrap_or_default()
        };
        let (confirmed, cut_confirmed) = names("confirmed")?;
        let (unresolved, cut_unresolved) = names("unresolved")?;
        Self {
            confirmed,
            more_confirmed: more("more_confirmed").saturating_add(cut_confirmed),
            unresolved,
            more_unresolved: more("more_unresolved").saturating_add(cut_unresolved),
            unknown,
            ..Self::default()
        }
        .bounded()
    }

    pub(super) fn to_value(&self) -> Value {
        let mut object = Map::new();
        object.insert("confirmed".into(), self.confirmed.clone().into());
        object.insert("unresolved".into(), self.unresolved.clone().into());
        object.insert("unknown".into(), self.unknown.into());
        for (key, more) in
            [("more_confirmed", self.more_confirmed), ("more_unresolved", self.more_unresolved)]
        {
            if more > 0 {
                object.insert(key.into(), more.into());
            }
        }
        object.into()
    }
}

/// A list of strings, bounded, and how many more it had; `None` where it is anything else.
fn names(value: &Value) -> Option<(Vec<String>, usize)> {
    let list = value.as_array()?;
    let names: Option<Vec<&str>> = list.iter().take(bounds::ITEMS).map(Value::as_str).collect();
    let more = list.len().saturating_sub(bounds::ITEMS);
    Some((bounds::counted_names(names?).0, more))
}

/// A limit that a call ran into.
///
/// ```
/// use std::time::Duration;
/// use tower_outcome::Limit;
///
/// let limit = Limit::new(30, Duration::from_secs(60)).remaining(0);
/// assert_eq!(limit.window_seconds, Some(60.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// How many requests are allowed.
    pub requests: Option<u64>,
    /// In how many seconds.
    pub window_seconds: Option<f64>,
    /// How many are left.
    pub remaining: Option<u64>,
}

impl Limit {
    /// So many requests in such a time.
    #[must_use]
    pub fn new(requests: u64, window: Duration) -> Self {
        Self {
            requests: Some(requests),
            window_seconds: Some(bounds::seconds_of(window)),
            remaining: None,
        }
    }

    /// How many are left.
    #[must_use]
    pub fn remaining(mut self, remaining: u64) -> Self {
        self.remaining = Some(remaining);
        self
    }

    /// Keys that are not valid are ignored; a limit without any is none.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let count = |key: &str| object.get(key).and_then(Value::as_u64);
        let limit = Self {
            requests: count("requests"),
            window_seconds: object
                .get("window_seconds")
                .and_then(Value::as_f64)
                .and_then(bounds::seconds),
            remaining: count("remaining"),
        };
        (limit != Self::default()).then_some(limit)
    }

    pub(super) fn to_value(self) -> Value {
        let mut object = Map::new();
        let mut insert = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(key.into(), value);
            }
        };
        insert("requests", self.requests.map(Value::from));
        insert("window_seconds", self.window_seconds.map(bounds::number));
        insert("remaining", self.remaining.map(Value::from));
        object.into()
    }
}
