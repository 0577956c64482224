//! What a server answers: read as it goes by, judged, and replaced where it must not go out.
//!
//! Nothing in here does input or output: frames go in, frames come out.

mod desk;
mod end;
mod event;
mod events;
mod faults;
mod held;
mod json;
mod judge;
mod kept;
mod plan;
pub(super) mod raw;
mod task;
mod unanswered;

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tower::BoxError;

pub(super) use self::{desk::Desk, end::End, plan::Plan, unanswered::Unwinding};
use self::{
    events::EventsAnswer,
    held::{Cut, MAX_HELD},
    json::{JsonAnswer, Step},
};
use crate::{binding::http::frames::Frames, contain::Fault, text};

/// Bytes of a refusal in plain text that are kept for the log.
const REFUSAL_BYTES: usize = 4 * text::ERROR_CHARS;

/// An answer on its way.
pub(super) struct Answering {
    pub(super) desk: Desk,
    reader: Reader,
    /// Whether all that came was read further in, so that it need not be here.
    trusts: Option<bool>,
    /// Whether an event has ended with the last frame that was not read here.
    is_between: bool,
    out: Frames,
    trailers: Option<HeaderMap>,
    error: Option<BoxError>,
    is_over: bool,
    /// Bytes that are still to come, where the head says so: nobody polls a body beyond that.
    expected: Option<u64>,
    /// What is answered in the place of the whole body; its head has not gone out.
    replacement: Option<Vec<String>>,
    /// Something of ours goes out in the body, and so with a head that says that it worked.
    is_ours: bool,
}

/// How a body is read.
enum Reader {
    Json {
        json: Box<JsonAnswer>,
        /// What it means if it is no answer.
        otherwise: Option<Box<Fault>>,
    },
    Events {
        events: Box<EventsAnswer>,
        /// What it means if there is no answer in it, of a stream whose status speaks against one.
        otherwise: Option<Box<Fault>>,
    },
    /// A status that is the answer, unless there is a JSON-RPC error that says more.
    Refusal { status: StatusCode, says: Says },
    /// It cannot be read.
    Unread,
    /// Nobody has to.
    Opaque,
}

/// What the body of a refusal may say.
enum Says {
    Json(Box<JsonAnswer>),
    Events(Box<EventsAnswer>),
    Text(Vec<u8>),
    Nothing,
}

/// What there is of an answer.
pub(super) enum Next {
    Data(Bytes),
    Trailers(HeaderMap),
    Error(BoxError),
    End,
}

impl Says {
    /// Reads a frame, all of which goes on.
    fn read(&mut self, frame: &Bytes, status: StatusCode, desk: &mut Desk) {
        match self {
            Self::Json(json) => json.watch(frame, |facts, _| desk.refuse(status, facts)),
            Self::Events(events) => {
                events.watch(frame, desk, |desk, facts, _| desk.refuse(status, facts));
            }
            Self::Text(text) => {
                let room = REFUSAL_BYTES.saturating_sub(text.len());
                text.extend_from_slice(frame.get(..room).unwrap_or(frame));
            }
            Self::Nothing => {}
        }
    }

    /// All that is kept of it.
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => String::from_utf8_lossy(text),
            Self::Json(_) | Self::Events(_) | Self::Nothing => Cow::Borrowed(""),
        }
    }
}

impl Answering {
    fn new(desk: Desk, reader: Reader) -> Self {
        Self {
            desk,
            reader,
            trusts: None,
            is_between: false,
            out: Frames::default(),
            trailers: None,
            error: None,
            is_over: false,
            expected: None,
            replacement: None,
            is_ours: false,
        }
    }

    /// An answer of ours, which is whole.
    pub(super) fn whole(desk: Desk, body: Bytes) -> Self {
        let mut answering = Self::new(desk, Reader::Opaque);
        answering.set_whole(body);
        answering
    }

    /// Makes it an answer of ours.
    pub(super) fn set_whole(&mut self, body: Bytes) {
        self.is_over = true;
        self.out.clear();
        self.trailers = None;
        self.error = None;
        if !body.is_empty() {
            self.out.push_back(body);
        }
        self.desk.seats.clear();
    }

    /// Whether the head has to wait for the body.
    pub(super) fn holds_head(&self) -> bool {
        match &self.reader {
            Reader::Json { json, .. } => {
                self.desk.contains && !self.is_over && !json.has_begun() && self.out.is_empty()
            }
            Reader::Events { otherwise: Some(_), .. } => {
                self.desk.contains && !self.is_over && self.desk.owes()
            }
            _ => false,
        }
    }

