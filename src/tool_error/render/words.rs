//! The words that the model reads.

use serde_json::Value;

use crate::{
    call::Kind,
    outcome::{Actor, Code, Declared},
    tool_error::{
        Declaration, Effects,
        bounds::{self, cut},
    },
};

/// Items of a list that are written out.
const ITEMS: usize = 10;
/// Characters of a written list.
const LIST_CHARS: usize = 300;

/// The text of a settled declaration, whose `message` and, of a fault, `recover` are filled in
/// with the fixed words where the author gave none.
pub(super) fn compose(declaration: &mut Declaration, kind: Kind) -> String {
    let word = if kind == Kind::ToolCall { "call" } else { "request" };
    match declaration.outcome {
        Declared::Rejected | Declared::Stale => for_the_model(declaration, word),
        Declared::Fault => for_a_fault(declaration, word),
    }
}

/// What was wrong, then the next step.
fn for_the_model(declaration: &mut Declaration, word: &str) -> String {
    let is_stale = declaration.outcome == Declared::Stale;
    let message = declaration.message.get_or_insert_with(|| {
        if is_stale {
            format!("What this {word} was based on has changed.")
        } else {
            format!("This {word} was not accepted.")
        }
    });
    let mut lead = sentence(message);
    for part in [subject, closest, permitted] {
        let part = part(declaration, &lead);
        add(&mut lead, part);
    }
    add(&mut lead, declaration.effects.as_ref().map(effects));
    let mut tail = String::new();
    let recover = declaration.recover.as_deref();
    if is_stale && ![Some(lead.as_str()), recover].into_iter().flatten().any(says_it_fails_again) {
        add(&mut tail, Some(format!("Sending the same {word} again will fail again.")));
    }
    add(&mut tail, recover.filter(|step| !lead.contains(step)).map(sentence));
    joined(lead, &tail)
}

/// The condition, that nothing about the request should change, and who has to act.
fn for_a_fault(declaration: &mut Declaration, word: &str) -> String {
    let actor = declaration.actor();
    let is_fixed = declaration.message.is_none();
    let code = declaration.code();
    let message = declaration.message.get_or_insert_with(|| condition(actor, &code, word));
    let mut lead = sentence(message);
    let done = declaration.effects.as_ref();
    add(&mut lead, done.map(effects));
    let advice = match done.filter(|effects| !effects.is_none()) {
        Some(effects) => advice_on_effects(declaration, effects, word),
        None => advice(declaration, is_fixed, word),
    };
    let mut tail = advice.clone();
    match &declaration.recover {
        Some(step) => add(&mut tail, Some(sentence(step))),
        None => declaration.recover = Some(advice),
    }
    joined(lead, &tail)
}

/// The condition in fixed words.
fn condition(actor: Actor, code: &Code, word: &str) -> String {
    let but = match actor {
        Actor::User => "the user has to do something first",
        Actor::Time if *code == Code::TIMEOUT => "the server took too long to complete it",
        Actor::Time if *code == Code::RATE_LIMITED => {
            "the server has more requests than it can handle right now"
        }
        Actor::Time => "the server cannot complete it right now",
        Actor::Operator | Actor::Model => "the server could not complete it",
    };
    format!("This {word} was fine, but {but}.")
}

fn advice(declaration: &Declaration, is_fixed: bool, word: &str) -> String {
    let reference = reference(declaration);
    let problem = format!("tell the user that the server has a problem{reference}.");
    match (declaration.actor(), is_fixed) {
        (Actor::Time, true) => {
            let when = when(declaration);
            format!("Send the same {word} again {when}, unchanged; if it keeps failing, {problem}")
        }
        (Actor::Time, false) => {
            let when = when(declaration);
            format!(
                "The {word} was fine: send the same {word} again {when}, unchanged; if it keeps \
                 failing, {problem}"
            )
        }
        (Actor::User, true) => {
            format!("Nothing about it should change: tell the user what has to be done{reference}.")
        }
        (Actor::User, false) => format!(
            "The {word} was fine and nothing about it should change: tell the user, who has to act \
             before it can succeed{reference}."
        ),
        (Actor::Operator | Actor::Model, true) => {
            format!("Nothing about it should change and sending it again will not help: {problem}")
        }
        (Actor::Operator | Actor::Model, false) => format!(
            "The {word} was fine, nothing about it should change, and sending it again will not \
             help: {problem}"
        ),
    }
}

