//! The vocabulary: how a request ended, who has to act, and what the caller may do next.
//!
//! Everything here is plain data without a protocol, a layer or a log in sight; the rest of the
//! crate is written in these words.

mod code;
mod failure;

use std::fmt;

pub use self::{
    code::Code,
    failure::{Cause, Failure},
};

/// Declares an enum whose variants have one stable name each, used on the wire and in the log.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// The stable name, as it stands in records and in the log.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value with this exact name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

named! {
    /// How a request ended.
    ///
    /// The first four are the *outcomes* that a tool decides about; whoever reads a log line needs
    /// the others to be told apart from them.
    #[non_exhaustive]
    pub enum Outcome {
        /// The result fits the contract. An empty result is one of them.
        Completed = "completed",
        /// The request must change before it can succeed.
        Rejected = "rejected",
        /// What the request was based on has moved on; fresh values must be fetched first.
        Stale = "stale",
        /// The request was fine, the server could not deliver.
        Fault = "fault",
        /// A failure whose author did not say what it means, such as a bare `isError` result.
        Undeclared = "undeclared",
        /// A result without the error flag whose payload says that the call failed.
        SoftError = "soft_error",
        /// A JSON-RPC error that tells the client what is wrong with its request.
        ProtocolError = "protocol_error",
        /// A task was created; the call goes on in the background.
        Deferred = "deferred",
        /// The server asked the client for input before it can go on.
        InputRequired = "input_required",
        /// The client asked for the call to stop.
        Cancelled = "cancelled",
        /// The client left before it had the answer.
        Abandoned = "abandoned",
    }
}

impl Outcome {
    /// Whether the call failed, whoever has to act on it.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Rejected
            | Self::Stale
            | Self::Fault
            | Self::Undeclared
            | Self::SoftError
            | Self::ProtocolError => true,
            Self::Completed
            | Self::Deferred
            | Self::InputRequired
            | Self::Cancelled
            | Self::Abandoned => false,
        }
    }
}

named! {
    /// The three outcomes that a failure can declare.
    pub enum Declared {
        /// See [`Outcome::Rejected`].
        Rejected = "rejected",
        /// See [`Outcome::Stale`].
        Stale = "stale",
        /// See [`Outcome::Fault`].
        Fault = "fault",
    }
}

impl Declared {
    /// Who acts on such a failure unless its author says otherwise.
    #[must_use]
    pub const fn default_actor(self) -> Actor {
        match self {
            Self::Rejected | Self::Stale => Actor::Model,
            Self::Fault => Actor::Operator,
        }
    }

    /// Whether `actor` can act on such a failure: only the model on outcomes 2 and 3, anyone but
    /// the model on a fault.
    #[must_use]
    pub const fn allows(self, actor: Actor) -> bool {
        matches!(
            (self, actor),
            (Self::Rejected | Self::Stale, Actor::Model)
                | (Self::Fault, Actor::Operator | Actor::Time | Actor::User)
        )
    }

    /// The code of such a failure where its author gave no valid one.
    #[must_use]
    pub const fn default_code(self) -> Code {
        match self {
            Self::Rejected => Code::REJECTED,
            Self::Stale => Code::STALE,
            Self::Fault => Code::INTERNAL_ERROR,
        }
    }
}

impl From<Declared> for Outcome {
    fn from(declared: Declared) -> Self {
        match declared {
            Declared::Rejected => Self::Rejected,
            Declared::Stale => Self::Stale,
            Declared::Fault => Self::Fault,
        }
    }
}

named! {
    /// Who has to act so that the next call can succeed.
    pub enum Actor {
        /// The model: its next call must be a different one.
        Model = "model",
        /// The user: reconnect, approve, pay.
        User = "user",
        /// Nobody: it heals by itself.
        Time = "time",
        /// Whoever runs the server.
        Operator = "operator",
    }
}

impl Actor {
    /// The level of a failure that this actor has to act on: the model's and the user's own
    /// business is INFO, what heals itself WARN, what an operator must repair ERROR.
    #[must_use]
    pub const fn default_level(self) -> Level {
        match self {
            Self::Model | Self::User => Level::Info,
            Self::Time => Level::Warn,
            Self::Operator => Level::Error,
        }
    }

    /// What a caller may do after a failure that this actor has to act on.
    #[must_use]
    pub const fn retryable(self) -> Retryable {
        match self {
            Self::Model => Retryable::WithDifferentArguments,
            Self::Time => Retryable::AfterDelay,
            Self::User | Self::Operator => Retryable::Never,
        }
    }
}

named! {
    /// Whether sending a call again can succeed.
    pub enum Retryable {
        /// At once, but only with other arguments.
        WithDifferentArguments = "with_different_arguments",
        /// The same call, later; where the record tells [effects](crate::Effects), only what they
        /// leave open.
        AfterDelay = "after_delay",
        /// No call that the model could send helps.
        Never = "never",
    }
}

named! {
    /// The level of a log line: the five of [`tracing`](https://docs.rs/tracing), as data.
    pub enum Level {
        /// `tracing::Level::TRACE`
        Trace = "trace",
        /// `tracing::Level::DEBUG`
        Debug = "debug",
        /// `tracing::Level::INFO`
        Info = "info",
        /// `tracing::Level::WARN`
        Warn = "warn",
        /// `tracing::Level::ERROR`
        Error = "error",
    }
}

impl From<tracing::Level> for Level {
    fn from(level: tracing::Level) -> Self {
        match level {
            tracing::Level::TRACE => Self::Trace,
            tracing::Level::DEBUG => Self::Debug,
            tracing::Level::INFO => Self::Info,
            tracing::Level::WARN => Self::Warn,
            tracing::Level::ERROR => Self::Error,
        }
    }
}

impl From<Level> for tracing::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::TRACE,
            Level::Debug => Self::DEBUG,
            Level::Info => Self::INFO,
            Level::Warn => Self::WARN,
            Level::Error => Self::ERROR,
        }
    }
}

named! {
    /// Why a request was cancelled or abandoned.
    #[non_exhaustive]
    pub enum Reason {
        /// The client sent `notifications/cancelled`, or, from 2026-07-28 on, closed the stream.
        ClientCancelled = "client_cancelled",
        /// The client's connection ended.
        Disconnected = "disconnected",
        /// The client's session ended.
        SessionEnded = "session_ended",
        /// The server shut down.
        Shutdown = "shutdown",
        /// A task whose end nobody has asked for in time.
        Forgotten = "forgotten",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_model_acts_on_outcomes_2_and_3() {
        for declared in [Declared::Rejected, Declared::Stale, Declared::Fault] {
            assert!(declared.allows(declared.default_actor()));
            assert_eq!(declared.allows(Actor::Model), declared != Declared::Fault);
        }
    }
}
