//! Calls whose answer does not come by: they end by a fault, on another connection, or not at all.

use std::sync::Arc;

use http::HeaderValue;

use super::desk::Desk;
use crate::{
    binding::http::{
        request::{Id, Message},
        scan::Facts,
        sessions, write,
    },
    call::{Call, Kind, Origin, Session, Verdict},
    contain::Fault,
    outcome::{Actor, Cause, Code, Reason},
};

impl Desk {
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
        let id = Id::unless_null(&facts.id);
        let exchange = Arc::clone(&self.exchange);
        if let Some((at, message)) = exchange.answered_by(id.as_ref(), true) {
            return self.fail_message(at, message, fault);
        }
        // Of an earlier request, or of none.
        let call = self.stray_call(Kind::Request, id.as_ref());
        let rendering = fault.rendering(Kind::Request, call.id());
        call.report(fault.clone().into_verdict(&call).told(rendering.text.clone()));
        Some(write::failure(Kind::Request, id.as_ref(), false, &rendering))
    }

    fn fail_message(&mut self, at: usize, message: &Message, fault: &Fault) -> Option<String> {
        if self.seats.is_done(at) {
            return None;
        }
        let call = self.seats.call(at, message).clone();
        let is_told = message.is_request() && self.contains;
        let rendering = is_told.then(|| fault.rendering(message.kind, call.id()));
        let text = rendering.as_ref().map(|rendering| self.written(message, rendering));
        let verdict = (!message.is_cancelled()).then(|| {
            let verdict = fault.clone().into_verdict(&call);
            match rendering {
                Some(rendering) => verdict.told(rendering.text),
                None => verdict,
            }
        });
        let bytes = text.as_ref().map(|text| text.len() as u64);
        self.finish(at, message, bytes, |_| verdict);
        text
    }

    /// The message has its end, as far as can be seen from here: this verdict, if any, where its
    /// call is followed, and an answer of so many bytes.
    pub(super) fn finish(
        &mut self,
        at: usize,
        message: &Message,
        bytes: Option<u64>,
        verdict: impl FnOnce(&Call) -> Option<Verdict>,
    ) {
        message.set_answered();
        self.seats.set_done(at);
        self.exchange.leave_session(message);
        if self.seats.is_empty(at) {
            return;
        }
        let call = self.seats.call(at, message);
        if let Some(bytes) = bytes {
            call.set_result_bytes(bytes);
        }
        if let Some(verdict) = verdict(call) {
            call.decide(verdict);
        }
        self.seats.give_up(at);
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
        self.finish_where(|_| true, verdict);
    }

    /// The notifications have been taken.
    pub(super) fn notified(&mut self) {
        self.finish_where(|message| !message.is_request(), |_| Verdict::completed());
    }

    fn finish_where(
        &mut self,
        is_meant: impl Fn(&Message) -> bool,
        verdict: impl Fn(&Call) -> Verdict,
    ) {
        let exchange = Arc::clone(&self.exchange);
        for (at, message) in exchange.messages().iter().enumerate() {
            if is_meant(message) && !self.seats.is_done(at) {
                self.finish(at, message, None, |call| Some(verdict(call)));
            }
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
            call.report(Verdict::fault(Code::PANIC, Actor::Operator, Some(cause)));
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
                let is_open = !call.is_closed() && !call.is_decided();
                match (exchange.session, message.id()) {
                    (Some(session), Some(id)) if is_open => {
                        sessions::wait(session, &id.key, call);
                    }
                    (Some(_), Some(_)) => exchange.leave_session(message),
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
            exchange.leave_session(message);
            let verdict = if exchange.is_modern() && message.is_request() {
                Verdict::cancelled()
            } else {
                Verdict::abandoned(Some(Reason::Disconnected))
            };
            sessions::leave(self.seats.call(at, message), verdict);
            self.seats.give_up(at);
        }
    }
}

/// Decides, should the thread unwind through a layer, that what is inside of it panicked.
pub(in super::super) struct Unwinding<'a>(pub(in super::super) &'a mut Desk);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.decide_all(|_| Verdict::fault(Code::PANIC, Actor::Operator, None));
        }
    }
}
