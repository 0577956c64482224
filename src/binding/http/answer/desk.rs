//! Where answers are judged, and those are written that take their place.

use std::sync::Arc;

use http::StatusCode;

use super::{
    faults::refusal,
    judge::{is_plain, judge_facts, judge_refusal},
    kept::Kept,
    task::TaskState,
};
use crate::{
    binding::http::{
        exchange::Exchange,
        request::{Id, Message},
        scan::{Envelope, Facts, Shape},
        seats::Seats,
        sessions::{self, Known},
        write,
    },
    call::{Call, Kind, Verdict},
    classify::Judgement,
    outcome::Outcome,
    tool_error::Rendering,
};

/// What is known of the calls of an exchange while its answer goes by.
pub(in super::super) struct Desk {
    pub(in super::super) exchange: Arc<Exchange>,
    pub(in super::super) seats: Seats,
    /// Whether what must not go out is replaced.
    pub(in super::super) contains: bool,
    /// Whether no other layer of ours is further out.
    pub(in super::super) is_owner: bool,
    /// What of results is kept.
    pub(super) kept: Kept,
    /// The status speaks against an answer.
    pub(super) is_refusal: bool,
    /// The answer has gone by to a request that nobody has read.
    pub(super) is_settled: bool,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Pass,
    /// These take its place: several where it refused a batch.
    Replace(Vec<String>),
}

impl Decision {
    fn of(replacement: Option<String>) -> Self {
        replacement.map_or(Self::Pass, |text| Self::Replace(vec![text]))
    }
}

impl Desk {
    pub(in super::super) fn new(
        exchange: Arc<Exchange>,
        seats: Seats,
        contains: bool,
        is_owner: bool,
    ) -> Self {
        Self {
            exchange,
            seats,
            contains,
            is_owner,
            kept: Kept::Nothing,
            is_refusal: false,
            is_settled: false,
        }
    }

    /// Whether its layer does no more than to say which policy there is: what became of a request is
    /// for others to say.
    pub(in super::super) fn only_configures(&self) -> bool {
        !self.contains && !self.is_owner && !self.seats.logs()
    }

    /// The only message of a body is a result. Where nobody has read the request, nobody needs to
    /// know more than that.
    pub(super) fn settle(&mut self) {
        self.is_settled = self.exchange.is_unread();
    }

    /// A message has gone by that goes on whatever it says.
    pub(super) fn watch(&mut self, facts: &Facts, is_batch: bool) {
        match is_batch {
            true => self.decide(facts, None),
            false => self.decide_alone(facts, None),
        };
    }

    /// The same of a message that stands in no array. An error without an id then answers all of a
    /// batch: the server could not even tell its messages apart.
    pub(super) fn decide_alone(&mut self, facts: &Facts, raw: Option<&[u8]>) -> Decision {
        let is_nameless = facts.id.is_absent() || facts.id.get().is_some_and(|id| &*id == "null");
        if !(is_nameless && facts.envelope() == Envelope::Error && self.exchange.is_batch()) {
            return self.decide(facts, raw);
        }
        let exchange = Arc::clone(&self.exchange);
        let mut texts = Vec::new();
        for (at, message) in exchange.messages().iter().enumerate() {
            if !message.is_request() || self.seats.is_done(at) {
                continue;
            }
            if let Decision::Replace(text) = self.answer(at, message, facts, raw, true) {
                texts.extend(text);
            }
        }
        if texts.is_empty() { Decision::Pass } else { Decision::Replace(texts) }
    }

    /// A message has gone by to its end; `raw` is its text, where it is still held, and so can be
    /// replaced.
    pub(super) fn decide(&mut self, facts: &Facts, raw: Option<&[u8]>) -> Decision {
        let is_error = match facts.envelope() {
            Envelope::Result => false,
            Envelope::Error => true,
            Envelope::Undecided => return Decision::Pass,
            Envelope::NotAnAnswer => return self.told_of_task(facts, raw),
        };
        let id = Id::unless_null(&facts.id);
        let exchange = Arc::clone(&self.exchange);
        match exchange.answered_by(id.as_ref(), is_error) {
            Some((at, message)) if !self.seats.is_done(at) => {
                if let (None, Some(id)) = (message.id(), id) {
                    // Of a request that could not be read as far as that.
                    message.learn_id(id);
                }
                self.answer(at, message, facts, raw, is_error)
            }
            _ => self.stray(id.as_ref(), facts, raw, is_error),
        }
    }

