//! What has to be kept of an answer, and what of it held back, before anybody knows what it says.

use std::sync::Arc;

use super::{desk::Desk, task};
use crate::{
    binding::http::{
        request::{Id, Message, Sort},
        scan::{Config, Facts, JSON_TEXT_BYTES, Members},
    },
    call::{Call, Kind, find_task},
    policy::Classifier,
};

/// Bytes up to which `structuredContent` is kept for a classifier that looks at all of it.
const MAX_STRUCTURED: usize = 16 * 1024;

/// What is kept of `structuredContent`, for a classifier to look at.
#[derive(Debug, Default)]
pub(super) enum Kept {
    #[default]
    Nothing,
    /// The members that are asked for.
    Members(Arc<Members>),
    /// All of it, if it is not too long.
    All,
}

impl Kept {
    /// Whether it is what the classifier for this call's tool looks at. Of a result that nobody
    /// expected it may be what another one does.
    pub(super) fn serves(&self, call: &Call) -> bool {
        let policy = call.policy();
        let classifier = policy.classifier_of(call.tool().unwrap_or_default());
        match self {
            _ if !classifier.is_on() => true,
            Self::Nothing => false,
            Self::Members(kept) => {
                members_of(classifier).is_some_and(|asked| Arc::ptr_eq(kept, &asked))
            }
            Self::All => true,
        }
    }
}

/// The members that a classifier looks at; `None` if that is all, or more than are told apart.
fn members_of(classifier: &Classifier) -> Option<Arc<Members>> {
    let members = classifier.compiled(|paths| Members::new(paths.iter().map(String::as_str)));
    // Of what it asks for all is kept, or none.
    members.filter(|members| members.ignored().is_empty())
}

impl Desk {
    /// What of an answer matters: also what a classifier asks for.
    pub(super) fn config(&mut self) -> Config {
        if !self.exchange.is_unread() {
            self.kept = self.asked();
        }
        let config = Config::answers();
        match &self.kept {
            Kept::Nothing => config,
            Kept::Members(members) => {
                config.text_bytes(JSON_TEXT_BYTES).members(Arc::clone(members))
            }
            Kept::All => config.text_bytes(JSON_TEXT_BYTES).structured_bytes(MAX_STRUCTURED),
        }
    }

    /// What the classifiers look at that may be asked about an answer.
    fn asked(&self) -> Kept {
        let mut asked = Kept::Nothing;
        for call in self.seats.calls() {
            let task;
            let tool = match call.kind() {
                Kind::ToolCall => call,
                // What a task ended in is looked at as the result of its own tool.
                Kind::Request => match call.asked_task() {
                    Some(id) => {
                        task = find_task(call, &id).call;
                        &task
                    }
                    None => continue,
                },
                _ => continue,
            };
            asked.add(tool.policy().classifier_of(tool.tool().unwrap_or_default()));
        }
        // What comes on a stream is of earlier requests, and nobody knows of which tools.
        let is_stream = self.exchange.sort == Sort::Stream
            || self.exchange.messages().iter().any(Message::is_subscription);
        if is_stream {
            let policy = self.seats.policy();
            if policy.knows_tools() {
                return Kept::All;
            }
            asked.add(policy.classifier_of(""));
        }
        asked
    }

    /// Whether the result that begins has to be held until it is known that it is none of a failure.
    pub(super) fn holds_result(&self, facts: &Facts) -> bool {
        let is_of_tool =
            |call: &Call| call.kind() == Kind::ToolCall || call.method() == "tasks/result";
        let masks = |call: &Call| is_of_tool(call) && call.policy().masks_undeclared();
        self.contains
            && (self.may_tell_of_task()
                || self.seats.calls().any(masks)
                || self.is_of_another_request(facts))
    }

    /// Whether a result may be what a task says of itself.
    pub(super) fn may_tell_of_task(&self) -> bool {
        // On a stream nobody knows what they are results of.
        self.exchange.sort == Sort::Stream || self.exchange.may_ask_for_task()
    }

    /// Whether a result answers no request of this exchange, as far as its id is known.
    fn is_of_another_request(&self, facts: &Facts) -> bool {
        let id = Id::unless_null(&facts.id).filter(|_| !self.exchange.is_unread());
        id.is_some_and(|id| self.exchange.answered_by(Some(&id), false).is_none())
    }

    /// Whether a message that is no answer has to be held until it is known what it says.
    pub(super) fn holds_notification(&self, facts: &Facts) -> bool {
        self.contains && task::is_notification(facts)
    }
}

impl Kept {
    /// What this classifier looks at, too.
    fn add(&mut self, classifier: &Classifier) {
        if !classifier.is_on() {
            return;
        }
        *self = match (members_of(classifier), std::mem::take(self)) {
            (Some(members), Self::Nothing) => Self::Members(members),
            (Some(members), Self::Members(known)) if Arc::ptr_eq(&members, &known) => {
                Self::Members(known)
            }
            // It looks at all of it, or another one of the same batch looks at something else.
            _ => Self::All,
        };
    }
}
