//! Where finished calls go.

use std::{borrow::Cow, sync::Arc};

use super::{Record, event, redaction};
use crate::{
    outcome::Level,
    redact::{Redact, Redactor},
    target, unwind,
};

/// What a [`LogLayer`](crate::LogLayer) is configured with. Nothing of it is called under a lock,
/// and whatever panics in it costs its own output alone.
pub(crate) trait Sink: Send + Sync {
    /// Whether anybody would see the end of a call that is logged at `level`.
    fn wants(&self, level: Level) -> bool;
    /// Whether it writes events.
    fn writes(&self) -> bool;
    /// What takes secrets out of texts.
    fn redactor(&self) -> &dyn Redact;
    /// Whether that is the author's own, which may hide anything.
    fn has_own_redactor(&self) -> bool;
    /// Tells its hooks.
    fn tell(&self, record: &Record);
}

/// The sinks of a call. There is nearly always one: a second needs a second `LogLayer`.
#[derive(Clone, Default)]
pub(super) struct Sinks {
    first: Option<Arc<dyn Sink>>,
    more: Vec<Arc<dyn Sink>>,
}

impl Sinks {
    pub(super) fn add(&mut self, sink: Arc<dyn Sink>) {
        match &self.first {
            None => self.first = Some(sink),
            // The same layer applied twice tells its hooks once.
            Some(first) if Arc::ptr_eq(first, &sink) => {}
            Some(_) if self.more.iter().any(|known| Arc::ptr_eq(known, &sink)) => {}
            Some(_) => self.more.push(sink),
        }
    }

    /// Whether anybody would see the end of a call that is logged at `level`.
    pub(super) fn want(&self, level: Level) -> bool {
        // A subscriber may panic when it is asked.
        self.iter().any(|sink| unwind::catch(|| sink.wants(level)).unwrap_or(false))
    }

    /// Tells all of a call that has ended, with one event however many of them there are.
    pub(super) fn tell(&self, mut record: Record) {
        redaction::redact(self, &mut record);
        if self.iter().any(|sink| sink.writes()) {
            unwind::shielded(|| event::finished(&record, self));
        }
        for sink in self.iter() {
            sink.tell(&record);
        }
    }

    /// Writes down a failure that no terminal event tells of.
    pub(super) fn lost(&self, mut record: Record) {
        if self.first.is_some() && !self.iter().any(|sink| sink.writes()) {
            return;
        }
        unwind::shielded(|| {
            if target::is_listened_to(record.level()) {
                redaction::redact(self, &mut record);
                event::lost(&record, self);
            }
        });
    }

    /// Whether only what looks like a secret is to be hidden.
    pub(super) fn have_default_redactor(&self) -> bool {
        !self.iter().any(|sink| sink.has_own_redactor())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<dyn Sink>> {
        self.first.iter().chain(&self.more)
    }
}

/// Each takes out what it knows, whoever of them writes.
impl Redact for Sinks {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(first) = &self.first else {
            return Redactor::new().redact(text);
        };
        self.more.iter().fold(first.redactor().redact(text), |text, sink| {
            Cow::Owned(sink.redactor().redact(&text).into_owned())
        })
    }
}
