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

pub(crate) use self::{
    capture::{Json, Text},
    facts::{
        Blocks, ClientFacts, Code, Envelope, ErrorFacts, Facts, MethodFacts, ParamsFacts,
        ResultFacts, Shape, TaskFacts,
    },
    json::{Progress, Scanner},
    sse::EventScanner,
};

/// Bytes of a text that are kept. They are JSON, in which a character of a text in Cyrillic, say, may
/// take six: there is room for 682 of them, which is more than a log line shows.
const TEXT_BYTES: usize = 4096;

/// What of a message matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// What `result` and `error` say.
    pub(crate) answers: bool,
    /// What `params` say.
    pub(crate) requests: bool,
    /// Bytes of the first text block that are kept, as JSON.
    pub(crate) text_bytes: usize,
    /// Bytes up to which `structuredContent` is kept; 0 if nobody asks for it.
    pub(crate) structured_bytes: usize,
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
        Self { answers: true, requests: false, text_bytes: TEXT_BYTES, structured_bytes: 0 }
    }

    /// For what a client sends.
    pub(crate) fn requests() -> Self {
        Self { answers: false, requests: true, text_bytes: 0, structured_bytes: 0 }
    }

    /// Keeps up to `bytes` of the first text block.
    pub(crate) fn text_bytes(self, bytes: usize) -> Self {
        Self { text_bytes: bytes, ..self }
    }

    /// Keeps `structuredContent`, if it has at most `bytes`.
    pub(crate) fn structured_bytes(self, bytes: usize) -> Self {
        Self { structured_bytes: bytes, ..self }
    }
}
