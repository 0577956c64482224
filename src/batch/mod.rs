//! Work on many items, of which some may take effect and others not.

mod contradiction;
mod end;
mod items;
mod outcome;
mod report;

use std::collections::{HashMap, hash_map::Entry};

use self::items::{Items, State};
pub use self::{
    contradiction::{Contradiction, ContradictionKind},
    outcome::{BatchOutcome, BatchStatus, Done},
};
use crate::tool_error::{Effects, ToolError};

/// Work on many items, and what is known of each: kept while a tool works, it makes a result that
/// claims neither more nor less than that.
///
/// ```
/// use tower_outcome::{Batch, Done, ToolError};
///
/// # enum Refusal { Archived, Broken(std::io::Error) }
/// fn label(project: &str) -> Result<(), Refusal> {
///     # match project {
///     #     "p2" => return Err(Refusal::Archived),
///     #     "p3" => return Err(Refusal::Broken(std::io::ErrorKind::BrokenPipe.into())),
///     #     _ => {}
///     # }
///     Ok(())
/// }
///
/// fn label_all(projects: Vec<String>) -> Result<Done, ToolError> {
///     // Refuses blank items and duplicates, for the model.
///     let mut batch = Batch::requested("project_ids", &projects)?;
///     for project in &projects {
///         match label(project) {
///             Ok(()) => batch.confirm(project),
///             // Known not to have happened, and why: in words for the model.
///             Err(Refusal::Archived) => batch.reject(project, "It is archived."),
///             // The connection broke: who knows. The error goes into the log, and what is done
///             // to the model. A bare `?` would drop that.
///             Err(Refusal::Broken(error)) => return Err(batch.lost(project).stopped(error)),
///         };
///     }
///     batch.finish()
/// }
///
/// assert!(label_all(vec!["p1".into(), "p4".into()]).is_ok());
/// let error = label_all(vec!["p1".into(), "p3".into()]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "1 of 2 items is confirmed. Done: p1. Not confirmed: p3. The call was fine, but do not send \
///      what is done again, nor the rest before you have checked whether the unconfirmed one took \
///      effect; tell the user what was done, what is not confirmed, and that the server has a \
///      problem."
/// );
/// let error = label_all(vec!["p2".into()]).unwrap_err();
/// assert_eq!(error.to_string(), "p2 was not done: It is archived. Nothing was changed.");
/// ```
///
/// # What it ends in
///
/// | status | what is known | outcome | code | level, actor |
/// |---|---|---|---|---|
/// | [`succeeded`](BatchStatus::Succeeded) | every item is confirmed | `completed` | – | INFO |
/// | [`partial`](BatchStatus::Partial) | some are confirmed, some are not | `fault` | `partial_failure` | ERROR, operator |
/// | [`rejected`](BatchStatus::Rejected) | each item was rejected: nothing was done | `rejected` | `rejected` | INFO, model |
/// | [`unknown`](BatchStatus::Unknown) | none is confirmed, and not every one was rejected | `fault` | `outcome_unknown` | ERROR, operator |
/// | a [`Contradiction`] | the reports cannot all be true | `fault` | `contract_violation` | ERROR, operator |
///
/// The failures are [`ToolError`]s: code, level and actor are declared on them as on any other, by
/// the status: see [`finish_with`](Self::finish_with). (What is declared after
/// [`finish`](Self::finish) holds for a contradiction too.) Their record has the items as `effects`; all that is not
/// confirmed is `unresolved`, that is, not known to have happened or known not to have.
///
/// # What may be claimed
///
/// An item of which nothing was reported may have been sent. So it is unresolved at the end, and
/// a batch of which nothing was reported is `unknown`: "Nothing was changed" is only said once the
/// tool has [rejected](Self::reject) each item. What was [lost](Self::lost) can be confirmed or
/// rejected later, by a tool that looks. What was confirmed or rejected is final: report an item
/// once no further attempt follows. To say the same twice is no contradiction.
///
/// Reports never fail: the first that contradicts another is kept, and is the end of the batch,
/// with the effects that are known all the same. An item of which two things were said counts as
/// unresolved from then on.
///
/// # Bounds
///
/// A batch holds 10 000 items. A record, and the structured result, lists 64 of a kind, a text 10;
/// both say how many more there are.
#[derive(Clone, Debug)]
#[must_use = "the model is told nothing of a batch until it is finished"]
pub struct Batch {
    items: Items,
    places: HashMap<String, usize>,
    contradiction: Option<ContradictionKind>,
}

