//! Learns from bodies what matters, while they stream past.
//!
//! A body is JSON or a stream of server-sent events with JSON in it; it comes in frames that are
//! cut anywhere, may be as large as it likes, and has to go on unchanged and at once. So the
//! scanners here take pieces, keep what [`Facts`] lists and nothing else, in bounded memory, and
//! say after how many bytes something was seen that a layer may want to act on: hold an `error`
//! back, let a `result` flow, write an event.
//!
//! - [`Scanner`] reads JSON: one message, or a batch of them.
//! - [`EventScanner`] reads server-sent events, and feeds their data to a [`Scanner`].
//! - [`Members`] are what a classifier asks for of a `structuredContent`, however large that is:
//!   [`Config::members`], [`ResultFacts::members`].
//! - [`Inner`] is what a task ended in, in the answers and notifications that tell it.
//!
//! ```ignore
//! let mut scanner = Scanner::new(Config::answers());
//! while !frame.is_empty() {
//!     let (read, seen) = scanner.push(&frame);
//!     match seen {
//!         Seen::Nothing => {}
//!         Seen::Envelope if scanner.facts().envelope() == Envelope::Error => hold(),
//!         Seen::Envelope => release(),
//!         Seen::End => judge(scanner.take_facts()),
//!         Seen::Dispatch => unreachable!("no events here"),
//!     }
//!     frame.advance(read);
//! }
//! ```

mod block;
mod capture;
mod facts;
mod json;
mod learn;
mod members;
mod place;
mod skip;
mod sse;
mod unescape;

#[cfg(test)]
mod generate;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use std::sync::Arc;

#[allow(unused_imports, reason = "some are named by the fuzz target alone")]
pub(crate) use self::{
    capture::{Json, Text},
    facts::{
        Blocks, ClientFacts, Code, Envelope, ErrorFacts, Facts, Inner, MethodFacts, ParamsFacts,
        ResultFacts, Shape, TaskFacts,
    },
    json::{Progress, Scanner},
    members::Members,
    sse::EventScanner,
};

/// Bytes of a text that are kept. They are JSON, in which a character of a text in Cyrillic, say, may
/// take six: there is room for 682 of them, which is more than a log line shows.
const TEXT_BYTES: usize = 4096;

/// The same of a text that may be JSON itself, for a classifier to look at.
pub(crate) const JSON_TEXT_BYTES: usize = 12 << 10;

/// Bytes that are kept of one message in all, whoever sent it. What the configuration asks for
/// beyond the usual comes on top.
const TOTAL_BYTES: usize = 16 << 10;

/// What of a message matters.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// What `result` and `error` say, and those of a task.
    pub(crate) answers: bool,
    /// What `params` say.
    pub(crate) requests: bool,
    /// Bytes of the first text block that are kept, as JSON; fewer of one that is no JSON itself.
    pub(crate) text_bytes: usize,
    /// Bytes up to which `structuredContent` is kept; 0 if nobody asks for it.
    pub(crate) structured_bytes: usize,
    /// The members of `structuredContent` that are asked for.
    pub(crate) members: Option<Arc<Members>>,
    /// Bytes that are kept of a member that is a string, as JSON.
    pub(crate) member_bytes: usize,
    /// Bytes that are kept of a message in all, of what is usual.
    pub(crate) total_bytes: usize,
}

/// What a scanner stopped at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The end of the piece.
    Nothing,
    /// What sort of message it is has become known, or has changed: [`Facts::envelope`].
    Envelope,
    /// The end of a message.
    End,
    /// The end of a server-sent event.
    Dispatch,
}

impl Config {
    /// For what a server sends.
    pub(crate) fn answers() -> Self {
        Self {
            answers: true,
            requests: false,
            text_bytes: TEXT_BYTES,
            structured_bytes: 0,
            members: None,
            member_bytes: TEXT_BYTES,
            total_bytes: TOTAL_BYTES,
        }
    }

    /// For what a client sends.
    pub(crate) fn requests() -> Self {
        Self { answers: false, requests: true, text_bytes: 0, ..Self::answers() }
    }

    /// Keeps up to `bytes` of the first text block.
    pub(crate) fn text_bytes(self, bytes: usize) -> Self {
        Self { text_bytes: bytes, ..self }
    }

    /// Keeps `structuredContent`, if it has at most `bytes`.
    pub(crate) fn structured_bytes(self, bytes: usize) -> Self {
        Self { structured_bytes: bytes, ..self }
    }

    /// Keeps these members of `structuredContent`, instead of all of it.
    pub(crate) fn members(self, members: Arc<Members>) -> Self {
        Self { members: Some(members).filter(|members| !members.is_empty()), ..self }
    }

    /// Bytes of a message that may be kept beyond `total_bytes`, since it was asked for.
    fn extra_bytes(&self) -> usize {
        self.text_bytes.saturating_sub(TEXT_BYTES).saturating_add(self.structured_bytes)
    }
}
