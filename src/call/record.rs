//! What is known about a call: the facts that a log line, a metric or a hook is made of.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use sha2::{Digest as _, Sha256};

use crate::{
    call::CallId,
    outcome::{Failure, Level, Outcome, Reason},
};

/// What sort of message a call began with, and so how it has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A `tools/call`: its failures are results with the `isError` flag.
    ToolCall,
    /// A message with the method `tools/call` that is not a tool call: no name, or `arguments`
    /// that are no object. It is logged as a tool event and answered with a JSON-RPC error.
    MalformedToolCall,
    /// Any other request: its failures are JSON-RPC errors.
    Request,
    /// A notification: nobody waits for an answer.
    Notification,
}

impl Kind {
    /// Whether the events about it are `tool_call_…`.
    #[must_use]
    pub const fn is_tool(self) -> bool {
        matches!(self, Self::ToolCall | Self::MalformedToolCall)
    }
}

/// A JSON-RPC request id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string.
    String(Arc<str>),
    /// Any other JSON, as it was written: `1.5`, or a number that 64 bits do not hold. The protocol
    /// does not allow it; it is echoed all the same.
    Json(Arc<str>),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::String(text) | Self::Json(text) => text.fmt(f),
        }
    }
}

/// A session, or a connection where the protocol has none: the first 16 hexadecimal digits of the
/// SHA-256 of its id, never the id, which would let a reader of the log take the session over.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Session([u8; 8]);

impl Session {
    /// The session with this id.
    #[must_use]
    pub fn from_id(id: &[u8]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(Sha256::digest(id));
        Self([a, b, c, d, e, f, g, h])
    }

    /// A new, random one, for a connection without an id.
    #[must_use]
    pub fn random() -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        Self(RandomState::new().hash_one(0_u8).to_be_bytes())
    }
}

impl Session {
    pub(crate) const fn bits(self) -> u64 {
        u64::from_be_bytes(self.0)
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.bits())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A W3C trace context: which trace and span the caller was in.
///
/// See <https://www.w3.org/TR/trace-context/#traceparent-header>; in MCP it travels as
/// `_meta.traceparent` (SEP-414).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The trace, never zero.
    pub trace_id: u128,
    /// The caller's span, never zero.
    pub span_id: u64,
}

impl TraceContext {
    /// The context that a `traceparent` header names, or `None` where it is not a valid one.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, len| {
            text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !hex(version, 2)
            || version == "ff"
            || !hex(trace, 32)
            || !hex(span, 16)
            || !hex(flags, 2)
        {
            return None;
        }
        // Later versions may append parts; version 00 has exactly four.
        if version == "00" && parts.next().is_some() {
            return None;
        }
        let trace_id = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span_id = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        Some(Self { trace_id, span_id })
    }
}

/// Who the client is. A binding's own handshake type implements it, so that the layers share it
/// without a copy for each call.
pub trait Client: Send + Sync + fmt::Debug {
    /// The client's name for itself.
    fn name(&self) -> Option<&str>;
    /// The client's version of itself.
    fn version(&self) -> Option<&str>;
}

/// Where a request came from. What is not known stays `None`, and is then absent from the log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Origin {
    /// The client, as it described itself.
    pub client: Option<Arc<dyn Client>>,
    /// The protocol revision that the request is under.
    pub protocol_version: Option<Cow<'static, str>>,
    /// What carries the messages: `http`, or what the server's author said.
    pub transport: Option<Cow<'static, str>>,
    /// The route that the request came in by, as [`LogLayer::route`](crate::LogLayer::route) names
    /// it.
    pub route: Option<Arc<str>>,
    /// The session or connection.
    pub session: Option<Session>,
    /// Who is behind the request, where the server's author said how to tell. Not filled in by
    /// this version.
    pub principal: Option<Arc<str>>,
    /// The caller's trace.
    pub trace: Option<TraceContext>,
}

impl Origin {
    /// Takes from `other` what is not known here.
    pub(crate) fn fill_from(&mut self, other: Self) {
        fn fill<T>(own: &mut Option<T>, other: Option<T>) {
            if own.is_none() {
                *own = other;
            }
        }
        fill(&mut self.client, other.client);
        fill(&mut self.protocol_version, other.protocol_version);
        fill(&mut self.transport, other.transport);
        fill(&mut self.route, other.route);
        fill(&mut self.session, other.session);
        fill(&mut self.principal, other.principal);
        fill(&mut self.trace, other.trace);
    }
}

