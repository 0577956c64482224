//! What an author can say about a failure, part by part.

use std::{borrow::Cow, error::Error, time::Duration};

use serde_json::Value;

use super::{Candidate, Effects, Limit, ToolError, bounds, closest, convert};
use crate::outcome::{Actor, Code, Declared, Level};

impl ToolError {
    /// The kind of failure, countable: `snake_case`, at most 64 bytes. What is not is made so;
    /// what cannot be is ignored.
    pub fn code(self, code: impl Into<Cow<'static, str>>) -> Self {
        let code = Code::coerce(code.into());
        self.declare(|declaration| declaration.code = code.or(declaration.code.take()))
    }

    /// What was wrong, or, of a fault, what the condition is; in words for the model. At most
    /// 1500 characters.
    pub fn message(self, message: impl Into<String>) -> Self {
        let message = bounds::cut(message.into().trim(), bounds::MESSAGE_CHARS);
        let message = (!message.is_empty()).then_some(message);
        self.declare(|declaration| declaration.message = message)
    }

    /// The argument at fault, as a path: `filters[0].name`. At most 128 characters.
    pub fn field(self, path: impl AsRef<str>) -> Self {
        let path = bounds::cut(path.as_ref(), bounds::NAME_CHARS);
        self.declare(|declaration| declaration.field = Some(path))
    }

    /// The value that was sent. It is quoted as JSON, cut at 256 bytes, and sent as it is:
    /// [redaction](crate::Redact) is about the log alone. Do not quote secrets.
    pub fn received(mut self, value: impl Into<Value>) -> Self {
        let value = value.into();
        let sent = match &value {
            Value::String(text) => text.clone(),
            value => bounds::json(value),
        };
        let received = bounds::received(value);
        let candidates = std::mem::take(&mut self.0.candidates);
        let matches = closest::nearest(&sent, &candidates);
        self.0.sent = Some(sent);
        self.declare(|declaration| {
            declaration.received = Some(received);
            declaration.closest_matches.extend(matches);
        })
    }

    /// What may have been meant: ids, or pairs of an id and a label. The nearest two to what was
    /// [`received`](Self::received) are named, if they are near enough: at most a third of the
    /// length and four edits away. The first 10 000 are looked at, ids over 128 characters are
    /// skipped. The caller must be allowed to see each of them.
    pub fn closest<C: Into<Candidate>>(mut self, candidates: impl IntoIterator<Item = C>) -> Self {
        let candidates = closest::collect(candidates);
        let matches = match &self.0.sent {
            Some(sent) => closest::nearest(sent, &candidates),
            None => {
                self.0.candidates = candidates;
                Vec::new()
            }
        };
        self.declare(|declaration| declaration.closest_matches = matches)
    }

    /// What is allowed: the form in words, at most 256 characters, or an array of values, at most
    /// 64 of 256 bytes each. Anything else is ignored.
    pub fn permitted(self, permitted: impl Into<Value>) -> Self {
        let permitted = bounds::permitted(permitted.into());
        self.declare(|declaration| declaration.permitted = permitted)
    }

    /// The exact next step, by tool and parameter name; the last sentence that the model reads,
    /// before a fault's reference. On a fault it replaces the advice that would stand there (to
    /// tell the user, to send the same call again), as its author knows better: the text still says
    /// that the call was fine, and in how long it can succeed. At most 400 characters.
    pub fn recover(self, step: impl Into<String>) -> Self {
        let step = bounds::cut(step.into().trim(), bounds::RECOVER_CHARS);
        let step = (!step.is_empty()).then_some(step);
        self.declare(|declaration| declaration.recover = step)
    }

    /// How long it takes until the same call can succeed, rounded up to milliseconds. A fault of
    /// which nobody said who has to act becomes one that heals itself. Ignored where waiting does
    /// not help: on what the model, the user or the operator has to act on.
    pub fn retry_after(self, delay: Duration) -> Self {
        self.declare(|declaration| {
            declaration.retry_after_seconds = Some(bounds::seconds_of(delay));
            if declaration.outcome == Declared::Fault {
                declaration.actor.get_or_insert(Actor::Time);
            }
        })
    }

    /// The limit that the call ran into. The text tells it where the fault heals itself.
    pub fn limit(self, limit: Limit) -> Self {
        let limit =
            Limit { window_seconds: limit.window_seconds.and_then(bounds::seconds), ..limit };
        self.declare(|declaration| declaration.limit = Some(limit))
    }

    /// What is known to have happened. Without a code of its own, a fault with effects is
    /// `partial_failure`, or `outcome_unknown`, and the text no longer says to send the same call
    /// again: only what is not done, once it is checked what is. [`Effects::none`] says that
    /// nothing was changed; other effects that list nothing are as if none were given.
    pub fn effects(self, effects: Effects) -> Self {
        self.declare(|declaration| declaration.effects = effects.bounded())
    }

    /// The level of the log line, where that of who has to act is not right.
    pub fn level(self, level: impl Into<Level>) -> Self {
        let level = level.into();
        self.declare(|declaration| declaration.level = Some(level))
    }

    /// Who has to act. Ignored where the outcome does not allow it: see [`Declared::allows`].
    pub fn actor(self, actor: Actor) -> Self {
        self.declare(|declaration| {
            if declaration.outcome.allows(actor) {
                declaration.actor = Some(actor);
            }
        })
    }

    /// The cause, for the log alone: an error, a boxed one, a text, an `anyhow::Error` or an
    /// `eyre::Report`.
    pub fn source(mut self, source: impl Into<Box<dyn Error + Send + Sync>> + 'static) -> Self {
        self.0.source = Some(convert::source(source));
        self.declare(|_| {})
    }

    /// Whether the record also goes into `structuredContent`, for hosts that show only that. Not
    /// where the tool has an output schema that does not admit it.
    pub fn structured(mut self, structured: bool) -> Self {
        self.0.structured = structured;
        self.declare(|_| {})
    }
}
