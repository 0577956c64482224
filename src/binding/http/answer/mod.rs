//! What a server answers: read as it goes by, judged, and replaced where it must not go out.
//!
//! Nothing in here does input or output: frames go in, frames come out.

mod desk;
mod ending;
mod events;
mod faults;
mod held;
mod json;
mod judge;
mod plan;
mod raw;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tower::BoxError;

pub(super) use self::{desk::Desk, ending::Unwinding, plan::Plan};
use self::{
    events::EventsAnswer,
    faults::refusal,
    held::Out,
    json::{JsonAnswer, Step},
};
use crate::{call::Verdict, contain::Fault, text};

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
    out: Out,
    trailers: Option<HeaderMap>,
    error: Option<BoxError>,
    is_over: bool,
    /// Bytes that are still to come, where the head says so: nobody polls a body beyond that.
    expected: Option<u64>,
    /// What is answered in the place of the whole body; its head has not gone out.
    replacement: Option<Vec<String>>,
}

/// How a body is read.
enum Reader {
    Json {
        json: Box<JsonAnswer>,
        /// What it means if it is no answer.
        otherwise: Option<Box<Fault>>,
    },
    Events(Box<EventsAnswer>),
    /// A status that is the answer, unless there is a JSON-RPC error that says more.
    Refusal {
        status: StatusCode,
        json: Option<Box<JsonAnswer>>,
        text: Option<Vec<u8>>,
    },
    /// It cannot be read.
    Unread,
    /// Nobody has to.
    Opaque,
}

/// How a body ends.
pub(super) enum End {
    Clean,
    /// With an error, or, where there is none to pass on, a panic.
    Broken(Fault, Option<BoxError>),
}

/// What there is of an answer.
pub(super) enum Next {
    Data(Bytes),
    Trailers(HeaderMap),
    Error(BoxError),
    End,
}

impl Answering {
    fn new(desk: Desk, reader: Reader) -> Self {
        Self {
            desk,
            reader,
            trusts: None,
            is_between: false,
            out: Out::default(),
            trailers: None,
            error: None,
            is_over: false,
            expected: None,
            replacement: None,
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
            _ => false,
        }
    }

    /// Whether more or less may come out than goes in.
    pub(super) fn may_change_length(&self) -> bool {
        self.desk.contains
            && match &self.reader {
                Reader::Events(_) => true,
                Reader::Json { json, .. } => json.is_batch(),
                Reader::Refusal { .. } | Reader::Unread | Reader::Opaque => false,
            }
    }

