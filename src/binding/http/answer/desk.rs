//! Where answers are judged, and those are written that take their place.

use std::sync::Arc;

use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};

use super::{raw, refusal};
use crate::{
    binding::{
        Answer, ErrorView, ResultView,
        http::{
            exchange::Exchange,
            request::{Id, Message, Sort},
            scan::{Code, Config, Envelope, Facts, Members, ResultFacts, Shape},
            seats::Seats,
            sessions::{self, Known},
            write,
        },
    },
    call::{Call, Kind, Origin, Session, Verdict},
    classify::{Judgement, judge},
    contain::Fault,
    outcome::{Actor, Cause, Code as FailureCode, Outcome, Reason},
    tool_error::{Declaration, Rendering},
};

/// Bytes up to which `structuredContent` is kept for a classifier that looks at all of it.
const MAX_STRUCTURED: usize = 16 * 1024;

/// What is known of the calls of an exchange while its answer goes by.
pub(in super::super) struct Desk {
    pub(in super::super) exchange: Arc<Exchange>,
    pub(in super::super) seats: Seats,
    /// Whether what must not go out is replaced.
    pub(in super::super) contains: bool,
    /// Whether no other layer of ours is further out.
    pub(in super::super) is_owner: bool,
    /// The members of `structuredContent` that are kept; none, and it is kept whole if at all.
    asked: Option<Arc<Members>>,
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

impl Desk {
    pub(in super::super) fn new(
        exchange: Arc<Exchange>,
        seats: Seats,
        contains: bool,
        is_owner: bool,
    ) -> Self {
        Self { exchange, seats, contains, is_owner, asked: None, is_settled: false }
    }