impl Batch {
    /// Items that a batch can hold.
    ///
    /// ```
    /// use tower_outcome::Batch;
    ///
    /// assert!(Batch::new(0..=Batch::MAX_ITEMS).is_err());
    /// ```
    pub const MAX_ITEMS: usize = 10_000;

    /// A batch of these items, of which nothing is known yet: names, ids, numbers. They are
    /// compared as texts.
    ///
    /// For items that the tool itself found. Those that the model sent belong into
    /// [`requested`](Self::requested).
    ///
    /// ```
    /// use tower_outcome::Batch;
    ///
    /// assert!(Batch::new(["p1", "p2"]).is_ok());
    /// let error = Batch::new([4, 4]).unwrap_err();
    /// assert!(error.to_string().starts_with("item '4' is in the batch twice"));
    /// ```
    ///
    /// # Errors
    ///
    /// A [`Contradiction`] where there are no items, more than [`MAX_ITEMS`](Self::MAX_ITEMS), a
    /// blank one, or one twice.
    pub fn new(items: impl IntoIterator<Item = impl ToString>) -> Result<Self, Contradiction> {
        // Nothing is known of what the tool did before.
        Self::of(items).map_err(|kind| Contradiction::new(kind, Effects::default()))
    }

    /// The same, of items that the model sent in the argument `field`: where they are no batch,
    /// its request must change.
    ///
    /// ```
    /// use tower_outcome::Batch;
    ///
    /// let error = Batch::requested("project_ids", ["p1", "p1"]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "The same item was sent twice. The value of project_ids was \"p1\". Send each item once \
    ///      in project_ids."
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// [`ToolError::rejected`], with the code `empty_batch`, `too_many_items`, `blank_item` or
    /// `duplicate_item`.
    pub fn requested(
        field: &str,
        items: impl IntoIterator<Item = impl ToString>,
    ) -> Result<Self, ToolError> {
        Self::of(items).map_err(|kind| {
            let error = match kind {
                ContradictionKind::Empty => ToolError::rejected("empty_batch", "No item was sent.")
                    .recover(format!("Send at least one item in {field}.")),
                ContradictionKind::TooMany { limit } => {
                    ToolError::rejected("too_many_items", "Too many items were sent.")
                        .recover(format!("Send at most {limit} items in {field}."))
                }
                ContradictionKind::Duplicate { item } => {
                    ToolError::rejected("duplicate_item", "The same item was sent twice.")
                        .received(item)
                        .recover(format!("Send each item once in {field}."))
                }
                _ => ToolError::rejected("blank_item", "A blank item was sent.")
                    .recover(format!("Send no blank items in {field}.")),
            };
            error.field(field)
        })
    }

    fn of(items: impl IntoIterator<Item = impl ToString>) -> Result<Self, ContradictionKind> {
        let mut batch =
            Self { items: Items(Vec::new()), places: HashMap::new(), contradiction: None };
        for item in items {
            let item = item.to_string();
            if item.trim().is_empty() {
                return Err(ContradictionKind::Blank);
            }
            let place = batch.items.0.len();
            if place >= Self::MAX_ITEMS {
                return Err(ContradictionKind::TooMany { limit: Self::MAX_ITEMS });
            }
            match batch.places.entry(item.clone()) {
                Entry::Occupied(_) => return Err(ContradictionKind::Duplicate { item }),
                Entry::Vacant(entry) => entry.insert(place),
            };
            batch.items.0.push((item, State::Open));
        }
        if batch.items.0.is_empty() { Err(ContradictionKind::Empty) } else { Ok(batch) }
    }
}

#[cfg(test)]
mod tests;
