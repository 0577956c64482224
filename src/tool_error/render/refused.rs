//! What the model reads where its request must change.

use serde_json::Value;

use super::words::{add, joined, list, mentions, places, sentence};
use crate::{
    outcome::Declared,
    tool_error::{Declaration, bounds},
};

const QUOTES: [char; 3] = ['\'', '"', '`'];

/// What was wrong, then the next step.
pub(super) fn text(declaration: &mut Declaration, word: &str) -> String {
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
    add(&mut lead, declaration.effects.as_ref().map(super::fault::effects));
    let mut tail = String::new();
    let recover = declaration.recover.as_deref();
    if is_stale && ![Some(lead.as_str()), recover].into_iter().flatten().any(says_it_fails_again) {
        add(&mut tail, Some(format!("Sending the same {word} again will fail again.")));
    }
    add(&mut tail, recover.filter(|step| !lead.contains(step)).map(sentence));
    joined(lead, &tail)
}

/// The argument at fault and the value that was sent, as far as the message leaves them out.
fn subject(declaration: &Declaration, said: &str) -> Option<String> {
    let field = declaration.field.as_deref();
    let received = declaration.received.as_ref();
    let json = received.map(bounds::json);
    // As it would stand in a message.
    let value = received.and_then(Value::as_str).or(json.as_deref());
    let value_is_said = value.is_some_and(|value| mentions(said, value));
    match (field, &json) {
        (Some(field), Some(json)) if !value_is_said => {
            Some(format!("The value of {field} was {json}."))
        }
        (None, Some(json)) if !value_is_said => Some(format!("The value was {json}.")),
        (Some(field), json) => {
            let is_said = match json {
                Some(_) => names(said, field, value.unwrap_or_default()),
                None => mentions(said, field),
            };
            (!is_said).then(|| format!("The argument at fault is {field}."))
        }
        (None, _) => None,
    }
}

/// Whether `text` can only mean the argument by `field`: it is quoted, or its value follows.
fn names(text: &str, field: &str, value: &str) -> bool {
    places(text, field).any(|(before, after)| {
        let quote = before.chars().next_back().filter(|c| QUOTES.contains(c));
        if quote.is_some() && after.starts_with(QUOTES) {
            return true;
        }
        let skipped = after.trim_start_matches([' ', ':', '=']).trim_start_matches(QUOTES);
        places(skipped, value).any(|(between, _)| between.is_empty())
    })
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
        [one, two] => Some(format!("The closest matches are {one} and {two}.")),
        more => Some(format!("The closest matches are {}.", list(more))),
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

fn says_it_fails_again(text: &str) -> bool {
    let text = text.to_lowercase();
    ["fail again", "fails again", "will not succeed", "cannot succeed"]
        .iter()
        .any(|phrase| text.contains(phrase))
}
