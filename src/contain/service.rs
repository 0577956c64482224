use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use tower::BoxError;
use tower_service::Service;

use crate::{
    binding::{self, McpRequest},
    call::{Call, Scoped, Seat},
    contain::{ContainFuture, Fault, UnknownError, future::Asked, layer::Settings},
    macros::accessors,
    outcome::Cause,
    ready::{Admission, Queued},
    target, unwind,
};

/// The service of [`ContainLayer`](crate::ContainLayer).
#[derive(Debug)]
pub struct Contain<S> {
    pub(crate) inner: Queued<S>,
    pub(crate) settings: Settings,
    /// Why the inner service could not become ready: the next call is answered with that.
    pub(crate) unready: Option<Result<UnknownError, Cause>>,
}

impl<S: Clone> Clone for Contain<S> {
    fn clone(&self) -> Self {
        // What kept this service from becoming ready is not the clone's.
        Self { inner: self.inner.clone(), settings: self.settings.clone(), unready: None }
    }
}

impl<S> Contain<S> {
    pub(super) fn new(inner: S, settings: Settings) -> Self {
        Self { inner: Queued::new(inner), settings, unready: None }
    }

    /// Ready at once; what kept the inner service from it is the answer to the next request.
    pub(crate) fn poll_inner_ready<R>(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Infallible>>
    where
        S: Service<R>,
        S::Error: Into<BoxError>,
    {
        if self.unready.is_some() {
            return Poll::Ready(Ok(()));
        }
        self.unready = match unwind::catch(|| self.inner.poll_ready(cx)) {
            Ok(Poll::Ready(Ok(())) | Poll::Pending) => None,
            Ok(Poll::Ready(Err(error))) => Some(UnknownError::new(error)),
            Err(cause) => Some(Err(cause)),
        };
        Poll::Ready(Ok(()))
    }

    accessors!(self => self.inner.get_ref(), self.inner.get_mut(), self.inner.into_inner());
}

impl<R, S> Service<R> for Contain<S>
where
    R: McpRequest,
    S: Service<R, Response = R::Reply> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = R::Reply;
    type Error = Infallible;
    type Future = ContainFuture<Scoped<Admission<S, R>>, R::Gone>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll_inner_ready(cx)
    }

    fn call(&mut self, mut request: R) -> Self::Future {
        target::cannot_contain();
        let policy = &self.settings.policy;
        let is_needed = policy.is_some() || target::are_calls_needed();
        let call = binding::call_of(&mut request, is_needed);
        if let (Some(call), Some(policy)) = (&call, policy) {
            call.set_policy(policy);
        }
        let (kind, id) = (request.kind(), request.id());
        let seat = call.map(Call::sit);
        let gone = self.settings.abort_on_cancel.then(|| request.gone());
        let inner = match self.unready.take() {
            Some(reason) => {
                unwind::drop_shielded(request);
                Err(Fault::of(reason, seat.as_ref().map(Seat::call)))
            }
            // A handler's synchronous part runs here, before there is a future.
            None => {
                let call = seat.as_ref().map(Seat::call).filter(|_| !R::IS_SCOPED).cloned();
                unwind::catch(|| binding::scoped::<R, _>(call, kind, self.inner.call(request)))
                    .map_err(Fault::panic)
            }
        };
        // Asked only now: a layer further in may have given the call its policy meanwhile.
        let of_policy = || seat.as_ref().and_then(|seat| seat.call().policy().deadline_after());
        let deadline =
            if kind.is_tool() { self.settings.deadline.or_else(of_policy) } else { None };
        ContainFuture::new(inner, Asked { kind, id }, seat, deadline, gone)
    }
}
