use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    binding::{self, McpReply, McpRequest},
    call::{Call, Seat},
    classify::judge,
    macros::accessors,
    policy::Policy,
    ready::Queued,
    target,
};

/// The service of [`ClassifyLayer`](crate::ClassifyLayer).
#[derive(Clone, Debug)]
pub struct Classify<S> {
    // Ready or not matters to HTTP, where a body is read before the call.
    pub(crate) inner: Queued<S>,
    pub(crate) policy: Option<Arc<Policy>>,
}

impl<S> Classify<S> {
    pub(super) fn new(inner: S, policy: Option<Arc<Policy>>) -> Self {
        Self { inner: Queued::new(inner), policy }
    }

    accessors!(self => self.inner.get_ref(), self.inner.get_mut(), self.inner.into_inner());
}

impl<R, S> Service<R> for Classify<S>
where
    R: McpRequest,
    S: Service<R, Response = R::Reply>,
{
    type Response = R::Reply;
    type Error = S::Error;
    type Future = ClassifyFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.get_mut().poll_ready(cx)
    }

    fn call(&mut self, mut request: R) -> Self::Future {
        let is_needed = self.policy.is_some() || target::are_calls_needed();
        let call = binding::call_of(&mut request, is_needed);
        if let (Some(call), Some(policy)) = (&call, &self.policy) {
            call.set_policy(policy);
        }
        let seat = call.map(Call::sit);
        ClassifyFuture { inner: self.inner.get_mut().call(request), seat }
    }
}

pin_project! {
    /// The future of [`Classify`].
    #[derive(Debug)]
    pub struct ClassifyFuture<F> {
        #[pin]
        inner: F,
        seat: Option<Seat>,
    }
}

impl<F, Reply, E> Future for ClassifyFuture<F>
where
    F: Future<Output = Result<Reply, E>>,
    Reply: McpReply,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(cx));
        if let (Some(seat), Ok(reply)) = (this.seat.take(), &answer) {
            let answer = reply.answer();
            // An end that is no failure is for the layers further out to decide.
            if !answer.is_plain_success() {
                let verdict = judge(seat.call(), &answer).verdict;
                if verdict.failure().is_some() {
                    seat.call().decide(verdict);
                }
            }
        }
        Poll::Ready(answer)
    }
}
