//! What a server's author decides about failures that declare nothing, about levels, and about how
//! long a call may take.

#[cfg(feature = "toml")]
mod file;
mod refusal;
mod soft;

use std::{
    collections::BTreeMap,
    error::Error,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

#[cfg(feature = "toml")]
pub use self::file::PolicyError;
pub use self::refusal::Refusal;
pub(crate) use self::soft::Classifier;
use self::soft::SoftRules;
use crate::{
    classify::ResultClassifier,
    outcome::{Code, Level},
};

/// What the client gets of an `isError` result without a record: an error whose author did not say
/// what it means.
///
/// It is about these alone:
///
/// - A JSON-RPC error -32603, or one of the server's own range (-32099 to -32000) but the few that
///   the protocol gives a meaning, is always withheld. On `tools/call` the client gets an
///   `isError` result with the fixed text in its place, on other requests a -32603 with it.
/// - What a declared [`ToolError`](crate::ToolError) says goes out as it is.
/// - What an SDK itself says of arguments that do not fit, or of a tool that it does not have, is
///   the client's fault and passes: see [`Policy::recognise_refusal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undeclared {
    /// The author's own text.
    #[default]
    Pass,
    /// The fixed text, as for an unknown error. What the author wrote is in the log, as the cause.
    Mask,
}

/// What an error that heals itself is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heals {
    /// Something took too long and may not the next time.
    Timeout,
    /// Too many requests for now; the delay is how long, where that is known.
    RateLimit(Option<Duration>),
    /// A server that it depends on is not there for now; the delay is how long, where that is
    /// known. Its code is `upstream_error`.
    Unavailable(Option<Duration>),
}

