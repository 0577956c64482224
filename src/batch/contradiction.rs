//! What a tool cannot have meant when it reported on its batch.

use std::{error::Error, fmt};

use super::BatchStatus;
use crate::{
    outcome::Code,
    text,
    tool_error::{Effects, ToolError},
};

/// What was said of a batch cannot be true: a bug of the tool, found before the model is told
/// anything false.
///
/// It prints as a sentence that names the item and what to do about it. With `?` it becomes a
/// fault, `contract_violation`, which an operator has to look at: the sentence goes into the log,
/// and the model reads the fixed text, what was confirmed without a contradiction, and that what
/// else took effect is unknown. So it does not implement [`std::error::Error`]: `?` would take it
/// for any other error.
///
/// ```
/// use tower_outcome::{Batch, BatchStatus, ContradictionKind, ToolError};
///
/// let mut batch = Batch::new(["p1", "p2"])?;
/// batch.confirm("p1");
/// let contradiction = batch.outcome_as(BatchStatus::Succeeded).unwrap_err();
/// assert_eq!(*contradiction.kind(), ContradictionKind::Unresolved { item: "p2".into() });
/// assert_eq!(
///     contradiction.to_string(),
///     "the batch is said to have succeeded, but item 'p2' is not confirmed: confirm it, or report \
///      what is left with `finish`"
/// );
/// assert_eq!(ToolError::from(contradiction).declaration().code(), "contract_violation");
/// # Ok::<(), ToolError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    kind: ContradictionKind,
    /// What is known all the same.
    effects: Box<Effects>,
}

/// Which contradiction it is.
///
/// ```
/// use tower_outcome::{Batch, ContradictionKind};
///
/// let twice = Batch::new(["p1", "p1"]).unwrap_err();
/// assert_eq!(*twice.kind(), ContradictionKind::Duplicate { item: "p1".into() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContradictionKind {
    /// A batch of nothing.
    Empty,
    /// More items than a batch holds.
    TooMany {
        /// How many it holds.
        limit: usize,
    },
    /// An item without a name.
    Blank,
    /// The same item twice in one batch.
    Duplicate {
        /// The item.
        item: String,
    },
    /// Something was reported of an item that was never in the batch.
    NotInBatch {
        /// The item.
        item: String,
    },
    /// Two things were reported of an item that cannot both be true.
    Conflict {
        /// The item.
        item: String,
        /// What was said first: `confirmed` or `rejected`.
        first: &'static str,
        /// What was said then: `confirmed`, `rejected` or `lost`.
        then: &'static str,
    },
    /// A success with an item that is not confirmed.
    Unresolved {
        /// The first such item.
        item: String,
    },
    /// A partial result with nothing confirmed.
    NothingConfirmed,
    /// A partial result with nothing unresolved.
    NothingUnresolved,
    /// `rejected` or `unknown`, although an item is confirmed.
    Confirmed {
        /// The first such item.
        item: String,
        /// What the batch was said to be.
        status: BatchStatus,
    },
    /// `rejected`, although it is not known of an item that nothing was done.
    NotRejected {
        /// The first such item.
        item: String,
    },
    /// `unknown`, although it is known of each item that nothing was done.
    NothingUnknown,
}

impl ContradictionKind {
    fn item(&self) -> Option<&str> {
        match self {
            Self::Duplicate { item }
            | Self::NotInBatch { item }
            | Self::Conflict { item, .. }
            | Self::Unresolved { item }
            | Self::Confirmed { item, .. }
            | Self::NotRejected { item } => Some(item),
            Self::Empty
            | Self::TooMany { .. }
            | Self::Blank
            | Self::NothingConfirmed
            | Self::NothingUnresolved
            | Self::NothingUnknown => None,
        }
    }
}

impl Contradiction {
    pub(super) fn new(kind: ContradictionKind, effects: Effects) -> Self {
        Self { kind, effects: Box::new(effects) }
    }

    /// Which contradiction it is.
    ///
    /// ```
    /// use tower_outcome::{Batch, ContradictionKind};
    ///
    /// let none = Batch::new([""; 0]).unwrap_err();
    /// assert_eq!(*none.kind(), ContradictionKind::Empty);
    /// ```
    #[must_use]
    pub fn kind(&self) -> &ContradictionKind {
        &self.kind
    }

    /// The item that it is about, where it is about one.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1"])?;
    /// batch.confirm("p2");
    /// assert_eq!(batch.outcome().unwrap_err().item(), Some("p2"));
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn item(&self) -> Option<&str> {
        self.kind.item()
    }

    /// As what it goes to the operator, with the error that stopped the work, if one did.
    pub(super) fn into_fault(self, source: Option<Box<dyn Error + Send + Sync>>) -> ToolError {
        let Self { kind, effects } = self;
        ToolError::fault()
            .code(Code::CONTRACT_VIOLATION)
            .effects(*effects)
            .source(ContractViolation { kind, source })
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl fmt::Display for ContradictionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = self.item().map(|item| text::clean(item, text::NAME_CHARS));
        let item = item.as_deref().unwrap_or_default();
        match self {
            Self::Empty => f.write_str(
                "the batch has no items: answer an empty list before a batch is made of it",
            ),
            Self::TooMany { limit } => write!(
                f,
                "the batch has more than {limit} items: make several batches of it, or refuse it"
            ),
            Self::Blank => {
                f.write_str("an item of the batch is blank: give each a name that says which it is")
            }
            Self::Duplicate { .. } => write!(
                f,
                "item '{item}' is in the batch twice: remove duplicates, or refuse them with \
                 `Batch::requested`"
            ),
            Self::NotInBatch { .. } => write!(
                f,
                "item '{item}' was reported but never was in the batch: report items by the names \
                 that the batch was made with"
            ),
            Self::Conflict { first, then, .. } => write!(
                f,
                "item '{item}' was {first} and then {then}: report an item once it is known what \
                 became of it"
            ),
            Self::Unresolved { .. } => write!(
                f,
                "the batch is said to have succeeded, but item '{item}' is not confirmed: confirm \
                 it, or report what is left with `finish`"
            ),
            Self::NothingConfirmed => f.write_str(
                "the batch is said to be partial, but no item is confirmed: confirm what took \
                 effect, or report it as rejected or unknown",
            ),
            Self::NothingUnresolved => f.write_str(
                "the batch is said to be partial, but every item is confirmed: report it as \
                 succeeded",
            ),
            Self::Confirmed { status, .. } => write!(
                f,
                "the batch is said to be {status}, but item '{item}' is confirmed: report it as \
                 partial"
            ),
            Self::NotRejected { .. } => write!(
                f,
                "the batch is said to be rejected, but it is not known of item '{item}' that \
                 nothing was done: reject it too, or report the batch as unknown"
            ),
            Self::NothingUnknown => f.write_str(
                "the batch is said to be unknown, but every item was rejected: report it as \
                 rejected",
            ),
        }
    }
}

/// An operator's fault; its text is fixed.
impl From<Contradiction> for ToolError {
    fn from(contradiction: Contradiction) -> Self {
        contradiction.into_fault(None)
    }
}

/// What the log gets.
#[derive(Debug)]
struct ContractViolation {
    kind: ContradictionKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Error for ContractViolation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
