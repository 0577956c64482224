//! How and why a call failed.

use std::borrow::Cow;

use super::{Actor, Code, Level, Retryable};

/// How and why a call failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure, countable.
    pub code: Code,
    /// Who has to act, where that is known.
    pub actor: Option<Actor>,
    /// The level of the log line.
    pub level: Level,
    /// Whether sending the call again can succeed, where that is known.
    pub retryable: Option<Retryable>,
    /// What the client was told; in a [`Record`](crate::Record) redacted and cut at 512 characters.
    pub error: Option<String>,
    /// What the client was told to refer to, where it is not the call's own id.
    pub reference: Option<String>,
    /// What the client was not told.
    pub cause: Option<Cause>,
}

impl Failure {
    /// A failure of this kind, which this actor has to act on: with the level and the advice that
    /// follow from that, and nothing else known.
    #[must_use]
    pub fn new(code: Code, actor: Actor) -> Self {
        Self {
            code,
            actor: Some(actor),
            level: actor.default_level(),
            retryable: Some(actor.retryable()),
            error: None,
            reference: None,
            cause: None,
        }
    }
}

/// What an operator needs to know about a failure, and nobody else may.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cause {
    /// The Rust type of the error, or `panic`. Types of the standard library, tokio, tower and the
    /// like have their public name, `std::io::Error`, whichever way they came in; a type of your
    /// own has the compiler's, or is `error` where it was boxed.
    pub error_type: Cow<'static, str>,
    /// The error and its sources; in a [`Record`](crate::Record) redacted and cut at 4 KiB.
    pub chain: String,
    /// `file:line` of a panic, where the panic hook is installed: as the compiler was given it, so
    /// with the build machine's path for a dependency's code.
    pub location: Option<String>,
    /// The backtrace of a panic, where the panic hook is installed and backtraces are enabled.
    pub backtrace: Option<String>,
}

impl Cause {
    /// The error type of a deadline that has passed.
    pub(crate) const DEADLINE: &'static str = "deadline";

    pub(crate) fn is_deadline(&self) -> bool {
        self.error_type == Self::DEADLINE
    }

    /// A cause of this type that reads like this.
    #[must_use]
    pub fn new(error_type: impl Into<Cow<'static, str>>, chain: impl Into<String>) -> Self {
        Self { error_type: error_type.into(), chain: chain.into(), location: None, backtrace: None }
    }
}
