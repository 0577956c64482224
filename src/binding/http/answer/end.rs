//! How a body ends: by itself, by a fault, or because nobody reads on.

use tower::BoxError;

use super::{Answering, Reader, faults::refusal, held::Cut};
use crate::{call::Verdict, contain::Fault};

/// How a body ends.
pub(in super::super) enum End {
    Clean,
    /// With an error, or, where there is none to pass on, a panic.
    Broken(Fault, Option<BoxError>),
}

impl Answering {
    /// The body has ended.
    pub(in super::super) fn end(&mut self, end: End) {
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
        if let (Reader::Events { events, .. }, true) = (&mut self.reader, self.desk.contains) {
            events.finish(&mut self.desk, &mut self.out);
            self.is_ours |= events.has_replaced();
        }
        let is_owed = self.desk.owes();
        match &mut self.reader {
            Reader::Json { json, otherwise } => {
                if is_owed {
                    let fault = match otherwise.take() {
                        Some(fault) => *fault,
                        None if json.is_malformed() => Fault::nonsense(Cut::NO_JSON.0),
                        None => Fault::no_answer(),
                    };
                    self.fail(&fault, None);
                } else {
                    json.release(&mut self.out);
                }
            }
            Reader::Events { events, otherwise } => {
                if !is_owed {
                    events.close(&[], &self.desk, &mut self.out);
                } else if let Some(fault) = otherwise.as_deref().cloned() {
                    self.fail(&fault, None);
                } else if self.desk.exchange.may_go_on() {
                    events.close(&[], &self.desk, &mut self.out);
                    self.desk.wait();
                } else {
                    self.fail(&Fault::no_answer(), None);
                }
            }
            Reader::Refusal { status, says } => {
                let text = says.text();
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
    pub(in super::super) fn fail(&mut self, fault: &Fault, error: Option<BoxError>) {
        let is_message_less = self.desk.exchange.messages().is_empty();
        if self.holds_head() {
            // Nothing of it has gone out, and whoever failed so may have said anything.
            self.out.clear();
        }
        self.is_over = true;
        if !is_message_less && !self.desk.owes() {
            // The answer is out, and what else breaks harms nobody; unless it is for others to say
            // so, or it is the answer that broke, which was told further in.
            let is_for_others = !self.desk.contains || self.trusts == Some(true);
            self.error = error.filter(|_| is_for_others || self.desk.is_settled);
            if let Reader::Events { events, .. } = &mut self.reader {
                events.close(&[], &self.desk, &mut self.out);
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
            Reader::Events { events, .. } if self.desk.contains && !is_message_less => {
                let answers = self.desk.fail(fault);
                self.is_ours = true;
                self.trailers = None;
                events.close(&answers, &self.desk, &mut self.out);
            }
            Reader::Events { events, .. } => {
                events.close(&[], &self.desk, &mut self.out);
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
    pub(in super::super) fn abort(&mut self, fault: &Fault) {
        if let Reader::Json { json, .. } = &self.reader
            && self.desk.contains
            && !json.has_begun()
        {
            self.replacement = Some(self.desk.fail(fault));
        }
        self.is_over = true;
        self.desk.seats.clear();
    }

    /// What comes must not go out.
    pub(super) fn cut(&mut self, reason: &Cut) {
        let fault = Fault::nonsense(reason.0);
        match &mut self.reader {
            // A stream can still say so, and so can a head that has not gone out.
            Reader::Events { otherwise, .. } => {
                let fault = otherwise.as_deref().cloned().unwrap_or(fault);
                self.fail(&fault, None);
            }
            Reader::Json { json, otherwise } if !json.has_begun() => {
                let fault = otherwise.take().map_or(fault, |fault| *fault);
                self.fail(&fault, None);
            }
            _ => {
                self.desk.fail_untold(&fault);
                self.error = Some("the answer was cut off".into());
                self.is_over = true;
            }
        }
    }

    /// Nobody reads on.
    pub(in super::super) fn leave(&mut self) {
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