    fn answer(
        &mut self,
        at: usize,
        message: &Message,
        facts: &Facts,
        raw: Option<&[u8]>,
        is_error: bool,
    ) -> Decision {
        if self.seats.is_empty(at) && !is_error && is_plain(facts) {
            self.finish(at, message, None, |_| None);
            return Decision::Pass;
        }
        let call = self.seats.call(at, message).clone();
        let (verdict, text) = self.judged(&call, message.id(), facts, raw);
        let bytes = text.as_ref().map_or(length(facts), |text| text.len() as u64);
        self.finish(at, message, Some(bytes), |_| Some(verdict));
        Decision::of(text)
    }

    /// The verdict on a message, and what takes its place, if anything does.
    fn judged(
        &self,
        call: &Call,
        id: Option<&Id>,
        facts: &Facts,
        raw: Option<&[u8]>,
    ) -> (Verdict, Option<String>) {
        let judgement = match facts.envelope() {
            // A status speaks of the request, not of a task that it asks about.
            Envelope::Error if self.is_refusal => judge_refusal(call, facts, raw),
            _ => judge_facts(call, facts, raw, &self.kept),
        };
        let Some(raw) = raw.filter(|_| judgement.withhold && self.contains) else {
            return (judgement.told(call), None);
        };
        let is_modern = self.exchange.is_modern();
        let Judgement { verdict, answer_as, task, .. } = judgement;
        let Some(task) = task else {
            let rendering = Rendering::fault(call.kind(), None, call.id());
            let text = write::failure(call.kind(), id, is_modern, &rendering);
            return (verdict.told(rendering.text), Some(text));
        };
        let rendering = task.withheld();
        let state = TaskState::of_answer(call, facts).filter(|_| answer_as.is_none());
        let text = state
            .and_then(|state| write::with_task_end(raw, state.at, is_modern, &rendering))
            .unwrap_or_else(|| {
                let kind = answer_as.unwrap_or_else(|| call.kind());
                write::failure(kind, id, is_modern, &rendering)
            });
        (verdict, Some(text))
    }

    /// What is no answer matters where it tells of a task.
    fn told_of_task(&self, facts: &Facts, raw: Option<&[u8]>) -> Decision {
        let Some(state) = TaskState::of_notification(facts) else { return Decision::Pass };
        let method = facts.method.name.get().unwrap_or_default().into_owned();
        let call = Call::begin(Kind::Notification, method.into(), None, None);
        self.introduce_late(&call);
        let judgement = state.judge(&call, raw, &self.kept);
        let Some(task) = judgement.task else { return Decision::Pass };
        let Some(raw) = raw.filter(|_| judgement.withhold && self.contains) else {
            // Of what could not be read, the answer to whoever asks for it says more.
            if !task.is_unread() {
                task.tell();
            }
            return Decision::Pass;
        };
        let rendering = task.withheld();
        let is_modern = self.exchange.is_modern();
        let text = write::with_task_end(raw, state.at, is_modern, &rendering);
        // It is no JSON to everybody, but may be to its client.
        let text = text.unwrap_or_else(|| write::failed_task(call.method(), &state.id()));
        Decision::of(Some(text))
    }

    /// What a refusal says besides its status. It goes out as it is.
    pub(super) fn refuse(&mut self, status: StatusCode, facts: &Facts) {
        if facts.envelope() != Envelope::Error {
            return;
        }
        let id = Id::unless_null(&facts.id);
        let exchange = Arc::clone(&self.exchange);
        match exchange.answered_by(id.as_ref(), true) {
            Some((at, message)) => self.refuse_message(at, message, status, facts),
            // Servers refuse under an id of their own, or a whole batch in one answer.
            None => {
                for (at, message) in exchange.messages().iter().enumerate() {
                    self.refuse_message(at, message, status, facts);
                }
            }
        }
    }

