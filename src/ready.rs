//! Takes a request before the service is ready for it.
//!
//! A request that waits outside of a layer does not exist for it: it could be neither logged nor
//! answered while it waits for a limit, and a deadline would begin when the wait is over. So our
//! layers are ready at once, and what they make of a request waits in its future.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower_service::Service;

/// A service that is always ready, except that its errors pass.
#[derive(Debug)]
pub(crate) struct Queued<S> {
    inner: S,
    is_ready: bool,
}

impl<S> Queued<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, is_ready: false }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.inner
    }

    pub(crate) fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    pub(crate) fn into_inner(self) -> S {
        self.inner
    }

    pub(crate) fn poll_ready<R>(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>>
    where
        S: Service<R>,
    {
        match self.inner.poll_ready(cx) {
            Poll::Ready(result) => {
                self.is_ready = result.is_ok();
                Poll::Ready(result)
            }
            Poll::Pending => {
                self.is_ready = false;
                Poll::Ready(Ok(()))
            }
        }
    }

    /// This service, as ready as it is; a clone takes its place.
    #[cfg(feature = "http")]
    pub(crate) fn take(&mut self) -> Self
    where
        S: Clone,
    {
        let clone = self.clone();
        std::mem::replace(self, clone)
    }

    pub(crate) fn call<R>(&mut self, request: R) -> Admission<S, R>
    where
        S: Service<R> + Clone,
    {
        if std::mem::take(&mut self.is_ready) {
            return Admission::Admitted { future: self.inner.call(request) };
        }
        // The one that has begun to become ready waits on; the clone takes its place.
        let clone = self.inner.clone();
        Admission::new(std::mem::replace(&mut self.inner, clone), request)
    }
}

/// Whether a service was ready is not its clone's.
impl<S: Clone> Clone for Queued<S> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone())
    }
}

pin_project! {
    /// A request that waits until its service is ready, and is then what the service makes of it.
    #[project = AdmissionProjection]
    pub enum Admission<S: Service<R>, R> {
        #[doc(hidden)]
        Waiting { service: S, request: Option<R> },
        #[doc(hidden)]
        Admitted { #[pin] future: S::Future },
    }
}

impl<S: Service<R>, R> Admission<S, R> {
    pub(crate) fn new(service: S, request: R) -> Self {
        Self::Waiting { service, request: Some(request) }
    }
}

impl<S: Service<R>, R> Future for Admission<S, R> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let future = match self.as_mut().project() {
                AdmissionProjection::Waiting { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    match request.take() {
                        // The one that is called is the one that was ready.
                        Some(request) => service.call(request),
                        None => return Poll::Pending,
                    }
                }
                AdmissionProjection::Admitted { future } => return future.poll(cx),
            };
            self.set(Self::Admitted { future });
        }
    }
}

impl<S: Service<R>, R> std::fmt::Debug for Admission<S, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}
