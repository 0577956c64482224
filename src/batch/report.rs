//! What a tool reports of its items while it works.

use super::{Batch, ContradictionKind, items::State};
use crate::text;

/// Characters of the reason why an item was not done.
const WHY_CHARS: usize = 200;

impl Batch {
    /// This item took effect: it was acknowledged.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1").confirm("p2");
    /// assert!(batch.finish().is_ok());
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn confirm(&mut self, item: impl ToString) -> &mut Self {
        self.report(item.to_string(), State::Confirmed)
    }

    /// This item is known not to have taken effect, and will not: it was refused, or never sent.
    /// `why` is for the model, and public; at most 200 characters.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1").reject("p2", "There is no such project.");
    /// assert_eq!(
    ///     batch.finish().unwrap_err().to_string(),
    ///     "1 of 2 items is confirmed. p2 was not done: There is no such project. Done: p1. Not \
    ///      done: p2. Do not send what is done again; send the rest only once what stands against \
    ///      it is put right, and tell the user what was done and what was not."
    /// );
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn reject(&mut self, item: impl ToString, why: impl AsRef<str>) -> &mut Self {
        let why = text::cut(why.as_ref().trim(), WHY_CHARS).into_owned();
        self.report(item.to_string(), State::Rejected(why))
    }

    /// [Rejects](Self::reject) all items of which nothing was reported: those that were never sent.
    ///
    /// ```
    /// use tower_outcome::{Batch, BatchStatus, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2", "p3"])?;
    /// batch.reject("p1", "It is archived.").reject_rest("It was not begun.");
    /// assert_eq!(batch.status(), BatchStatus::Rejected);
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn reject_rest(&mut self, why: impl AsRef<str>) -> &mut Self {
        let why = text::cut(why.as_ref().trim(), WHY_CHARS).into_owned();
        self.rest(&State::Rejected(why))
    }

    /// This item was sent, and the acknowledgement was lost: it may have taken effect.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1"])?;
    /// batch.lost("p1");
    /// let text = batch.finish().unwrap_err().to_string();
    /// assert!(text.starts_with("It is not known whether the item took effect."));
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn lost(&mut self, item: impl ToString) -> &mut Self {
        self.report(item.to_string(), State::Lost)
    }

    /// The same of all items of which nothing was reported: they were sent as one.
    ///
    /// ```
    /// use tower_outcome::{Batch, BatchStatus, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.lost_rest();
    /// assert_eq!(batch.status(), BatchStatus::Unknown);
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn lost_rest(&mut self) -> &mut Self {
        self.rest(&State::Lost)
    }

    fn rest(&mut self, state: &State) -> &mut Self {
        for (_, open) in self.items.0.iter_mut().filter(|(_, state)| *state == State::Open) {
            open.clone_from(state);
        }
        self
    }

    fn report(&mut self, item: String, new: State) -> &mut Self {
        let place = self.places.get(&item).and_then(|place| self.items.0.get_mut(*place));
        let contradiction = match place {
            None => Some(ContradictionKind::NotInBatch { item }),
            Some((_, state)) => match conflict(state, &new) {
                None => {
                    *state = new;
                    None
                }
                Some((first, then)) => {
                    // Nobody knows which of the two is true.
                    *state = State::Lost;
                    Some(ContradictionKind::Conflict { item, first, then })
                }
            },
        };
        if let Some(contradiction) = contradiction {
            self.contradiction.get_or_insert(contradiction);
        }
        self
    }
}

/// What was said first and then, where the two cannot both be true.
fn conflict(old: &State, new: &State) -> Option<(&'static str, &'static str)> {
    let then = match new {
        State::Confirmed => "confirmed",
        State::Rejected(_) => "rejected",
        State::Lost => "lost",
        State::Open => return None,
    };
    match (old, new) {
        (State::Confirmed, State::Confirmed) | (State::Rejected(_), State::Rejected(_)) => None,
        (State::Confirmed, _) => Some(("confirmed", then)),
        (State::Rejected(_), _) => Some(("rejected", then)),
        // What was lost may be found.
        (State::Open | State::Lost, _) => None,
    }
}