    /// Whether more or less may come out than goes in.
    pub(super) fn may_change_length(&self) -> bool {
        self.desk.contains
            && match &self.reader {
                Reader::Events { .. } => true,
                Reader::Json { json, .. } => json.is_batch(),
                Reader::Refusal { .. } | Reader::Unread | Reader::Opaque => false,
            }
    }

    /// What is answered in the place of the body, where its head has not gone out.
    pub(super) fn take_replacement(&mut self) -> Option<Vec<String>> {
        self.replacement.take()
    }

    /// Whether the head has to say that it worked, whatever it said.
    pub(super) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Whether nothing more is wanted of the body.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether nothing more will come out.
    pub(super) fn is_at_end(&self) -> bool {
        self.is_over && self.out.is_empty() && self.trailers.is_none() && self.error.is_none()
    }

    /// Bytes that are ready to go out.
    pub(super) fn ready_bytes(&self) -> u64 {
        self.out.bytes()
    }

    /// The next piece that is ready; `None` where the body has to be polled.
    pub(super) fn next(&mut self) -> Option<Next> {
        if let Some(frame) = self.out.pop_front() {
            if !frame.is_empty() && !self.desk.is_owner {
                self.desk.exchange.set_passed(&frame, self.desk.contains);
            }
            return Some(Next::Data(frame));
        }
        if !self.is_over {
            return None;
        }
        if let Some(error) = self.error.take() {
            return Some(Next::Error(error));
        }
        if let Some(trailers) = self.trailers.take() {
            return Some(Next::Trailers(trailers));
        }
        Some(Next::End)
    }

    /// A frame has come.
    pub(super) fn data(&mut self, frame: Bytes) {
        self.expected = self.expected.map(|bytes| bytes.saturating_sub(frame.len() as u64));
        if frame.is_empty() {
            // It would let the head go, which may not be the one to go.
            if !self.holds_head() {
                self.out.push_back(frame);
            }
            return;
        }
        let is_read = self.desk.exchange.has_passed(&frame, self.desk.contains);
        // Of text that was read in part nothing can be made; only where an event ends does another
        // one begin.
        let is_trusted = match (self.trusts, &self.reader) {
            (None, _) => is_read,
            (Some(true), Reader::Events { .. }) => is_read || !self.is_between,
            (Some(trusts), _) => trusts,
        };
        self.trusts = Some(is_trusted);
        if is_trusted {
            let ends = [&b"\n\n"[..], b"\r\r", b"\n\r\n"];
            self.is_between = ends.iter().any(|end| frame.ends_with(end));
            self.out.push_back(frame);
            self.desk.follow_inner();
            return;
        }
        self.read(frame);
    }

    fn read(&mut self, frame: Bytes) {
        match &mut self.reader {
            Reader::Json { json, .. } if self.desk.contains => {
                match json.edit(frame, &mut self.desk, &mut self.out) {
                    Ok(Step::More) => {}
                    Ok(Step::Replaced(answers)) => {
                        self.replacement = Some(answers);
                        self.is_over = true;
                    }
                    Ok(Step::Stray) => self.end(End::Clean),
                    Err(reason) => self.cut(&reason),
                }
            }
            Reader::Events { events, .. } if self.desk.contains => {
                let edited = events.edit(&frame, &mut self.desk, &mut self.out);
                self.is_ours |= events.has_replaced();
                if let Err(reason) = edited {
                    self.cut(&reason);
                } else if self.holds_head() && self.out.bytes() > MAX_HELD as u64 {
                    // Of comments, or of what others are told.
                    self.cut(&Cut::NO_ANSWER);
                }
            }
            Reader::Json { json, .. } => {
                json.watch(&frame, |facts, is_batch| self.desk.watch(facts, is_batch));
                self.out.push_back(frame);
            }
            Reader::Events { events, .. } => {
                events.watch(&frame, &mut self.desk, Desk::watch);
                self.out.push_back(frame);
            }
            Reader::Refusal { status, says } => {
                says.read(&frame, *status, &mut self.desk);
                self.out.push_back(frame);
            }
            Reader::Unread | Reader::Opaque => self.out.push_back(frame),
        }
    }

    pub(super) fn trailers(&mut self, trailers: HeaderMap) {
        self.trailers = Some(trailers);
    }
}
