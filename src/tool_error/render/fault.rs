//! What the model reads where its request was fine.

use super::words::{add, capitalised, count, joined, list_and, mentions, sentence, span};
use crate::{
    outcome::{Actor, Code},
    policy::Heals,
    tool_error::{Declaration, Effects},
};

/// What the words about a fault depend on.
struct Fault<'a> {
    declaration: &'a Declaration,
    actor: Actor,
    is_timeout: bool,
    /// It may have taken effect, and the author does not say.
    is_unsure: bool,
    /// `call` or `request`.
    word: &'a str,
}

/// The condition, that the request was fine, what to do next, and the reference.
pub(super) fn text(declaration: &mut Declaration, heals: Option<Heals>, word: &str) -> String {
    let fault = Fault::new(declaration, heals, word);
    let message = declaration.message.clone().unwrap_or_else(|| fault.condition());
    let mut lead = sentence(&message);
    let limit = fault.limit(&lead);
    add(&mut lead, limit);
    add(&mut lead, declaration.effects.as_ref().map(effects));
    // Of a batch of which items were refused, it was not.
    let is_settled = declaration.effects.as_ref().is_some_and(Effects::is_settled);
    let is_said = is_settled || says_it_was_fine(&lead);
    let (tail, recover) = match &declaration.recover {
        Some(step) => (fault.own_step(step, is_said), step.clone()),
        None => {
            let advice = fault.advice(is_said);
            (advice.clone(), advice)
        }
    };
    declaration.message = Some(message);
    declaration.recover = Some(recover);
    joined(lead, &tail)
}

impl<'a> Fault<'a> {
    fn new(declaration: &'a Declaration, heals: Option<Heals>, word: &'a str) -> Self {
        let (actor, code) = (declaration.actor(), declaration.code());
        // A request that was turned away did not run, whatever is said of its cause.
        let is_timeout = actor == Actor::Time
            && code != Code::RATE_LIMITED
            && (code == Code::TIMEOUT || heals == Some(Heals::Timeout));
        let is_unsure = is_timeout && declaration.effects.is_none();
        Self { declaration, actor, is_timeout, is_unsure, word }
    }

    /// The condition in fixed words.
    fn condition(&self) -> String {
        let but = match self.actor {
            Actor::User => "the user has to do something first",
            Actor::Time if self.is_unsure => {
                "the server took too long to complete it, and it may have taken effect all the same"
            }
            Actor::Time if self.is_timeout => "the server took too long to complete it",
            Actor::Time if self.declaration.code() == Code::RATE_LIMITED => {
                "the server has more requests than it can handle right now"
            }
            Actor::Time => "the server cannot complete it right now",
            Actor::Operator | Actor::Model => "the server could not complete it",
        };
        format!("This {} was fine, but {but}.", self.word)
    }

    /// The limit, as far as the message leaves it out.
    fn limit(&self, said: &str) -> Option<String> {
        let limit = self.declaration.limit.filter(|_| self.actor == Actor::Time)?;
        let (requests, window) = (limit.requests?, limit.window_seconds?);
        let names_a_span = ["second", "minute", "hour", "day"].iter().any(|it| said.contains(it));
        if names_a_span && mentions(said, &requests.to_string()) {
            return None;
        }
        let requests = count(requests, self.word);
        Some(format!("Permitted: at most {requests} in {}.", span(window)))
    }

    /// What to do next in the author's words, who knows better.
    fn own_step(&self, step: &str, is_said: bool) -> String {
        let fine =
            (!is_said && !says_it_was_fine(step)).then(|| format!("The {} was fine", self.word));
        let delay = self.delay().filter(|delay| !self.is_unsure && !step.contains(delay.as_str()));
        let standing = match (fine, delay) {
            (Some(fine), Some(delay)) => Some(format!("{fine} and can succeed in {delay}.")),
            (Some(fine), None) if self.is_unsure => {
                Some(format!("{fine}, but it may have taken effect all the same."))
            }
            (Some(fine), None) => Some(format!("{fine}.")),
            (None, Some(delay)) => Some(format!("It can succeed in {delay}.")),
            (None, None) => None,
        };
        let mut text = standing.unwrap_or_default();
        add(&mut text, Some(sentence(step)));
        let reference = self.declaration.reference.as_deref();
        add(&mut text, reference.map(|it| format!("Reference for the user: {it}.")));
        text
    }