    /// The only message of a body is a result. Where nobody has read the request, nobody needs to
    /// know more than that.
    pub(super) fn settle(&mut self) {
        self.is_settled = self.exchange.is_unread();
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
            Envelope::Undecided | Envelope::NotAnAnswer => return Decision::Pass,
        };
        let id = Id::of(&facts.id).filter(|id| &*id.json != "null");
        let exchange = Arc::clone(&self.exchange);
        match exchange.answered_by(id.as_ref(), is_error) {
            Some((at, message)) if !self.seats.is_done(at) => {
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
        let bytes = facts.end.unwrap_or(facts.begin).saturating_sub(facts.begin);
        message.set_answered();
        self.seats.set_done(at);
        if self.seats.is_empty(at) && !is_error && is_plain(facts) {
            return Decision::Pass;
        }
        let call = self.seats.call(at, message).clone();
        let judgement = judge_facts(&call, facts, raw, self.asked.as_deref());
        self.leave_session(message);
        let decision = if self.contains && judgement.withhold && raw.is_some() {
            let rendering = Rendering::fault(message.kind, None, call.id());
            let text = self.written(message, &rendering);
            call.set_result_bytes(text.len() as u64);
            call.decide(judgement.verdict.told(rendering.text));
            Decision::Replace(vec![text])
        } else {
            call.set_result_bytes(bytes);
            call.decide(judgement.verdict);
            Decision::Pass
        };
        self.seats.give_up(at);
        decision
    }

    /// What a refusal says besides its status. It goes out as it is.
    pub(super) fn refuse(&mut self, status: StatusCode, facts: &Facts) {
        if facts.envelope() != Envelope::Error {
            return;
        }
        let id = Id::of(&facts.id).filter(|id| &*id.json != "null");
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
        let call = self.seats.call(at, message);
        let judged = judge_facts(call, facts, None, None).verdict;
        // Some statuses say whose turn it is; a code that says nothing says less than any status.
        let is_by_status = matches!(status.as_u16(), 401 | 403 | 429);
        let is_by_code =
            judged.outcome() == Outcome::ProtocolError || !facts.error.record.is_absent();
        let text = facts.error.message.get().unwrap_or_default();
        let verdict =
            if is_by_code && !is_by_status { judged } else { refusal(status, &text, call) };
        call.set_result_bytes(facts.end.unwrap_or(facts.begin).saturating_sub(facts.begin));
        call.decide(verdict);
        message.set_answered();
        self.seats.set_done(at);
        self.seats.give_up(at);
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
        match known {
            Known::Open { call, kind, _waiting } => {
                let judgement = judge_facts(&call, facts, raw, self.asked.as_deref());
                if self.contains && judgement.withhold && raw.is_some() {
                    let rendering = Rendering::fault(kind, None, call.id());
                    call.decide(judgement.verdict.told(rendering.text.clone()));
                    return Decision::Replace(vec![write::failure(kind, id, false, &rendering)]);
                }
                call.decide(judgement.verdict);
                Decision::Pass
            }
            // A replay: it was judged, and logged, when it first went by.
            Known::Delivered { reference, kind } if self.contains && is_error => {
                let call = Call::begin(kind, "".into(), None, None);
                if raw.is_some() && judge_facts(&call, facts, raw, self.asked.as_deref()).withhold {
                    let rendering = Rendering::fault(kind, None, reference);
                    return Decision::Replace(vec![write::failure(kind, id, false, &rendering)]);
                }
                Decision::Pass
            }
            Known::Nothing if self.contains && is_error => {
                let key = id.map(|id| id.key.clone());
                let call = Call::begin(Kind::Request, "".into(), None, key);
                let judgement = judge_facts(&call, facts, raw, self.asked.as_deref());
                if !judgement.withhold || raw.is_none() {
                    return Decision::Pass;
                }
                let rendering = Rendering::fault(Kind::Request, None, call.id());
                call.report(judgement.verdict.told(rendering.text.clone()));
                Decision::Replace(vec![write::failure(Kind::Request, id, false, &rendering)])
            }
            Known::Delivered { .. } | Known::Nothing => Decision::Pass,
        }
    }

    /// The answers that tell of a fault to all that are still owed one.
    pub(in super::super) fn fail(&mut self, fault: &Fault) -> Vec<String> {
        let exchange = Arc::clone(&self.exchange);
        let messages = exchange.messages().iter().enumerate();
        let answers =
            messages.filter_map(|(at, message)| self.fail_message(at, message, fault)).collect();
        if exchange.messages().is_empty() {
            self.fail_without_message(fault);
        }
        answers
    }

    /// The same where nobody can be told.
    pub(super) fn fail_untold(&mut self, fault: &Fault) {
        let contains = std::mem::replace(&mut self.contains, false);
        self.fail(fault);
        self.contains = contains;
    }

    /// The same to the one that these facts are about, if that is known.
    pub(super) fn fail_one(&mut self, facts: &Facts, fault: &Fault) -> Option<String> {
        let id = Id::of(&facts.id).filter(|id| &*id.json != "null");
        let exchange = Arc::clone(&self.exchange);
        let (at, message) = exchange.answered_by(id.as_ref(), true)?;
        self.fail_message(at, message, fault)
    }

    fn fail_message(&mut self, at: usize, message: &Message, fault: &Fault) -> Option<String> {
        if self.seats.is_done(at) {
            return None;
        }
        message.set_answered();
        self.seats.set_done(at);
        self.leave_session(message);
        let is_told = message.is_request() && self.contains;
        let call = self.seats.call(at, message).clone();
        let rendering = is_told.then(|| fault.rendering(message.kind, call.id()));
        if !message.is_cancelled() {
            let verdict = fault.clone().into_verdict(&call);
            call.decide(match &rendering {
                Some(rendering) => verdict.told(rendering.text.clone()),
                None => verdict,
            });
        }
        let text = rendering.map(|rendering| self.written(message, &rendering));
        if let Some(text) = &text {
            call.set_result_bytes(text.len() as u64);
        }
        self.seats.give_up(at);
        text
    }

    /// What happened to a request that carried no message.
    fn fail_without_message(&self, fault: &Fault) {
        let exchange = &self.exchange;
        let call = exchange.http_call().cloned().unwrap_or_else(|| exchange.new_http_call());
        if !call.is_closed() {
            self.seats.introduce(&call);
            let verdict = fault.clone().into_verdict(&call);
            call.sit().call().decide(verdict);
        }
    }

    /// Decides the same about all that are owed an answer and will get none here.
    pub(in super::super) fn decide_rest(&mut self, verdict: impl Fn(&Call) -> Verdict) {
        let exchange = Arc::clone(&self.exchange);
        for (at, message) in exchange.messages().iter().enumerate() {
            if self.seats.is_done(at) {
                continue;
            }
            message.set_answered();
            self.seats.set_done(at);
            self.leave_session(message);
            if !self.seats.is_empty(at) {
                let call = self.seats.call(at, message);
                call.decide(verdict(call));
            }
            self.seats.give_up(at);
        }
    }

    /// The same of whatever is known of the request, be it a message or not.
    pub(in super::super) fn decide_all(&mut self, verdict: impl Fn(&Call) -> Verdict) {
        if let Some(call) = self.exchange.http_call().filter(|call| !call.is_closed()) {
            self.seats.introduce(call);
            call.clone().sit().call().decide(verdict(call));
        }
        self.decide_rest(verdict);
    }

    /// A destructor panicked beside an end that stands: no terminal line says so.
    pub(in super::super) fn report(&self, panic: Option<Cause>) {
        if let Some(cause) = panic {
            let message = self.exchange.messages().first().map(|message| &message.call);
            let call = message.or(self.exchange.http_call()).cloned();
            let call = call.unwrap_or_else(|| self.exchange.new_http_call());
            call.report(Verdict::fault(FailureCode::PANIC, Actor::Operator, Some(cause)));
        }
    }

    /// The answer to `initialize` names the session that begins.
    pub(super) fn introduce_session(&self, id: &HeaderValue) {
        if self.exchange.session.is_some() || self.exchange.is_unread() {
            return;
        }
        let session = Session::from_id(id.as_bytes());
        for message in self.exchange.messages() {
            message.call.add_origin(Origin { session: Some(session), ..Origin::default() });
            if message.call.method() == "initialize"
                && let Some(client) = &message.call.origin().client
            {
                sessions::introduce(session, client);
            }
        }
    }

    /// Other connections of the session need not look for the message any more, unless its answer
    /// may be replayed.
    fn leave_session(&self, message: &Message) {
        if let (Some(session), Some(id)) = (self.exchange.session, message.id()) {
            if self.exchange.is_resumable() {
                sessions::deliver(session, &id.key);
            } else {
                sessions::end(session, &id.key);
            }
        }
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

    /// The notifications have been taken.
    pub(super) fn notified(&mut self) {
        let exchange = Arc::clone(&self.exchange);
        for (at, message) in exchange.messages().iter().enumerate() {
            if message.is_request() || self.seats.is_done(at) {
                continue;
            }
            message.set_answered();
            self.seats.set_done(at);
            if !self.seats.is_empty(at) {
                self.seats.call(at, message).decide(Verdict::completed());
            }
            self.seats.give_up(at);
        }
    }

    /// Whether the client has asked for all of it to stop.
    pub(in super::super) fn is_unwanted(&self) -> bool {
        let mut requests = self.exchange.messages().iter().filter(|it| it.is_request()).peekable();
        requests.peek().is_some() && requests.all(Message::is_cancelled)
    }

    /// The answers that are owed may come on another connection, which can be told to be theirs in
    /// a session alone.
    pub(in super::super) fn wait(&mut self) {
        let exchange = Arc::clone(&self.exchange);
        for (at, message) in exchange.messages().iter().enumerate() {
            if self.seats.is_done(at) {
                continue;
            }
            if !self.seats.is_empty(at) {
                let call = self.seats.call(at, message);
                let is_open = !call.is_closed() && call.decided().is_none();
                match (exchange.session, message.id()) {
                    (Some(session), Some(id)) if is_open => {
                        sessions::wait(session, &id.key, message.kind, call);
                    }
                    (Some(session), Some(id)) => drop(sessions::deliver(session, &id.key)),
                    _ => call.decide(Verdict::abandoned(None)),
                }
            }
            self.seats.set_done(at);
            self.seats.give_up(at);
        }
    }

    /// The client has left before it had its answers.
    pub(in super::super) fn leave(&mut self) {
        if self.exchange.is_unread() {
            return;
        }
        if self.exchange.is_resumable() {
            return self.wait();
        }
        let exchange = Arc::clone(&self.exchange);
        for (at, message) in exchange.messages().iter().enumerate() {
            if message.is_answered() || self.seats.is_done(at) || self.seats.is_empty(at) {
                continue;
            }
            self.leave_session(message);
            let verdict = if exchange.is_modern() && message.is_request() {
                Verdict::cancelled()
            } else {
                Verdict::abandoned(Some(Reason::Disconnected))
            };
            sessions::leave(self.seats.call(at, message), verdict);
            self.seats.give_up(at);
        }
    }

    /// What of an answer matters: also what a classifier asks for.
    pub(super) fn config(&mut self) -> Config {
        let config = Config::answers();
        if self.exchange.is_unread() {
            return config;
        }
        let mut asked: Option<Arc<Members>> = None;
        let tools = self.seats.calls().filter(|call| call.kind() == Kind::ToolCall);
        let rules = tools.map(|call| (call.policy(), call.tool().unwrap_or_default()));
        // On a stream whose answers are those of earlier requests nobody knows of which tools.
        let is_stream = self.exchange.sort == Sort::Stream;
        let of_stream = is_stream.then(|| (self.seats.policy(), ""));
        for (policy, tool) in rules.chain(of_stream) {
            let classifier = policy.classifier_of(tool);
            if !classifier.is_on() {
                continue;
            }
            let members =
                classifier.compiled(|paths| Members::new(paths.iter().map(String::as_str)));
            match (members, &asked) {
                (Some(members), None) => asked = Some(members),
                (Some(members), Some(asked)) if Arc::ptr_eq(&members, asked) => {}
                // It looks at all of it, or another one of the same batch looks at something else.
                _ => return config.structured_bytes(MAX_STRUCTURED),
            }
        }
        self.asked = asked;
        match &self.asked {
            Some(members) => config.members(Arc::clone(members)),
            None => config,
        }
    }

    /// Whether results have to be held until it is known that they are none of failures.
    pub(super) fn holds_results(&self) -> bool {
        self.contains
            && self.exchange.sort == Sort::Messages
            && self
                .seats
                .calls()
                .any(|call| call.kind() == Kind::ToolCall && call.policy().masks_undeclared())
    }

    fn written(&self, message: &Message, rendering: &Rendering) -> String {
        write::failure(message.kind, message.id(), self.exchange.is_modern(), rendering)
    }
}

/// Whether a result says nothing that speaks against it.
fn is_plain(facts: &Facts) -> bool {
    let result = &facts.result;
    result.is_error != Some(true) && result.record.is_absent()
}

fn judge_facts(
    call: &Call,
    facts: &Facts,
    raw: Option<&[u8]>,
    asked: Option<&Members>,
) -> Judgement {
    match facts.envelope() {
        Envelope::Error => judge_error(call, facts, raw),
        _ => judge_result(call, facts, raw, asked),
    }
}

fn judge_result(
    call: &Call,
    facts: &Facts,
    raw: Option<&[u8]>,
    asked: Option<&Members>,
) -> Judgement {
    let result = &facts.result;
    if result.is_input_required() {
        return judge(call, &Answer::InputRequired);
    }
    if call.kind().is_tool()
        && let Some(task) = result.created_task()
    {
        return judge(call, &Answer::Deferred { task_id: task.get().as_deref() });
    }
    let is_error = result.is_error == Some(true);
    let meta = record(result.record.get().as_deref());
    let text = result.text.get();
    let structured = structured(result, asked);
    let view = ResultView {
        is_error,
        meta: meta.as_ref(),
        text: text.as_deref(),
        is_text_alone: result.lone_text().is_some(),
        is_cut: match &structured {
            Some(_) => result.members_are_cut() || result.structured.is_cut(),
            None => result.text.is_cut(),
        },
        structured: structured.as_ref(),
    };
    let judgement = judge(call, &Answer::Result(view));
    // What is masked says it nowhere else.
    match raw.filter(|_| judgement.withhold && text.is_none()) {
        Some(raw) => judgement.with_more_cause(raw::member(raw, &["result", "structuredContent"])),
        None => judgement,
    }
}

/// What is kept of `structuredContent`, where it is an object.
fn structured(result: &ResultFacts, asked: Option<&Members>) -> Option<Value> {
    match asked {
        Some(asked) => result.members(asked).map(Value::Object),
        None if result.structured_shape != Shape::Object => None,
        None => match result.structured.get() {
            Some(json) => serde_json::from_str(&json).ok(),
            // Too long, or nobody asks.
            None => result.structured.is_cut().then(|| Value::Object(Map::new())),
        },
    }
}

fn judge_error(call: &Call, facts: &Facts, raw: Option<&[u8]>) -> Judgement {
    let error = &facts.error;
    let code = match error.code {
        Code::Number(code) => code,
        // One that no protocol knows, nor 64 bits: the author chose it.
        Code::Invalid => 0,
        // Nothing that says whose fault it is.
        Code::Absent => -32603,
    };
    let message = error.message.get().unwrap_or_default();
    let data = record(error.record.get().as_deref()).map(Value::Object);
    let view = ErrorView { code, message: &message, data: data.as_ref() };
    let judgement = judge(call, &Answer::Error(view));
    match raw.filter(|_| judgement.withhold && data.is_none()) {
        Some(raw) => judgement.with_more_cause(raw::member(raw, &["error", "data"])),
        None => judgement,
    }
}

/// The object that has the record in it.
fn record(json: Option<&str>) -> Option<Map<String, Value>> {
    let record = serde_json::from_str(json?).ok()?;
    Some(Map::from_iter([(Declaration::KEY.to_owned(), record)]))
}

/// Decides, should the thread unwind through a layer, that what is inside of it panicked.
pub(in super::super) struct Unwinding<'a>(pub(in super::super) &'a mut Desk);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.decide_all(|_| Verdict::fault(FailureCode::PANIC, Actor::Operator, None));
        }
    }
}