/// A part has happened, or may have: the same call would do it twice.
fn advice_on_effects(declaration: &Declaration, effects: &Effects, word: &str) -> String {
    let mut advice = format!("The {word} was fine, but do not send all of it again");
    if effects.unknown {
        advice.push_str("; find out what took effect before you send anything");
    }
    let reference = reference(declaration);
    advice.push_str(&match declaration.actor() {
        Actor::Time if effects.unknown => format!(" {}{reference}.", when(declaration)),
        Actor::Time => {
            format!(": send only what is not confirmed, {}{reference}.", when(declaration))
        }
        Actor::User => format!("; tell the user, who has to act first{reference}."),
        Actor::Operator | Actor::Model => {
            format!("; tell the user what was done and that the server has a problem{reference}.")
        }
    });
    advice
}

fn when(declaration: &Declaration) -> String {
    match declaration.retry_after_seconds.map(|seconds| seconds.ceil().max(1.0)) {
        Some(1.0) => "in 1 second".to_owned(),
        Some(seconds) => format!("in {seconds} seconds"),
        None => "later".to_owned(),
    }
}

fn reference(declaration: &Declaration) -> String {
    declaration.reference.as_deref().map_or_else(String::new, |it| format!(" (reference {it})"))
}

/// The argument at fault and the value that was sent, as far as the message leaves them out.
fn subject(declaration: &Declaration, said: &str) -> Option<String> {
    let field = declaration.field.as_deref().filter(|field| !mentions(said, field));
    let received = declaration.received.as_ref().filter(|value| match value {
        Value::String(text) => !mentions(said, text),
        value => !mentions(said, &bounds::json(value)),
    });
    match (field, received.map(bounds::json)) {
        (Some(field), Some(received)) => Some(format!("The value of {field} was {received}.")),
        (Some(field), None) => Some(format!("The argument at fault is {field}.")),
        (None, Some(received)) => Some(format!("The value was {received}.")),
        (None, None) => None,
    }
}

fn closest(declaration: &Declaration, said: &str) -> Option<String> {
    let matches: Vec<&str> = declaration
        .closest_matches
        .iter()
        .map(String::as_str)
        .filter(|one| !mentions(said, one))
        .collect();
    match matches.as_slice() {
        [] => None,
        [one] => Some(format!("The closest match is {one}.")),
        more => Some(format!("The closest matches are {}.", list(more.iter().copied()))),
    }
}

fn permitted(declaration: &Declaration, said: &str) -> Option<String> {
    match declaration.permitted.as_ref()? {
        Value::String(form) if form.is_empty() || said.contains(form.as_str()) => None,
        Value::String(form) => Some(sentence(&format!("Permitted: {form}"))),
        Value::Array(values) if !values.is_empty() => {
            Some(format!("Permitted values: {}.", list(values.iter().map(bounds::json))))
        }
        _ => None,
    }
}

fn effects(effects: &Effects) -> String {
    if effects.is_none() {
        return "Nothing was changed.".to_owned();
    }
    let mut text = String::new();
    if !effects.confirmed.is_empty() {
        add(&mut text, Some(format!("Done: {}.", list(&effects.confirmed))));
    }
    if !effects.unresolved.is_empty() {
        add(&mut text, Some(format!("Not confirmed: {}.", list(&effects.unresolved))));
    }
    if effects.unknown {
        let what = if text.is_empty() { "What" } else { "What else" };
        add(&mut text, Some(format!("{what} took effect is unknown.")));
    }
    text
}

fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut items = items.into_iter();
    let mut text = String::new();
    for item in items.by_ref().take(ITEMS) {
        let comma = if text.is_empty() { "" } else { ", " };
        text.push_str(comma);
        text.push_str(item.as_ref());
    }
    let mut text = cut(&text, LIST_CHARS);
    let more = items.count();
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// The whole, whose end is never what is cut: it says what to do.
fn joined(lead: String, tail: &str) -> String {
    let room = bounds::TEXT_CHARS.saturating_sub(tail.chars().count().saturating_add(1));
    let mut text = cut(&lead, room);
    add(&mut text, Some(tail.to_owned()));
    cut(&text, bounds::TEXT_CHARS)
}

fn add(text: &mut String, sentence: Option<String>) {
    let Some(sentence) = sentence.filter(|sentence| !sentence.is_empty()) else { return };
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&sentence);
}

/// `text`, ended like a sentence.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let is_ended = text.is_empty() || text.ends_with(['.', '!', '?', '…', ':', ';']);
    let end = if is_ended { "" } else { "." };
    format!("{text}{end}")
}

/// Whether `what` stands in `text`, not as a part of a longer word.
fn mentions(text: &str, what: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !what.is_empty()
        && text.match_indices(what).any(|(at, found)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
            !is_part(before) && !is_part(after)
        })
}

fn says_it_fails_again(text: &str) -> bool {
    let text = text.to_lowercase();
    ["fail again", "fails again", "will not succeed", "cannot succeed"]
        .iter()
        .any(|phrase| text.contains(phrase))
}
