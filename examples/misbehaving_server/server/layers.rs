//! The layer, and a timeout inside of it for the one call that is to be cut short.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tower::{BoxError, Layer, Service, timeout::Timeout};
use tower_outcome::OutcomeLayer;

use super::trouble::Asked;

/// The layer of this crate, with a deadline if there is one.
pub(crate) fn layer(deadline: Option<Duration>) -> OutcomeLayer {
    match deadline {
        Some(deadline) => OutcomeLayer::new().deadline(deadline),
        None => OutcomeLayer::new(),
    }
}

const LIMIT: Duration = Duration::from_millis(200);

/// A timeout for `panic` with `when: local_drop` alone; every other call takes the time it takes.
#[derive(Clone, Copy)]
pub(crate) struct CutLocalDropShort;

impl<S: Clone> Layer<S> for CutLocalDropShort {
    type Service = CutShort<S>;

    fn layer(&self, inner: S) -> CutShort<S> {
        CutShort { limited: Timeout::new(inner.clone(), LIMIT), unlimited: inner }
    }
}

#[derive(Clone)]
pub(crate) struct CutShort<S> {
    limited: Timeout<S>,
    unlimited: S,
}

impl<S, R> Service<R> for CutShort<S>
where
    R: Asked,
    S: Service<R>,
    S::Response: 'static,
    S::Error: Into<BoxError> + 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        ready!(self.limited.poll_ready(cx))?;
        self.unlimited.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        if request.panics("local_drop") {
            // Not an `async` block with a timeout in it: that would drop what it cut short, and
            // so panic, before it could say that it was a timeout.
            return Box::pin(self.limited.call(request));
        }
        let answer = self.unlimited.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}
