//! The three layers in one.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    binding::McpRequest,
    classify::{Classify, ClassifyLayer},
    contain::{Contain, ContainLayer},
    log::{Log, LogLayer, OnOutcome},
    macros::accessors,
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
    type Service = OutcomeService<S>;

    fn layer(&self, inner: S) -> OutcomeService<S> {
        OutcomeService { stack: self.log.layer(self.classify.layer(self.contain.layer(inner))) }
    }
}

/// The service of [`OutcomeLayer`].
///
/// Round a typed service it is the three in one another; round an HTTP service it does the work of
/// the three at once, so that an answer is read once and handed on once.
#[derive(Clone, Debug)]
pub struct OutcomeService<S> {
    pub(crate) stack: Log<Classify<Contain<S>>>,
}

impl<S> OutcomeService<S> {
    accessors!(
        self => self.stack.get_ref().get_ref().get_ref(),
        self.stack.get_mut().get_mut().get_mut(),
        self.stack.into_inner().into_inner().into_inner()
    );
}

impl<R, S> Service<R> for OutcomeService<S>
where
    R: McpRequest,
    S: Service<R, Response = R::Reply> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = R::Reply;
    type Error = Infallible;
    type Future = <Log<Classify<Contain<S>>> as Service<R>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<R>::poll_ready(&mut self.stack, cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.stack.call(request)
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