type RefusalRecogniser = Arc<dyn Fn(&str) -> Option<Refusal> + Send + Sync>;
type Recogniser = Arc<dyn Fn(&(dyn Error + 'static)) -> Option<Heals> + Send + Sync>;

/// Which level and text failures get. Give one to the layers with
/// [`OutcomeLayer::policy`](crate::OutcomeLayer::policy); of several in a stack the innermost
/// decides, but what one further out masks or does not trust stays so.
///
/// With the feature `toml` it can be read from a text: `Policy::from_toml`.
///
/// ```
/// use tower_outcome::{Heals, Level, OutcomeLayer, Policy, Undeclared};
///
/// #[derive(Debug)]
/// struct PoolBusy;
/// # impl std::fmt::Display for PoolBusy {
/// #     fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
/// # }
/// # impl std::error::Error for PoolBusy {}
///
/// let policy = Policy::new()
///     .undeclared(Undeclared::Mask)
///     .level("unknown_note", Level::Debug)
///     .recognise(|error| error.is::<PoolBusy>().then_some(Heals::RateLimit(None)));
/// let layer = OutcomeLayer::new().policy(policy);
/// # let _ = layer;
/// ```
#[derive(Clone, Default)]
pub struct Policy {
    undeclared: Undeclared,
    undeclared_level: Option<Level>,
    levels: BTreeMap<Code, Level>,
    distrust_levels: bool,
    deadline: Option<Duration>,
    recognisers: Vec<Recogniser>,
    refusals: Vec<RefusalRecogniser>,
    soft: SoftRules,
}

impl Policy {
    /// The default: undeclared errors pass and are ERROR, every other failure has the level that
    /// it declares or that who has to act on it gives it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the client gets of errors that declare nothing.
    #[must_use]
    pub fn undeclared(mut self, undeclared: Undeclared) -> Self {
        self.undeclared = undeclared;
        self
    }

    /// The level of failures that declare nothing. ERROR by default.
    #[must_use]
    pub fn undeclared_level(mut self, level: Level) -> Self {
        self.undeclared_level = Some(level);
        self
    }

    /// The level of failures with this code, whatever they declare: a [`Code`] or a text. A text
    /// is made a code as [`ToolError`](crate::ToolError) does it, so that "Bad Mode!" is
    /// `bad_mode`; one that cannot be is ignored. Codes are in the `code` field of the log.
    #[must_use]
    pub fn level(mut self, code: impl AsRef<str>, level: Level) -> Self {
        if let Some(code) = Code::coerce(code.as_ref().to_owned().into()) {
            self.levels.insert(code, level);
        }
        self
    }

    /// Whether a failure's record may give it a level below its actor's own. `true` by default;
    /// with `false` a fault for the operator is ERROR, whatever an upstream server says.
    #[must_use]
    pub fn trust_declared_levels(mut self, trust: bool) -> Self {
        self.distrust_levels = !trust;
        self
    }

    /// How long a tool call may take: one that has no answer after this long is answered as a fault
    /// that heals itself, as [`ContainLayer::deadline`](crate::ContainLayer::deadline) describes,
    /// which has precedence where it is set. It takes a layer that contains: the one that has this
    /// policy, or one inside of it, as in [`OutcomeLayer`](crate::OutcomeLayer). None by default.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// After how long a tool call without an answer is answered, where
    /// [`deadline`](Self::deadline) has said so: for programs that have a default of their own.
    #[must_use]
    pub fn deadline_after(&self) -> Option<Duration> {
        self.deadline
    }

    /// Says of an error type of your own that it heals itself. It is asked about each error in a
    /// fault's source chain, after the timeouts and rate limits that this crate knows.
    #[must_use]
    pub fn recognise(
        mut self,
        recogniser: impl Fn(&(dyn Error + 'static)) -> Option<Heals> + Send + Sync + 'static,
    ) -> Self {
        self.recognisers.push(Arc::new(recogniser));
        self
    }

    /// Says of a text that a server turns calls down with, before a tool runs, what it means. It is
    /// asked about the text of an `isError` result, and of an error -32601 or -32602, that none of
    /// the known SDKs writes: rmcp, tower-mcp, FastMCP, the Python and the TypeScript SDK.
    ///
    /// ```
    /// use tower_outcome::{Policy, Refusal};
    ///
    /// let policy = Policy::new().recognise_refusal(|text| {
    ///     text.starts_with("no handler for ").then_some(Refusal::UnknownTool)
    /// });
    /// # let _ = policy;
    /// ```
    #[must_use]
    pub fn recognise_refusal(
        mut self,
        recogniser: impl Fn(&str) -> Option<Refusal> + Send + Sync + 'static,
    ) -> Self {
        self.refusals.push(Arc::new(recogniser));
        self
    }

    /// What `text` says of a call of `tool` that was turned down, if it says so. A recogniser that
    /// panics knows nothing.
    pub(crate) fn refusal(&self, text: &str, tool: &str) -> Option<Refusal> {
        Refusal::of(text, tool).or_else(|| {
            let mut own = self.refusals.iter();
            own.find_map(|recogniser| crate::unwind::catch(|| recogniser(text)).ok().flatten())
        })
    }

    /// Which results that no flag calls failures are failures all the same: by default those that
    /// [`SoftErrors`](crate::SoftErrors) knows; see [`ResultClassifier`].
    #[must_use]
    pub fn soft_errors(mut self, classifier: impl ResultClassifier + 'static) -> Self {
        self.soft.set(Classifier::new(classifier));
        self
    }

    /// No result is a failure that no flag calls one.
    #[must_use]
    pub fn no_soft_errors(mut self) -> Self {
        self.soft.set(Classifier::off());
        self
    }

    /// The same as [`soft_errors`](Self::soft_errors), for one tool.
    #[must_use]
    pub fn soft_errors_of(
        mut self,
        tool: impl Into<String>,
        classifier: impl ResultClassifier + 'static,
    ) -> Self {
        self.soft.set_of(tool.into(), Classifier::new(classifier));
        self
    }

    /// No result of this tool is a failure that no flag calls one: for a tool whose subject may
    /// have failed, such as a build.
    #[must_use]
    pub fn no_soft_errors_of(mut self, tool: impl Into<String>) -> Self {
        self.soft.set_of(tool.into(), Classifier::off());
        self
    }

    /// Whether there are tools whose results are decided about otherwise than those of others.
    #[cfg(feature = "http")]
    pub(crate) fn knows_tools(&self) -> bool {
        self.soft.knows_tools()
    }

    /// What decides about results of `tool`.
    pub(crate) fn classifier_of(&self, tool: &str) -> &Classifier {
        self.soft.of(tool)
    }

    /// This policy within an outer one: its own levels and deadline come first, and what the outer
    /// one masks or does not trust stays so.
    pub(crate) fn within(&self, outer: &Self) -> Self {
        let mut both = self.clone();
        if outer.undeclared == Undeclared::Mask {
            both.undeclared = Undeclared::Mask;
        }
        both.undeclared_level = self.undeclared_level.or(outer.undeclared_level);
        for (code, level) in &outer.levels {
            both.levels.entry(code.clone()).or_insert(*level);
        }
        both.distrust_levels |= outer.distrust_levels;
        both.deadline = self.deadline.or(outer.deadline);
        both.recognisers.extend(outer.recognisers.iter().cloned());
        both.refusals.extend(outer.refusals.iter().cloned());
        both.soft = self.soft.within(&outer.soft);
        both
    }

    pub(crate) fn masks_undeclared(&self) -> bool {
        self.undeclared == Undeclared::Mask
    }

    /// The level of a failure that declares nothing.
    pub(crate) fn level_of_undeclared(&self, code: &Code) -> Level {
        self.levels.get(code).copied().or(self.undeclared_level).unwrap_or(Level::Error)
    }

    /// The level of a failure whose author, or whose kind, says `declared`.
    pub(crate) fn level_of(&self, code: &Code, declared: Option<Level>, default: Level) -> Level {
        if let Some(level) = self.levels.get(code) {
            return *level;
        }
        match declared {
            Some(declared) if self.distrust_levels => declared.max(default),
            Some(declared) => declared,
            None => default,
        }
    }

    /// Whether one of the author's own recognisers knows `error`. One that panics knows nothing.
    pub(crate) fn recognised(&self, error: &(dyn Error + 'static)) -> Option<Heals> {
        self.recognisers
            .iter()
            .find_map(|recogniser| crate::unwind::catch(|| recogniser(error)).ok().flatten())
    }

    pub(crate) fn default_shared() -> Arc<Self> {
        static DEFAULT: OnceLock<Arc<Policy>> = OnceLock::new();
        Arc::clone(DEFAULT.get_or_init(Arc::default))
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("undeclared", &self.undeclared)
            .field("undeclared_level", &self.undeclared_level)
            .field("levels", &self.levels)
            .field("trust_declared_levels", &!self.distrust_levels)
            .field("deadline", &self.deadline)
            .field("recognisers", &self.recognisers.len())
            .field("refusals", &self.refusals.len())
            .field("soft_errors", &self.soft)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_levels_code_is_made_one_as_that_of_a_failure_is() {
        let level = Level::Debug;
        for policy in [
            Policy::new().level("bad_mode", level),
            Policy::new().level("Bad Mode!", level),
            Policy::new().level(Code::from_static("bad_mode"), level),
            Policy::new().level(String::from("bad_mode"), level),
            Policy::new().level("bad_mode", level).level("!", Level::Error),
        ] {
            assert_eq!(policy.level_of(&Code::from_static("bad_mode"), None, Level::Info), level);
            assert_eq!(policy.level_of(&Code::REJECTED, None, Level::Info), Level::Info);
        }
    }

    #[test]
    fn of_two_deadlines_the_inner_one_counts() {
        let second = Duration::from_secs;
        let one = |seconds| Policy::new().deadline(second(seconds));
        let none = Policy::new();
        for (inner, outer, counts) in [
            (&one(1), &one(2), Some(second(1))),
            (&one(2), &one(1), Some(second(2))),
            (&none, &one(2), Some(second(2))),
            (&one(1), &none, Some(second(1))),
            (&none, &none, None),
        ] {
            assert_eq!(inner.within(outer).deadline_after(), counts, "{inner:?} in {outer:?}");
        }
    }
}