    fn refuse_message(&mut self, at: usize, message: &Message, status: StatusCode, facts: &Facts) {
        if self.seats.is_done(at) || self.seats.is_empty(at) {
            return;
        }
        self.finish(at, message, Some(length(facts)), |call| {
            let judged = judge_refusal(call, facts, None).verdict;
            // Some statuses say whose turn it is; a code that says nothing says less than any
            // status.
            let is_by_status = matches!(status.as_u16(), 401 | 403 | 429);
            let is_by_code =
                judged.outcome() == Outcome::ProtocolError || !facts.error.record.is_absent();
            if is_by_code && !is_by_status {
                return Some(judged);
            }
            let text = facts.error.message.get().unwrap_or_default();
            Some(refusal(status, &text, call))
        });
    }

    /// An answer to none of the requests: to an earlier one, whose stream was taken up again.
    fn stray(
        &self,
        id: Option<&Id>,
        facts: &Facts,
        raw: Option<&[u8]>,
        is_error: bool,
    ) -> Decision {
        let known = match (self.exchange.session, id) {
            (Some(session), Some(id)) => sessions::deliver(session, &id.key),
            _ => Known::Nothing,
        };
        let is_held = self.contains && raw.is_some();
        let call = match &known {
            Known::Open { call, .. } => call.clone(),
            // A replay: it was judged, and logged, when it first went by.
            Known::Delivered(call) if is_held => call.clone(),
            // Nobody knows of it. JSON of something else is none of ours.
            Known::Nothing if is_held && facts.version == Shape::String => {
                let is_tool = !is_error && facts.result.is_error == Some(true);
                let kind = if is_tool { Kind::ToolCall } else { Kind::Request };
                self.stray_call(kind, id)
            }
            Known::Delivered(_) | Known::Nothing => return Decision::Pass,
        };
        let (verdict, text) = self.judged(&call, id, facts, raw);
        match &known {
            Known::Open { .. } => call.decide(verdict),
            Known::Nothing if text.is_some() && verdict.failure().is_some() => call.report(verdict),
            Known::Delivered(_) | Known::Nothing => {}
        }
        Decision::of(text)
    }

    /// Tells the layer's own to a call that begins while its answer goes by.
    fn introduce_late(&self, call: &Call) {
        self.seats.introduce(call);
        if let Some(route) = self.exchange.route() {
            call.set_route(&route);
        }
    }

    /// The call of an answer that is none to a request here.
    pub(super) fn stray_call(&self, kind: Kind, id: Option<&Id>) -> Call {
        let call = Call::begin(kind, "".into(), None, id.map(|id| id.key.clone()));
        self.introduce_late(&call);
        call
    }

    /// Gives up the seats of all that were answered further in.
    pub(super) fn follow_inner(&mut self) {
        let exchange = Arc::clone(&self.exchange);
        for (at, message) in exchange.messages().iter().enumerate() {
            if message.is_answered() {
                self.seats.set_done(at);
                self.seats.give_up(at);
            }
        }
    }

    /// Whether a request is still owed its answer.
    pub(in super::super) fn owes(&self) -> bool {
        self.owed() > 0
    }

    /// How many requests are.
    pub(super) fn owed(&self) -> usize {
        if self.is_settled {
            return 0;
        }
        let messages = self.exchange.messages().iter().enumerate();
        let owed = messages.filter(|(at, message)| {
            message.is_request() && !message.is_cancelled() && !self.seats.is_done(*at)
        });
        owed.count()
    }

    pub(super) fn written(&self, message: &Message, rendering: &Rendering) -> String {
        write::failure(message.kind, message.id(), self.exchange.is_modern(), rendering)
    }
}

/// Bytes of a message that has gone by.
fn length(facts: &Facts) -> u64 {
    facts.end.unwrap_or(facts.begin).saturating_sub(facts.begin)
}
