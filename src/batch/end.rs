//! How a batch is ended.

use std::{borrow::Cow, error::Error};

use super::{Batch, BatchOutcome, BatchStatus, Contradiction, ContradictionKind, Done};
use crate::tool_error::{Effects, ToolError};

impl Batch {
    /// What it would end in now, contradictions aside.
    ///
    /// ```
    /// use tower_outcome::{Batch, BatchStatus, ToolError};
    ///
    /// let mut batch = Batch::new(["p1"])?;
    /// batch.confirm("p1");
    /// assert_eq!(batch.status(), BatchStatus::Succeeded);
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        self.items.status()
    }

    /// The items of which nothing was reported yet.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1");
    /// assert!(batch.open().eq(["p2"]));
    /// # Ok::<(), ToolError>(())
    /// ```
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.items.open()
    }

    /// What is known to have happened so far, for a [`ToolError`] that says the rest itself.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1").reject_rest("It was not begun.");
    /// let error = ToolError::user_action("plan_ended", "The plan has ended.")
    ///     .effects(batch.effects());
    /// assert!(error.to_string().starts_with("The plan has ended. Done: p1. Not done: p2."));
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn effects(&self) -> Effects {
        match self.contradiction {
            None => self.items.effects(),
            // Where the books are wrong, more may have happened than stands in them.
            Some(_) => Effects::confirmed(self.items.confirmed())
                .and(Effects::unresolved(self.items.unresolved()))
                .and(Effects::unknown()),
        }
    }

    /// The work stopped at this error, which is for the log alone; the model is told what is done.
    ///
    /// It is the failure that [`finish`](Self::finish) would give now, with this as its
    /// [source](ToolError::source). Where it is known that nothing was done, it is an ordinary
    /// fault that says so; where all is done, one that says that.
    ///
    /// ```
    /// use tower_outcome::{Batch, Done, ToolError};
    ///
    /// # fn label(_: &str) -> Result<(), std::io::Error> {
    /// #     Err(std::io::Error::other("10.0.0.7: broken pipe"))
    /// # }
    /// fn label_all() -> Result<Done, ToolError> {
    ///     let mut batch = Batch::new(["p1", "p2"])?;
    ///     for project in ["p1", "p2"] {
    ///         label(project).map_err(|error| batch.stopped(error))?;
    ///         batch.confirm(project);
    ///     }
    ///     batch.finish()
    /// }
    ///
    /// let text = label_all().unwrap_err().to_string();
    /// assert!(text.starts_with("It is not known which of 2 items took effect, if any did."));
    /// assert!(!text.contains("10.0.0.7"));
    /// ```
    pub fn stopped(&self, source: impl Into<Box<dyn Error + Send + Sync>> + 'static) -> ToolError {
        if let Some(kind) = self.contradiction.clone() {
            return Contradiction::new(kind, self.effects()).into_fault(Some(source.into()));
        }
        let error = match self.status() {
            BatchStatus::Succeeded => ToolError::fault()
                .message("Every item is confirmed, but what was to follow was not done.")
                .effects(self.effects()),
            BatchStatus::Rejected => ToolError::fault().effects(Effects::none()),
            BatchStatus::Partial | BatchStatus::Unknown => {
                self.items.error().unwrap_or_else(ToolError::fault)
            }
        };
        error.source(source)
    }

    /// The whole of it is rejected before anything was sent: that is what the tool says with it.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let batch = Batch::new(["p1", "p2"])?;
    /// let error = batch
    ///     .rejected("label_too_long", "The label has 31 characters.")
    ///     .recover("Send a label of 1 to 30 characters.");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "The label has 31 characters. Nothing was changed. Send a label of 1 to 30 characters."
    /// );
    /// # Ok::<(), ToolError>(())
    /// ```
    ///
    /// Where an item is confirmed or lost, it is a [`Contradiction`], as a fault.
    pub fn rejected(
        self,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> ToolError {
        let claimed = match self.check(BatchStatus::Rejected) {
            // That nothing was sent is what is being said.
            Err(ContradictionKind::NotRejected { .. }) => match self.items.lost().next() {
                Some(item) => Err(ContradictionKind::NotRejected { item: item.to_owned() }),
                None => Ok(()),
            },
            other => other,
        };
        match claimed {
            Ok(()) => ToolError::rejected(code, message).effects(Effects::none()),
            Err(kind) => self.contradicted(kind).into(),
        }
    }

    /// How it ended, by what was reported.
    ///
    /// ```
    /// use tower_outcome::{Batch, BatchStatus, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1");
    /// let outcome = batch.outcome()?;
    /// assert_eq!(outcome.status(), BatchStatus::Partial);
    /// assert!(outcome.unresolved().eq(["p2"]));
    /// # Ok::<(), ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first [`Contradiction`], if there was one.
    pub fn outcome(self) -> Result<BatchOutcome, Contradiction> {
        match self.contradiction.clone() {
            Some(kind) => Err(self.contradicted(kind)),
            None => Ok(BatchOutcome(self.items)),
        }
    }

    /// The same, where the tool, or the service that it asked, says how it ended.
    ///
    /// ```
    /// use tower_outcome::{Batch, BatchStatus, ContradictionKind, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1");
    /// let contradiction = batch.clone().outcome_as(BatchStatus::Succeeded).unwrap_err();
    /// assert_eq!(*contradiction.kind(), ContradictionKind::Unresolved { item: "p2".into() });
    /// assert!(batch.outcome_as(BatchStatus::Partial).is_ok());
    /// # Ok::<(), ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first [`Contradiction`], between reports or between them and `status`.
    pub fn outcome_as(self, status: BatchStatus) -> Result<BatchOutcome, Contradiction> {
        match self.check(status) {
            Err(kind) => Err(self.contradicted(kind)),
            Ok(()) => Ok(BatchOutcome(self.items)),
        }
    }

    /// What the tool returns.
    ///
    /// ```
    /// use tower_outcome::{Batch, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1");
    /// let error = batch.finish().unwrap_err();
    /// assert_eq!(error.declaration().code(), "partial_failure");
    /// # Ok::<(), ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [it ended in](Self#what-it-ends-in) where it did not succeed, contradictions included.
    pub fn finish(self) -> Result<Done, ToolError> {
        self.outcome()?.into_result()
    }

    /// The same, with what `declare` adds to the failure, by how it ended: who has to act, the
    /// level, the next step. A contradiction is not asked about: it stays the operator's.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_outcome::{Actor, Batch, BatchStatus, Level, ToolError};
    ///
    /// let mut batch = Batch::new(["p1", "p2"])?;
    /// batch.confirm("p1").reject_rest("The store was busy.");
    /// let error = batch
    ///     .finish_with(|status, error| match status {
    ///         // What is left heals itself: WARN, and "send only the rest".
    ///         BatchStatus::Partial => {
    ///             error.actor(Actor::Time).retry_after(Duration::from_secs(5))
    ///         }
    ///         _ => error,
    ///     })
    ///     .unwrap_err();
    /// assert_eq!(error.declaration().level(), Level::Warn);
    /// assert_eq!(
    ///     error.to_string(),
    ///     "1 of 2 items is confirmed. p2 was not done: The store was busy. Done: p1. Not done: p2. \
    ///      In 5 seconds send only what is not done yet; if it keeps failing, tell the user that the \
    ///      server has a problem."
    /// );
    /// # Ok::<(), ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn finish_with(
        self,
        declare: impl FnOnce(BatchStatus, ToolError) -> ToolError,
    ) -> Result<Done, ToolError> {
        let outcome = self.outcome()?;
        let status = outcome.status();
        outcome.into_result().map_err(|error| declare(status, error))
    }

    /// Whether it can have ended like this.
    fn check(&self, status: BatchStatus) -> Result<(), ContradictionKind> {
        if let Some(kind) = &self.contradiction {
            return Err(kind.clone());
        }
        let confirmed = self.items.confirmed().next();
        let uncertain = self.items.uncertain().next();
        let found = match (status, confirmed) {
            (BatchStatus::Succeeded, _) => {
                let item = self.items.unresolved().next();
                item.map(|item| ContradictionKind::Unresolved { item: item.to_owned() })
            }
            (BatchStatus::Partial, None) => Some(ContradictionKind::NothingConfirmed),
            (BatchStatus::Partial, Some(_)) => {
                let is_all = self.items.unresolved().next().is_none();
                is_all.then_some(ContradictionKind::NothingUnresolved)
            }
            (BatchStatus::Rejected | BatchStatus::Unknown, Some(item)) => {
                Some(ContradictionKind::Confirmed { item: item.to_owned(), status })
            }
            (BatchStatus::Rejected, None) => {
                uncertain.map(|item| ContradictionKind::NotRejected { item: item.to_owned() })
            }
            (BatchStatus::Unknown, None) => {
                uncertain.is_none().then_some(ContradictionKind::NothingUnknown)
            }
        };
        found.map_or(Ok(()), Err)
    }

    fn contradicted(mut self, kind: ContradictionKind) -> Contradiction {
        self.contradiction.get_or_insert_with(|| kind.clone());
        Contradiction::new(kind, self.effects())
    }
}