/// Everything that is known about a finished call: what its log line is made of, typed.
///
/// Texts in it are redacted and bounded, not escaped: whoever prints them has to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// The call's short name.
    pub call_id: CallId,
    /// What sort of message it was.
    pub kind: Kind,
    /// The JSON-RPC method.
    pub method: Cow<'static, str>,
    /// The tool's name as the client wrote it, cut at 1024 characters; on tool calls.
    pub tool: Option<Box<str>>,
    /// The JSON-RPC id.
    pub request_id: Option<RequestId>,
    /// Where it came from.
    pub origin: Arc<Origin>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed: `Some` if, and only if, [`outcome.is_failure()`](Outcome::is_failure).
    pub failure: Option<Box<Failure>>,
    /// Why it was cancelled or abandoned, where that is known.
    pub reason: Option<Reason>,
    /// The task that goes on with it.
    pub task_id: Option<Box<str>>,
    /// How long it took, up to the verdict.
    pub duration: Duration,
    /// Bytes of the request's message, where a binding saw them.
    pub request_bytes: Option<u64>,
    /// Bytes of the answer's message, where a binding saw them.
    pub result_bytes: Option<u64>,
    /// `false` where the answer could not be read, so that a failure in it may have been missed.
    pub result_scanned: bool,
    /// What the tool itself noted with [`Call::note`](crate::Call::note).
    pub notes: Vec<(&'static str, String)>,
}

impl Record {
    /// The name of the event about it: `tool_call_failed`, `request_completed`, …
    #[must_use]
    pub fn event(&self) -> &'static str {
        let names: [&'static str; 6] = match self.kind {
            Kind::ToolCall | Kind::MalformedToolCall => [
                "tool_call_completed",
                "tool_call_failed",
                "tool_call_deferred",
                "tool_call_input_required",
                "tool_call_cancelled",
                "tool_call_abandoned",
            ],
            Kind::Request => [
                "request_completed",
                "request_failed",
                "request_deferred",
                "request_input_required",
                "request_cancelled",
                "request_abandoned",
            ],
            Kind::Notification => {
                let received = "notification_received";
                [received, "notification_failed", received, received, received, received]
            }
        };
        let [completed, failed, deferred, input_required, cancelled, abandoned] = names;
        match self.outcome {
            Outcome::Completed => completed,
            Outcome::Deferred => deferred,
            Outcome::InputRequired => input_required,
            Outcome::Cancelled => cancelled,
            Outcome::Abandoned => abandoned,
            Outcome::Rejected
            | Outcome::Stale
            | Outcome::Fault
            | Outcome::Undeclared
            | Outcome::SoftError
            | Outcome::ProtocolError => failed,
        }
    }

    /// The level of the event about it.
    #[must_use]
    pub fn level(&self) -> Level {
        level_of(self.kind, self.failure.as_deref(), self.result_scanned)
    }
}

/// The level of the event about a call's end.
pub(super) fn level_of(kind: Kind, failure: Option<&Failure>, is_scanned: bool) -> Level {
    match (failure, kind) {
        (Some(failure), _) => failure.level,
        // A success that nobody could check.
        (None, Kind::ToolCall | Kind::MalformedToolCall) if !is_scanned => Level::Warn,
        (None, Kind::ToolCall | Kind::MalformedToolCall) => Level::Info,
        (None, Kind::Request | Kind::Notification) => Level::Debug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_taken_only_where_it_is_valid() {
        let valid = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        let context = TraceContext::parse(valid).map(|c| (c.trace_id, c.span_id));
        assert_eq!(
            context,
            Some((0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0x00f0_67aa_0ba9_02b7))
        );
        assert!(TraceContext::parse(&format!("01{}-later", &valid[2..])).is_some());
        for invalid in [
            "",
            "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01",
            "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-x",
            "00-+af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_session_is_named_by_its_hash() {
        // The first test vector of FIPS 180-2.
        assert_eq!(Session::from_id(b"abc").to_string(), "ba7816bf8f01cfea");
        assert_ne!(Session::random(), Session::random());
    }
}
