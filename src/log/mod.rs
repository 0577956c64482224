//! Writes one event about how each request ended, at the level of whoever has to act.
//!
//! See the crate's documentation for the events and their fields.

mod future;
mod layer;
mod service;
mod span;

use std::{fmt, sync::Arc};

#[cfg(feature = "http")]
pub(crate) use self::future::verdict_of_error;
pub(crate) use self::span::ToolSpan;
pub use self::{future::LogFuture, layer::LogLayer, service::Log};
use crate::{
    call::{Call, Kind, Record, Sink},
    outcome::Level,
    redact::{Redact, Redactor},
    target,
};

/// Told of each finished call: what the log line is made of, typed. Closures are hooks.
///
/// It runs on the task that answers the call, after the answer is made: it should be quick, and
/// must not block. One that panics costs its own output alone.
///
/// Failures, counted by code:
///
/// ```
/// use std::{
///     collections::BTreeMap,
///     sync::{Arc, Mutex, PoisonError},
/// };
/// use tower_outcome::{Code, OutcomeLayer, Record};
///
/// let failures = Arc::new(Mutex::new(BTreeMap::<Code, u64>::new()));
/// let counted = Arc::clone(&failures);
/// let layer = OutcomeLayer::new().hook(move |record: &Record| {
///     // There is one exactly where `record.outcome.is_failure()`.
///     if let Some(failure) = &record.failure {
///         let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
///         *counted.entry(failure.code.clone()).or_default() += 1;
///     }
/// });
/// # let _ = (layer, failures);
/// ```
///
/// A closure has to name the type, `|record: &Record|`: a layer takes any hook, and so the
/// compiler does not learn from it what the closure is given.
pub trait OnOutcome: Send + Sync {
    /// Called once for each finished call.
    fn on_outcome(&self, record: &Record);
}

impl<F: Fn(&Record) + Send + Sync> OnOutcome for F {
    fn on_outcome(&self, record: &Record) {
        self(record);
    }
}

/// What a [`LogLayer`] is configured with, shared by all that it makes.
#[derive(Clone)]
pub(crate) struct Logging {
    events: bool,
    span: bool,
    route: Option<Arc<str>>,
    #[cfg(feature = "http")]
    pub(crate) max_request_bytes: Option<usize>,
    hooks: Vec<Arc<dyn OnOutcome>>,
    redactor: Arc<dyn Redact>,
    has_own_redactor: bool,
}

impl Default for Logging {
    fn default() -> Self {
        Self {
            events: true,
            span: false,
            route: None,
            #[cfg(feature = "http")]
            max_request_bytes: None,
            hooks: Vec::new(),
            redactor: Arc::new(Redactor::new()),
            has_own_redactor: false,
        }
    }
}

impl Logging {
    /// Whether facts about a call can end up anywhere at all.
    pub(crate) fn is_heard(&self) -> bool {
        !self.hooks.is_empty() || (self.events && target::is_anyone_listening())
    }

    /// Whether a call has to be told that this layer is there: it is to hear of it, or it is
    /// silent.
    pub(crate) fn is_needed(&self) -> bool {
        !self.events || self.is_heard()
    }

    /// The route that the layer stands on.
    #[cfg(feature = "http")]
    pub(crate) fn route(&self) -> Option<&Arc<str>> {
        self.route.as_ref()
    }

    /// Tells a call which route the layer stands on.
    pub(crate) fn name_route(&self, call: &Call) {
        if let Some(route) = &self.route {
            call.set_route(route);
        }
    }

    /// Begins to tell of a call: its start, and the span that a tool is to run in.
    pub(crate) fn begin(&self, call: &Call) -> Option<ToolSpan> {
        self.name_route(call);
        if self.events && call.kind() != Kind::Notification && call.starts() {
            call.tell_start();
        }
        (self.span && call.kind().is_tool() && call.takes_span()).then(|| ToolSpan::new(call))
    }
}

impl Sink for Logging {
    fn wants(&self, level: Level) -> bool {
        !self.hooks.is_empty() || (self.events && target::is_listened_to(level))
    }

    fn writes(&self) -> bool {
        self.events
    }

    fn redactor(&self) -> &dyn Redact {
        &*self.redactor
    }

    fn has_own_redactor(&self) -> bool {
        self.has_own_redactor
    }

    fn tell(&self, record: &Record) {
        for hook in &self.hooks {
            crate::unwind::shielded(|| hook.on_outcome(record));
        }
    }
}

impl fmt::Debug for Logging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logging")
            .field("events", &self.events)
            .field("span", &self.span)
            .field("hooks", &self.hooks.len())
            .finish_non_exhaustive()
    }
}
