//! A layer that needs what tower promises.

use std::task::{Context, Poll};

use tower::{Layer, Service};

/// Its service must have been ready itself when it is called: a clone of it was not.
#[derive(Clone, Copy)]
pub(crate) struct NeedsReadiness;

pub(crate) struct Readied<S> {
    inner: S,
    is_ready: bool,
}

impl<S: Clone> Clone for Readied<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), is_ready: false }
    }
}

impl<S> Layer<S> for NeedsReadiness {
    type Service = Readied<S>;

    fn layer(&self, inner: S) -> Readied<S> {
        Readied { inner, is_ready: false }
    }
}

impl<S: Service<R>, R> Service<R> for Readied<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let ready = self.inner.poll_ready(cx);
        self.is_ready = ready.is_ready();
        ready
    }

    fn call(&mut self, request: R) -> S::Future {
        assert!(std::mem::take(&mut self.is_ready), "a service was called that was not ready");
        self.inner.call(request)
    }
}
