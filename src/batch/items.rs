//! What became of each item, and what follows from it for all of them.

use super::BatchStatus;
use crate::{
    outcome::Code,
    text,
    tool_error::{Effects, ToolError},
};

/// Reasons that are told, and items that are named with each.
const REASONS: usize = 3;
const NAMED: usize = 5;
/// Characters of an item's name beside a reason.
const ITEM_CHARS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing was said of it yet: it may have been sent.
    Open,
    Confirmed,
    /// Known not to have taken effect, and why.
    Rejected(String),
    /// Sent, and no acknowledgement came.
    Lost,
}

/// The items in their order, and what became of each.
#[derive(Clone, Debug)]
pub(super) struct Items(pub(super) Vec<(String, State)>);

impl Items {
    fn with(&self, is: impl Fn(&State) -> bool) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(_, state)| is(state)).map(|(item, _)| item.as_str())
    }

    pub(super) fn confirmed(&self) -> impl Iterator<Item = &str> {
        self.with(|state| *state == State::Confirmed)
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &str> {
        self.with(|state| *state == State::Open)
    }

    /// Of which nobody knows.
    pub(super) fn uncertain(&self) -> impl Iterator<Item = &str> {
        self.with(|state| matches!(state, State::Open | State::Lost))
    }

    pub(super) fn lost(&self) -> impl Iterator<Item = &str> {
        self.with(|state| *state == State::Lost)
    }

    pub(super) fn rejected(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(item, state)| match state {
            State::Rejected(why) => Some((item.as_str(), why.as_str())),
            _ => None,
        })
    }

    /// All that is not confirmed. What has to be checked comes first: a list is cut at its end.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = &str> {
        self.uncertain().chain(self.rejected().map(|(item, _)| item))
    }

    pub(super) fn status(&self) -> BatchStatus {
        let all = self.0.len();
        match self.confirmed().count() {
            done if done == all => BatchStatus::Succeeded,
            0 if self.rejected().count() == all => BatchStatus::Rejected,
            0 => BatchStatus::Unknown,
            _ => BatchStatus::Partial,
        }
    }

    pub(super) fn effects(&self) -> Effects {
        match self.status() {
            BatchStatus::Succeeded => Effects::confirmed(self.confirmed()),
            BatchStatus::Partial => {
                let is_settled = self.uncertain().next().is_none();
                let rest = if is_settled { Effects::not_done } else { Effects::unresolved }(
                    self.unresolved(),
                );
                Effects::confirmed(self.confirmed()).and(rest)
            }
            BatchStatus::Rejected => Effects::none(),
            BatchStatus::Unknown => Effects::unresolved(self.unresolved()).and(Effects::unknown()),
        }
    }

    /// The failure that it is; `None` where there is none.
    pub(super) fn error(&self) -> Option<ToolError> {
        let error = match self.status() {
            BatchStatus::Succeeded => return None,
            BatchStatus::Partial => ToolError::fault().code(Code::PARTIAL_FAILURE),
            BatchStatus::Rejected => ToolError::rejected(Code::REJECTED, ""),
            BatchStatus::Unknown => ToolError::fault().code(Code::OUTCOME_UNKNOWN),
        };
        Some(error.message(self.message()).effects(self.effects()))
    }

    /// What is known of it in numbers, and why some of it was not done.
    fn message(&self) -> String {
        let all = self.0.len();
        let lead = match (self.status(), self.confirmed().count(), self.uncertain().count()) {
            (BatchStatus::Partial, 1, _) => Some(format!("1 of {all} items is confirmed.")),
            (BatchStatus::Partial, done, _) => {
                Some(format!("{done} of {all} items are confirmed."))
            }
            (BatchStatus::Unknown, _, 1) => {
                let which = if all == 1 { "the item" } else { "one of the items" };
                Some(format!("It is not known whether {which} took effect."))
            }
            (BatchStatus::Unknown, _, open) => {
                Some(format!("It is not known which of {open} items took effect, if any did."))
            }
            (BatchStatus::Succeeded | BatchStatus::Rejected, ..) => None,
        };
        let sentences: Vec<String> = lead.into_iter().chain(self.reasons()).collect();
        sentences.join(" ")
    }

    /// Why items were not done, each reason once.
    fn reasons(&self) -> Vec<String> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut others = 0_usize;
        for (item, why) in self.rejected() {
            let is_room = groups.len() < REASONS;
            match groups.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, items)) => items.push(item),
                None if is_room => groups.push((why, vec![item])),
                None => others += 1,
            }
        }
        let mut sentences: Vec<String> =
            groups.iter().map(|(why, items)| reason(why, items)).collect();
        match others {
            0 => {}
            1 => sentences.push("1 more was not done for another reason.".to_owned()),
            _ => sentences.push(format!("{others} more were not done for other reasons.")),
        }
        sentences
    }
}

fn reason(why: &str, items: &[&str]) -> String {
    let named: Vec<_> = items.iter().take(NAMED).map(|item| text::cut(item, ITEM_CHARS)).collect();
    let mut sentence = named.join(", ");
    if let Some(more) = items.len().checked_sub(NAMED).filter(|more| *more > 0) {
        sentence.push_str(&format!(" and {more} more"));
    }
    sentence.push_str(if items.len() == 1 { " was not done" } else { " were not done" });
    if !why.is_empty() {
        sentence.push_str(": ");
        sentence.push_str(why);
    }
    if !sentence.ends_with(['.', '!', '?', '…']) {
        sentence.push('.');
    }
    sentence
}
