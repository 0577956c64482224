use std::{
    any::Any,
    error::Error,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use tower::BoxError;

use crate::{
    binding::{Gone, McpReply, WhoLeft},
    call::{Call, Hold, Seat, Verdict},
    cause,
    classify::{self, judge},
    log::ToolSpan,
    outcome::{Actor, Cause, Code},
};

pin_project! {
    /// The future of [`Log`](crate::Log).
    pub struct LogFuture<F, G, T> {
        #[pin]
        inner: F,
        #[pin]
        gone: Option<G>,
        // An answer that waits until it is known whether somebody still waits for it: rare.
        answer: Option<Box<T>>,
        // Given up once the end is known.
        seat: Option<Seat>,
        // Runs while a verdict from further in has not come out to us as an answer.
        hold: Hold,
        span: Option<ToolSpan>,
    }
}

impl<F, G, T> LogFuture<F, G, T> {
    pub(super) fn new(
        inner: F,
        gone: Option<G>,
        seat: Option<Seat>,
        span: Option<ToolSpan>,
    ) -> Self {
        Self { inner, gone, answer: None, seat, hold: Hold::default(), span }
    }
}

impl<F, G, Reply, E> Future for LogFuture<F, G, Result<Reply, E>>
where
    F: Future<Output = Result<Reply, E>>,
    G: Gone,
    Reply: McpReply,
    E: 'static,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if this.answer.is_none() {
            let unwinding = Unwinding(this.seat.as_ref());
            let inner = this.inner;
            let polled = match this.span {
                Some(span) => span.within(|| inner.poll(cx)),
                None => inner.poll(cx),
            };
            drop(unwinding);
            if let Poll::Ready(answer) = polled {
                let fired = this.gone.as_ref().as_pin_ref().is_some_and(|gone| gone.fired());
                // A layer further in may know already why.
                let is_known = || this.seat.as_ref().is_some_and(|seat| seat.call().is_left());
                if !fired || is_known() {
                    return Poll::Ready(conclude(this.seat.take(), answer));
                }
                *this.answer = Some(Box::new(answer));
            }
        }
        while let Some(gone) = this.gone.as_mut().as_pin_mut() {
            let verdict = match gone.poll_gone(cx, this.answer.is_some()) {
                Poll::Pending if this.answer.is_some() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(WhoLeft::StillServed) if this.answer.is_some() => break,
                // Polled again, so that it wakes us when it knows more.
                Poll::Ready(WhoLeft::StillServed) => continue,
                Poll::Ready(WhoLeft::Cancelled) => Verdict::cancelled(),
                Poll::Ready(WhoLeft::Gone(reason)) => Verdict::abandoned(reason),
            };
            // Logged when it comes: the handler may run on for long, or for ever.
            this.gone.set(None);
            if let Some(seat) = this.seat.take() {
                seat.call().leave(verdict);
                seat.call().close(|| Verdict::abandoned(None));
            }
        }
        if let Some(answer) = this.answer.take() {
            return Poll::Ready(conclude(this.seat.take(), *answer));
        }
        if this.seat.as_ref().is_some_and(|seat| this.hold.poll(seat.call(), cx).is_ready())
            && let Some(seat) = this.seat.take()
        {
            this.gone.set(None);
            seat.call().close(|| Verdict::abandoned(None));
        }
        Poll::Pending
    }
}

/// Judges the answer, and gives up the seat: this is the end as far as this layer can see.
fn conclude<Reply, E>(seat: Option<Seat>, answer: Result<Reply, E>) -> Result<Reply, E>
where
    Reply: McpReply,
    E: 'static,
{
    if let Some(seat) = seat {
        let call = seat.call();
        call.decide(match &answer {
            Ok(reply) => judge(call, &reply.answer()).told(call),
            Err(error) => verdict_of_error(error, call),
        });
    }
    answer
}

/// What the error of a layer further in means, looked at in passing.
pub(crate) fn verdict_of_error<E: 'static>(error: &E, call: &Call) -> Verdict {
    let policy = call.policy();
    let any: &dyn Any = error;
    let boxed = any.downcast_ref::<BoxError>().map(|error| &**error as &(dyn Error + 'static));
    match boxed {
        Some(error) => {
            let diagnosis = cause::diagnose(error, None, &policy);
            classify::fault(diagnosis.code, diagnosis.heals, diagnosis.cause, &policy)
        }
        // A type of somebody's own: all that can be told without taking it is its name.
        None => {
            let cause = Cause::new(std::any::type_name::<E>(), "");
            classify::fault(Code::INTERNAL_ERROR, None, cause, &policy)
        }
    }
}

/// Decides, should the thread unwind through this layer, that the handler panicked.
struct Unwinding<'a>(Option<&'a Seat>);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if let Some(seat) = self.0
            && std::thread::panicking()
        {
            seat.call().decide(Verdict::fault(Code::PANIC, Actor::Operator, None));
        }
    }
}

impl<F, G, T> std::fmt::Debug for LogFuture<F, G, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogFuture").field("seat", &self.seat).finish_non_exhaustive()
    }
}
