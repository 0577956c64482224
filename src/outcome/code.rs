//! Stable names for kinds of failures.

use std::{borrow::Cow, fmt};

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
        /// A payload that says that the call failed.
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
        /// A server further in broke off, talked nonsense or said 5xx.
        UPSTREAM_ERROR = "upstream_error";
        /// A batch of which a part took effect.
        PARTIAL_FAILURE = "partial_failure";
        /// Nobody knows what took effect.
        OUTCOME_UNKNOWN = "outcome_unknown";
        /// The server broke its own contract: so far, a layer that answers with the result of
        /// another method, and a tool whose reports on a batch contradict each other.
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

    /// What an answer with this HTTP status is called that says nothing else: `http_404`.
    #[cfg(feature = "http")]
    pub(crate) fn of_http_status(status: u16) -> Self {
        Self(Cow::Owned(format!("http_{status}")))
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
}