    /// What to do next in generated words.
    fn advice(&self, is_said: bool) -> String {
        let word = self.word;
        let reference = self.reference();
        let problem = format!("tell the user that the server has a problem{reference}.");
        let when = self.when();
        let (link, step) = match (self.partial_effects(), self.actor) {
            (Some(effects), Actor::Time) => {
                let step = rest_of(effects, &when);
                (": ", format!("{step}; if it keeps failing, {problem}"))
            }
            (Some(effects), Actor::User) => {
                let end = format!("that they have to act first{reference}.");
                (", but ", nothing_unseen(effects, &end))
            }
            (Some(effects), Actor::Operator | Actor::Model)
                if effects.is_settled() && !effects.confirmed.is_empty() =>
            {
                let step = format!(
                    "do not send what is done again; send the rest only once what stands against \
                     it is put right, and tell the user what was done and what was \
                     not{reference}."
                );
                (", but ", step)
            }
            (Some(effects), Actor::Operator | Actor::Model) => {
                let end = format!("that the server has a problem{reference}.");
                (", but ", nothing_unseen(effects, &end))
            }
            (None, Actor::Time) if self.is_unsure => (
                ", but it may have taken effect all the same: ",
                format!(
                    "if it changes anything, check first whether it did; otherwise send the same \
                     {word} again {when}, unchanged; if it keeps failing, {problem}"
                ),
            ),
            (None, Actor::Time) => (
                ": ",
                format!(
                    "send the same {word} again {when}, unchanged; if it keeps failing, {problem}"
                ),
            ),
            (None, Actor::User) => (
                " and ",
                format!(
                    "nothing about it should change: tell the user, who has to act before it can \
                     succeed{reference}."
                ),
            ),
            (None, Actor::Operator | Actor::Model) => (
                "; ",
                format!(
                    "nothing about it should change and sending it again will not help: {problem}"
                ),
            ),
        };
        if is_said { capitalised(&step) } else { format!("The {word} was fine{link}{step}") }
    }

    /// Effects by which a part has happened, or may have.
    fn partial_effects(&self) -> Option<&Effects> {
        self.declaration.effects.as_ref().filter(|effects| !effects.is_none())
    }

    /// How long it takes until the same request can succeed.
    fn delay(&self) -> Option<String> {
        let seconds = self.declaration.retry_after_seconds;
        seconds.filter(|_| self.partial_effects().is_none()).map(span)
    }

    fn when(&self) -> String {
        let seconds = self.declaration.retry_after_seconds;
        seconds.map_or_else(|| "later".to_owned(), |seconds| format!("in {}", span(seconds)))
    }

    fn reference(&self) -> String {
        let reference = self.declaration.reference.as_deref();
        reference.map_or_else(String::new, |it| format!(" (reference {it})"))
    }
}

/// What a batch has done: the same call would do it twice.
pub(super) fn effects(effects: &Effects) -> String {
    if effects.is_none() {
        return "Nothing was changed.".to_owned();
    }
    let mut text = String::new();
    if !effects.confirmed.is_empty() {
        let done = list_and(&effects.confirmed, effects.more_confirmed);
        add(&mut text, Some(format!("Done: {done}.")));
    }
    if !effects.unresolved.is_empty() {
        let open = list_and(&effects.unresolved, effects.more_unresolved);
        let what = if effects.is_settled() { "Not done" } else { "Not confirmed" };
        add(&mut text, Some(format!("{what}: {open}.")));
    }
    if effects.unknown {
        let what = if effects.confirmed.is_empty() { "What" } else { "What else" };
        add(&mut text, Some(format!("{what} took effect is unknown.")));
    }
    text
}

/// What has to be checked before anything of it is sent again, if anything has to be.
fn unclear(effects: &Effects) -> Option<&'static str> {
    match effects.unresolved.as_slice() {
        _ if effects.unknown => Some("what took effect"),
        _ if effects.is_settled() => None,
        [] => None,
        [_] => Some("whether the unconfirmed one took effect"),
        _ => Some("which of the unconfirmed took effect"),
    }
}

/// How to send the rest of a batch that can go on by itself.
fn rest_of(effects: &Effects, when: &str) -> String {
    let Some(unclear) = unclear(effects) else {
        return format!("{when} send only what is not done yet");
    };
    let rest = match effects.unresolved.as_slice() {
        _ if effects.unknown => "only what did not",
        [_] => "it only if it did not",
        _ => "only those that did not",
    };
    format!("check {unclear}, then {when} send {rest}")
}

/// What not to send of a batch that somebody has to look at, and what to tell the user.
fn nothing_unseen(effects: &Effects, end: &str) -> String {
    let (is_done, is_open) = (!effects.confirmed.is_empty(), !effects.unresolved.is_empty());
    let not = match (is_done, unclear(effects)) {
        (true, None) => "do not send what is done again".to_owned(),
        (true, Some(unclear)) => format!(
            "do not send what is done again, nor the rest before you have checked {unclear}"
        ),
        (false, unclear) => format!(
            "do not send it again before you have checked {}",
            unclear.unwrap_or("what took effect")
        ),
    };
    let told = match (is_done, is_open) {
        (true, true) if effects.is_settled() => "what was done, what was not, and ",
        (true, true) => "what was done, what is not confirmed, and ",
        (true, false) => "what was done and ",
        (false, true) => "what is not confirmed and ",
        (false, false) => "",
    };
    format!("{not}; tell the user {told}{end}")
}

fn says_it_was_fine(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("call was fine") || text.contains("request was fine")
}
