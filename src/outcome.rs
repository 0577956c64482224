//! The vocabulary: how a request ended, who has to act, and what the caller may do next.
//!
//! Everything here is plain data without a protocol, a layer or a log in sight; the rest of the
//! crate is written in these words.

use std::{borrow::Cow, fmt};

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
        /// A result without the error flag whose payload says that the call failed. Not produced
        /// by this version.
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
        /// A task whose end nobody fetched in time. Not produced by this version.
        Forgotten = "forgotten",
    }
}

/// A stable, countable name for a kind of failure: `snake_case`, at most [`Code::MAX_LEN`] bytes.
///
/// ```
/// use tower_outcome::Code;
///
/// const UNKNOWN_NOTE: Code = Code::from_static("unknown_note");
/// assert_eq!(UNKNOWN_NOTE.as_str(), "unknown_note");
/// assert!(Code::parse("Unknown note!").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(Cow<'static, str>);

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $text:literal;)+) => { $($(#[$meta])* pub const $name: Self = Self(Cow::Borrowed($text));)+ };
}

impl Code {
    /// The longest code, in bytes.
    pub const MAX_LEN: usize = 64;

    codes! {
        /// A rejection whose author gave no code.
        REJECTED = "rejected";
        /// A stale request whose author gave no code.
        STALE = "stale";
        /// An unknown error, or a fault whose author gave no code.
        INTERNAL_ERROR = "internal_error";
        /// A panic. On the wire it is [`INTERNAL_ERROR`](Self::INTERNAL_ERROR).
        PANIC = "panic";
        /// Something took too long and may not the next time.
        TIMEOUT = "timeout";
        /// Too many requests for now.
        RATE_LIMITED = "rate_limited";
        /// An error whose author did not say what it means.
        UNDECLARED_ERROR = "undeclared_error";
        /// A payload that says that the call failed. Not produced by this version.
        SOFT_ERROR = "soft_error";
        /// JSON-RPC -32700.
        PARSE_ERROR = "parse_error";
        /// JSON-RPC -32600.
        INVALID_REQUEST = "invalid_request";
        /// JSON-RPC -32601.
        METHOD_NOT_FOUND = "method_not_found";
        /// JSON-RPC -32602.
        INVALID_PARAMS = "invalid_params";
        /// MCP -32002, up to revision 2025-11-25.
        RESOURCE_NOT_FOUND = "resource_not_found";
        /// MCP -32020, from revision 2026-07-28.
        HEADER_MISMATCH = "header_mismatch";
        /// MCP -32021, from revision 2026-07-28.
        MISSING_CAPABILITY = "missing_capability";
        /// MCP -32022, from revision 2026-07-28.
        UNSUPPORTED_VERSION = "unsupported_version";
        /// A call of a tool that the server does not have, in any SDK's form.
        UNKNOWN_TOOL = "unknown_tool";
        /// Arguments that do not fit the tool's input schema.
        INVALID_ARGUMENTS = "invalid_arguments";
        /// A batch of which a part took effect.
        PARTIAL_FAILURE = "partial_failure";
        /// Nobody knows what took effect.
        OUTCOME_UNKNOWN = "outcome_unknown";
        /// The server broke its own contract. Not produced by this version.
        CONTRACT_VIOLATION = "contract_violation";
    }

    /// A code known at compile time. An invalid one does not compile in a `const`.
    ///
    /// # Panics
    ///
    /// If `code` is not `snake_case` of 1 to [`MAX_LEN`](Self::MAX_LEN) bytes; in a `const` or
    /// `static` that is a compile error. Use [`parse`](Self::parse) for text from elsewhere.
    #[must_use]
    #[allow(clippy::panic, reason = "documented; meant for constants, where it is a compile error")]
    pub const fn from_static(code: &'static str) -> Self {
        if !is_code(code.as_bytes()) {
            panic!("a code is snake_case (a-z, 0-9, _; first a letter) of at most 64 bytes");
        }
        Self(Cow::Borrowed(code))
    }

    /// The code that `text` is, or `None` where it is not `snake_case` of 1 to
    /// [`MAX_LEN`](Self::MAX_LEN) bytes, the first a letter.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if is_code(text.as_bytes()) { Some(Self(Cow::Owned(text.to_owned()))) } else { None }
    }

    /// The nearest valid code: what a user's `&str` becomes. Letters are lowered, anything else
    /// that is not allowed becomes `_`, the end is cut; empty text gives `None`.
    pub(crate) fn coerce(text: Cow<'static, str>) -> Option<Self> {
        if is_code(text.as_bytes()) {
            return Some(Self(text));
        }
        let mut code = String::with_capacity(text.len().min(Self::MAX_LEN));
        for c in text.chars() {
            match c.to_ascii_lowercase() {
                c @ ('a'..='z' | '0'..='9') => code.push(c),
                _ if code.ends_with('_') || code.is_empty() => {}
                _ => code.push('_'),
            }
            if code.len() >= Self::MAX_LEN {
                break;
            }
        }
        code.truncate(code.trim_end_matches('_').len());
        if code.starts_with(|c: char| c.is_ascii_digit()) {
            code.insert_str(0, "e_");
            code.truncate(Self::MAX_LEN);
        }
        if is_code(code.as_bytes()) { Some(Self(Cow::Owned(code))) } else { None }
    }

    /// The code's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const fn is_code(text: &[u8]) -> bool {
    let [first, rest @ ..] = text else { return false };
    if !first.is_ascii_lowercase() || text.len() > Code::MAX_LEN {
        return false;
    }
    let mut rest = rest;
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_') {
            return false;
        }
        rest = tail;
    }
    true
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Code> for Cow<'static, str> {
    fn from(code: Code) -> Self {
        code.0
    }
}

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_snake_case_of_at_most_64_bytes() {
        for good in ["a", "unknown_note", "e404", &"x".repeat(64)] {
            assert_eq!(Code::parse(good).as_ref().map(Code::as_str), Some(good));
        }
        for bad in ["", "_a", "4a", "Abc", "a-b", "a b", "ä", &"x".repeat(65)] {
            assert_eq!(Code::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn text_that_is_nearly_a_code_becomes_one() {
        for (text, code) in [
            ("Unknown Note", Some("unknown_note")),
            ("E_QUOTA", Some("e_quota")),
            ("404", Some("e_404")),
            ("a\nb", Some("a_b")),
            ("über", Some("ber")),
            ("", None),
            ("!!", None),
        ] {
            assert_eq!(Code::coerce(text.into()).as_ref().map(Code::as_str), code, "{text}");
        }
        assert_eq!(Code::coerce("Y".repeat(99).into()).map(|c| c.as_str().len()), Some(64));
    }

    #[test]
    fn only_the_model_acts_on_outcomes_2_and_3() {
        for declared in [Declared::Rejected, Declared::Stale, Declared::Fault] {
            assert!(declared.allows(declared.default_actor()));
            assert_eq!(declared.allows(Actor::Model), declared != Declared::Fault);
        }
    }
}
