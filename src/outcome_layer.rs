//! The three layers in one.

use std::{sync::Arc, time::Duration};

use tower_layer::Layer;

use crate::{
    classify::{Classify, ClassifyLayer},
    contain::{Contain, ContainLayer},
    log::{Log, LogLayer, OnOutcome},
    policy::Policy,
    redact::Redact,
};

/// [`LogLayer`] round [`ClassifyLayer`] round [`ContainLayer`]: what most servers want.
///
/// It is a value and configuration only; making services with it does no work, so that it can be
/// made anew for each session. Put it outermost: it then answers and logs what the layers inside
/// of it do too.
#[derive(Clone, Debug, Default)]
pub struct OutcomeLayer {
    log: LogLayer,
    classify: ClassifyLayer,
    contain: ContainLayer,
}

impl OutcomeLayer {
    /// Everything at its default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Levels, and what becomes of failures that declare nothing.
    #[must_use]
    pub fn policy(mut self, policy: impl Into<Arc<Policy>>) -> Self {
        self.classify = self.classify.policy(policy);
        self
    }

    /// See [`LogLayer::hook`].
    #[must_use]
    pub fn hook(mut self, hook: impl OnOutcome + 'static) -> Self {
        self.log = self.log.hook(hook);
        self
    }

    /// See [`LogLayer::redactor`].
    #[must_use]
    pub fn redactor(mut self, redactor: impl Redact + 'static) -> Self {
        self.log = self.log.redactor(redactor);
        self
    }

    /// See [`LogLayer::route`].
    #[must_use]
    pub fn route(mut self, route: impl Into<Arc<str>>) -> Self {
        self.log = self.log.route(route);
        self
    }

    /// See [`LogLayer::events`].
    #[must_use]
    pub fn events(mut self, events: bool) -> Self {
        self.log = self.log.events(events);
        self
    }

    /// See [`LogLayer::span`].
    #[must_use]
    pub fn span(mut self, span: bool) -> Self {
        self.log = self.log.span(span);
        self
    }

    /// See [`ContainLayer::deadline`].
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.contain = self.contain.deadline(deadline);
        self
    }

    /// See [`LogLayer::max_request_bytes`].
    #[cfg(feature = "http")]
    #[must_use]
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        self.log = self.log.max_request_bytes(bytes);
        self.contain = self.contain.max_request_bytes(bytes);
        self
    }

    /// See [`ContainLayer::abort_on_cancel`].
    #[must_use]
    pub fn abort_on_cancel(mut self, abort: bool) -> Self {
        self.contain = self.contain.abort_on_cancel(abort);
        self
    }
}

impl<S> Layer<S> for OutcomeLayer {
    type Service = Log<Classify<Contain<S>>>;

    fn layer(&self, inner: S) -> Self::Service {
        self.log.layer(self.classify.layer(self.contain.layer(inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_can_be_left_to_hooks() {
        let layer = |events| format!("{:?}", OutcomeLayer::new().events(events));
        assert!(layer(true).contains("events: true"));
        assert!(layer(false).contains("events: false"));
    }
}
