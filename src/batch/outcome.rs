//! How a batch ended.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::items::{Items, State};
use crate::tool_error::{Effects, ToolError};

/// Items that a structured result lists.
const LISTED: usize = 64;

/// The four ways a batch can end.
///
/// ```
/// use tower_outcome::{Batch, BatchStatus, ToolError};
///
/// let mut batch = Batch::new(["p1", "p2"])?;
/// assert_eq!(batch.status(), BatchStatus::Unknown, "nothing was reported yet");
/// batch.confirm("p1");
/// assert_eq!(batch.status(), BatchStatus::Partial);
/// assert_eq!(batch.status().as_str(), "partial");
/// # Ok::<(), ToolError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchStatus {
    /// All items are confirmed.
    Succeeded,
    /// Some are, and some are not.
    Partial,
    /// None is, and it is known of each that nothing was done.
    Rejected,
    /// None is, and what took effect is not known.
    Unknown,
}

impl BatchStatus {
    /// Its name: `succeeded`, `partial`, `rejected` or `unknown`.
    ///
    /// ```
    /// assert_eq!(tower_outcome::BatchStatus::Unknown.as_str(), "unknown");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Partial => "partial",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for BatchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a batch ended, without a contradiction. Only [`Batch::outcome`](crate::Batch::outcome) and
/// [`Batch::outcome_as`](crate::Batch::outcome_as) make one.
///
/// It is not `Serialize`: what is no success must not go out as one. It is for tools that have to
/// look at it; others [`finish`](crate::Batch::finish).
///
/// ```
/// use std::time::Duration;
/// use tower_outcome::{Actor, Batch, BatchStatus, ToolError};
///
/// fn label() -> Result<tower_outcome::Done, ToolError> {
///     let mut batch = Batch::new(["p1", "p2"])?;
///     batch.confirm("p1").lost("p2");
///     let outcome = batch.outcome()?;
///     match outcome.status() {
///         // What is left heals itself: WARN, and "send only the rest".
///         BatchStatus::Partial => outcome.into_result().map_err(|error| {
///             error.actor(Actor::Time).retry_after(Duration::from_secs(5))
///         }),
///         _ => outcome.into_result(),
///     }
/// }
///
/// assert_eq!(
///     label().unwrap_err().to_string(),
///     "1 of 2 items is confirmed. Done: p1. Not confirmed: p2. The call was fine: check whether \
///      the unconfirmed one took effect, then in 5 seconds send it only if it did not; if it keeps \
///      failing, tell the user that the server has a problem."
/// );
/// ```
#[derive(Clone, Debug)]
#[must_use = "the model is told nothing of it until it is made a result"]
pub struct BatchOutcome(pub(super) Items);

impl BatchOutcome {
    /// Which of the four it is.
    ///
    /// ```
    /// use tower_outcome::{Batch, BatchStatus, ToolError};
    ///
    /// let mut batch = Batch::new(["p1"])?;
    /// batch.reject("p1", "There is no such project.");
    /// assert_eq!(batch.outcome()?.status(), BatchStatus::Rejected);
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        self.0.status()
    }

    /// What is known to have happened.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.lost_rest();
    /// let effects = batch.outcome()?.effects();
    /// assert!(effects.confirmed.is_empty() && effects.unknown && !effects.is_none());
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn effects(&self) -> Effects {
        self.0.effects()
    }

    /// The items that took effect.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p2");
    /// assert!(batch.outcome()?.confirmed().eq(["p2"]));
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn confirmed(&self) -> impl Iterator<Item = &str> {
        self.0.confirmed()
    }

    /// All others: first those of which nobody knows, then those that were rejected.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2", "p3"])?;
    /// batch.reject("p1", "There is no such project.").confirm("p3");
    /// assert!(batch.outcome()?.unresolved().eq(["p2", "p1"]));
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn unresolved(&self) -> impl Iterator<Item = &str> {
        self.0.unresolved()
    }

    /// The items that were rejected, and why.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1"])?;
    /// batch.reject("p1", "It is archived.");
    /// assert!(batch.outcome()?.rejected().eq([("p1", "It is archived.")]));
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn rejected(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.rejected()
    }

    /// What a tool returns of it.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1"])?;
    /// batch.confirm("p1");
    /// assert!(batch.outcome()?.into_result().is_ok());
    /// # Ok::<(), ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What it is declared as where it did not succeed: see [`Batch`](crate::Batch).
    pub fn into_result(self) -> Result<Done, ToolError> {
        match self.0.error() {
            Some(error) => Err(error),
            None => {
                let all = self.0.0.into_iter();
                let done = all.filter(|(_, state)| *state == State::Confirmed);
                Ok(Done { confirmed: done.map(|(item, _)| item).collect() })
            }
        }
    }
}

/// A batch of which every item is confirmed: the only end of one that is a success, and so the
/// only one that can be serialised.
///
/// | key | value |
/// |---|---|
/// | `status` | `"succeeded"` |
/// | `confirmed` | the items, at most 64 |
/// | `unresolved` | `[]` |
/// | `more_confirmed` | how many more there are; only where there are |
///
/// With the feature `rmcp` it is also `JsonSchema`, so that a tool can return `Json<Done>`. A tool
/// whose result says more puts it into a structure of its own, or returns that instead.
///
/// ```
/// use tower_outcome::{Batch, ToolError};
///
/// let mut batch = Batch::new(["p1", "p2"])?;
/// batch.confirm("p1").confirm("p2");
/// let done = batch.finish()?;
/// assert_eq!(
///     serde_json::to_value(&done).ok(),
///     Some(serde_json::json!({
///         "status": "succeeded", "confirmed": ["p1", "p2"], "unresolved": [],
///     }))
/// );
/// # Ok::<(), ToolError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    confirmed: Vec<String>,
}

impl Done {
    /// All items, in the order of the batch.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new([7, 3])?;
    /// batch.confirm(3).confirm(7);
    /// assert_eq!(batch.finish()?.confirmed(), ["7", "3"]);
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn confirmed(&self) -> &[String] {
        &self.confirmed
    }
}

impl Serialize for Done {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let listed = self.confirmed.get(..LISTED).unwrap_or(&self.confirmed);
        let more = self.confirmed.len().saturating_sub(listed.len());
        let mut object = serializer.serialize_struct("Done", if more > 0 { 4 } else { 3 })?;
        object.serialize_field("status", BatchStatus::Succeeded.as_str())?;
        object.serialize_field("confirmed", listed)?;
        object.serialize_field::<[String]>("unresolved", &[])?;
        if more > 0 {
            object.serialize_field("more_confirmed", &more)?;
        } else {
            object.skip_field("more_confirmed")?;
        }
        object.end()
    }
}