    /// What is answered in the place of the body, where its head has not gone out.
    pub(super) fn take_replacement(&mut self) -> Option<Vec<String>> {
        self.replacement.take()
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
        self.out.iter().map(|frame| frame.len() as u64).sum()
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
            (Some(true), Reader::Events(_)) => is_read || !self.is_between,
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
            Reader::Json { json, otherwise } if self.desk.contains => {
                match json.edit(frame, &mut self.desk, &mut self.out) {
                    Step::More if json.is_malformed() && !json.has_begun() => {
                        let fault = otherwise.take();
                        self.fail(&fault.map_or_else(Fault::no_json, |fault| *fault), None);
                    }
                    Step::More => {}
                    Step::Replaced(answers) => {
                        self.replacement = Some(answers);
                        self.is_over = true;
                    }
                    Step::Stray => self.end(End::Clean),
                    Step::Cut => self.cut(),
                }
            }
            Reader::Events(events) if self.desk.contains => {
                if !events.edit(&frame, &mut self.desk, &mut self.out) {
                    self.cut();
                }
            }
            Reader::Json { json, .. } => {
                json.watch(&frame, |facts, is_batch| {
                    match is_batch {
                        true => self.desk.decide(facts, None),
                        false => self.desk.decide_alone(facts, None),
                    };
                });
                self.out.push_back(frame);
            }
            Reader::Events(events) => {
                events.watch(&frame, &mut self.desk);
                self.out.push_back(frame);
            }
            Reader::Refusal { status, json, text } => {
                if let Some(json) = json {
                    json.watch(&frame, |facts, _| self.desk.refuse(*status, facts));
                }
                if let Some(text) = text {
                    let room = REFUSAL_BYTES.saturating_sub(text.len());
                    text.extend_from_slice(frame.get(..room).unwrap_or(&frame));
                }
                self.out.push_back(frame);
            }
            Reader::Unread | Reader::Opaque => self.out.push_back(frame),
        }
    }

    pub(super) fn trailers(&mut self, trailers: HeaderMap) {
        self.trailers = Some(trailers);
    }

    /// The body has ended.
    pub(super) fn end(&mut self, end: End) {
        if self.is_over {
            return;
        }
        if self.trusts == Some(true) {
            self.desk.follow_inner();
            if matches!(end, End::Clean) {
                self.is_over = true;
                // What is not answered is in the hands of whoever read it.
                self.desk.seats.clear();
                return;
            }
        }
        match end {
            End::Clean => self.end_clean(),
            End::Broken(fault, error) => self.fail(&fault, error),
        }
        self.is_over = true;
    }

    fn end_clean(&mut self) {
        if let (Reader::Events(events), true) = (&mut self.reader, self.desk.contains) {
            events.finish(&mut self.desk, &mut self.out);
        }
        let is_owed = self.desk.owes();
        match &mut self.reader {
            Reader::Json { json, otherwise } => {
                if is_owed {
                    let fault = match otherwise.take() {
                        Some(fault) => *fault,
                        None if json.is_malformed() => Fault::no_json(),
                        None => Fault::no_answer(),
                    };
                    self.fail(&fault, None);
                } else {
                    json.release(&mut self.out);
                }
            }
            Reader::Events(events) => {
                if !is_owed {
                    events.close(&[], &mut self.out);
                } else if self.desk.exchange.may_go_on() {
                    events.close(&[], &mut self.out);
                    self.desk.wait();
                } else {
                    self.fail(&Fault::no_answer(), None);
                }
            }
            Reader::Refusal { status, text, .. } => {
                let text = String::from_utf8_lossy(text.as_deref().unwrap_or_default());
                self.desk.decide_rest(|call| refusal(*status, &text, call));
            }
            Reader::Unread => self.desk.decide_rest(|call| {
                call.set_result_unread();
                Verdict::completed()
            }),
            Reader::Opaque if self.desk.exchange.may_go_on() => self.desk.wait(),
            Reader::Opaque => {}
        }
        // What went out ends as it came.
        self.error = None;
        self.desk.seats.clear();
    }

    /// The body ends here, whatever it would have been: what can still be said is said.
    pub(super) fn fail(&mut self, fault: &Fault, error: Option<BoxError>) {
        let is_message_less = self.desk.exchange.messages().is_empty();
        self.is_over = true;
        if !is_message_less && !self.desk.owes() {
            // The answer is out, and what else breaks harms nobody; unless it is for others to say
            // so, or it is the answer that broke, which was told further in.
            let is_for_others = !self.desk.contains || self.trusts == Some(true);
            self.error = error.filter(|_| is_for_others || self.desk.is_settled);
            if let Reader::Events(events) = &mut self.reader {
                events.close(&[], &mut self.out);
            }
            self.desk.seats.clear();
            return;
        }
        let broken = || -> BoxError { error.unwrap_or_else(|| "the body broke off".into()) };
        match &mut self.reader {
            Reader::Json { json, .. } if self.desk.contains && !json.has_begun() => {
                self.out.clear();
                self.trailers = None;
                self.replacement = Some(self.desk.fail(fault));
            }
            Reader::Events(events) if self.desk.contains && !is_message_less => {
                let answers = self.desk.fail(fault);
                self.trailers = None;
                events.close(&answers, &mut self.out);
            }
            Reader::Events(events) => {
                events.close(&[], &mut self.out);
                self.desk.fail(fault);
                self.error = Some(broken());
            }
            Reader::Json { .. } | Reader::Refusal { .. } | Reader::Unread | Reader::Opaque => {
                // Some of it has gone out, and nobody can be told any more.
                self.desk.fail_untold(fault);
                self.error = Some(broken());
            }
        }
        self.desk.seats.clear();
    }

    /// Nobody waits for what there is still to come.
    pub(super) fn abort(&mut self, fault: &Fault) {
        if let Reader::Json { json, .. } = &self.reader
            && self.desk.contains
            && !json.has_begun()
        {
            self.replacement = Some(self.desk.fail(fault));
        }
        self.is_over = true;
        self.desk.seats.clear();
    }

    /// What comes must not go out, and something before it has.
    fn cut(&mut self) {
        let fault = Fault::nonsense("a message that is a result and an error");
        match &self.reader {
            // A stream can still say so, and so can a head that has not gone out.
            Reader::Events(_) => self.fail(&fault, None),
            Reader::Json { json, .. } if !json.has_begun() => self.fail(&fault, None),
            _ => {
                self.desk.fail_untold(&fault);
                self.error = Some("the answer was cut off".into());
                self.is_over = true;
            }
        }
    }

    /// Nobody reads on.
    pub(super) fn leave(&mut self) {
        if self.trusts == Some(true) {
            self.desk.follow_inner();
        } else if matches!(self.reader, Reader::Refusal { .. }) || self.expected == Some(0) {
            // A refusal is one however much of it is read.
            self.end(End::Clean);
        }
        // Further in it is for whoever is further out to say why.
        if self.desk.is_owner && !self.is_over {
            self.desk.leave();
        }
        self.desk.seats.clear();
    }
}
