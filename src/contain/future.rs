use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use tower::BoxError;

use crate::{
    binding::{Gone, McpReply, WhoLeft},
    call::{Call, Cause, Failure, Kind, Seat, Verdict},
    classify::judge,
    contain::Fault,
    outcome::{Actor, Code},
    tool_error::Rendering,
    unwind,
};

pin_project! {
    /// The future of [`Contain`](crate::Contain).
    pub struct ContainFuture<F, G> {
        #[pin]
        inner: Option<F>,
        // What there is to answer with where there is no inner future.
        fault: Option<Fault>,
        kind: Kind,
        seat: Option<Seat>,
        deadline: Option<Instant>,
        deadline_after: Duration,
        // Made at the first pending poll: most calls never need the timer.
        timer: Option<Pin<Box<Sleep>>>,
        #[pin]
        gone: Option<G>,
    }

    impl<F, G> PinnedDrop for ContainFuture<F, G> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let (Err(cause), Some(seat)) =
                (unwind::catch(|| this.inner.set(None)), this.seat.as_ref())
            {
                report_stray_panic(seat.call(), cause);
            }
        }
    }
}

impl<F, G> ContainFuture<F, G> {
    pub(super) fn new(
        inner: Result<F, Fault>,
        kind: Kind,
        seat: Seat,
        deadline: Option<Duration>,
        gone: Option<G>,
    ) -> Self {
        let (inner, fault) = match inner {
            Ok(inner) => (Some(inner), None),
            Err(fault) => (None, Some(fault)),
        };
        Self {
            inner,
            fault,
            kind,
            seat: Some(seat),
            // A deadline past what the clock can tell is none.
            deadline: deadline.and_then(|after| Instant::now().checked_add(after)),
            deadline_after: deadline.unwrap_or_default(),
            timer: None,
            gone,
        }
    }
}

impl<F, G, Reply, E> Future for ContainFuture<F, G>
where
    F: Future<Output = Result<Reply, E>>,
    G: Gone,
    Reply: McpReply,
    E: Into<BoxError>,
{
    type Output = Result<Reply, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let ended = match this.inner.as_mut().as_pin_mut() {
            Some(inner) => match unwind::catch(|| inner.poll(cx)) {
                Ok(Poll::Ready(Ok(reply))) => Ok(reply),
                Ok(Poll::Ready(Err(error))) => {
                    Err(Ended::Fault(Fault::error(error, this.seat.as_ref().map(Seat::call))))
                }
                Err(cause) => Err(Ended::Fault(Fault::panic(cause))),
                Ok(Poll::Pending) => {
                    if let Some(end) = cut_short(this.gone, this.deadline, this.timer, cx) {
                        Err(match end {
                            CutShort::Deadline => {
                                Ended::Fault(Fault::deadline(*this.deadline_after))
                            }
                            CutShort::Left(verdict) => Ended::Left(verdict),
                        })
                    } else {
                        return Poll::Pending;
                    }
                }
            },
            None => match this.fault.take() {
                Some(fault) => Err(Ended::Fault(fault)),
                None => return Poll::Pending,
            },
        };
        // What the finished or abandoned work still holds is dropped in here, before the answer
        // goes out: a destructor that panicked later would take the answer with it.
        let dropped = unwind::catch(|| this.inner.set(None));
        let Some(seat) = this.seat.take() else {
            return Poll::Pending;
        };
        Poll::Ready(Ok(conclude(ended, dropped.err(), *this.kind, seat.call())))
    }
}

enum CutShort {
    Deadline,
    Left(Verdict),
}

enum Ended {
    Fault(Fault),
    Left(Verdict),
}

/// Whether work that is still pending ends here.
fn cut_short<G: Gone>(
    mut gone: Pin<&mut Option<G>>,
    deadline: &Option<Instant>,
    timer: &mut Option<Pin<Box<Sleep>>>,
    cx: &mut Context<'_>,
) -> Option<CutShort> {
    while let Some(watch) = gone.as_mut().as_pin_mut() {
        match watch.poll_gone(cx, false) {
            Poll::Pending => break,
            // Polled again, so that it wakes us when it knows more.
            Poll::Ready(WhoLeft::StillServed) => {}
            Poll::Ready(WhoLeft::Cancelled) => return Some(CutShort::Left(Verdict::cancelled())),
            Poll::Ready(WhoLeft::Gone(reason)) => {
                return Some(CutShort::Left(Verdict::abandoned(reason)));
            }
        }
    }
    let deadline = (*deadline)?;
    let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
    timer.as_mut().poll(cx).is_ready().then_some(CutShort::Deadline)
}

fn conclude<Reply: McpReply>(
    ended: Result<Reply, Ended>,
    stray: Option<Cause>,
    kind: Kind,
    call: &Call,
) -> Reply {
    match ended {
        Ok(reply) => {
            if let Some(cause) = stray {
                report_stray_panic(call, cause);
            }
            let judgement = judge(call, &reply.answer());
            if !judgement.withhold {
                if judgement.verdict.failure().is_some() {
                    call.decide(judgement.verdict);
                }
                return reply;
            }
            let rendering = Rendering::fault(kind, None, call.id());
            call.decide(judgement.verdict.with_error(rendering.text.clone()));
            Reply::failure(kind, rendering)
        }
        Err(Ended::Fault(mut fault)) => {
            if let Some(cause) = stray {
                fault.also(&cause);
            }
            let rendering = Rendering::fault(kind, fault.heals(), call.id());
            call.decide(fault.into_verdict(call).with_error(rendering.text.clone()));
            Reply::failure(kind, rendering)
        }
        Err(Ended::Left(verdict)) => {
            call.decide(verdict);
            if let Some(cause) = stray {
                report_stray_panic(call, cause);
            }
            // Nobody reads it.
            Reply::failure(kind, Rendering::fault(kind, None, call.id()))
        }
    }
}

/// A destructor panicked beside an end that stands: no terminal line says so.
fn report_stray_panic(call: &Call, cause: Cause) {
    call.report(Failure {
        code: Code::PANIC,
        actor: Some(Actor::Operator),
        level: Actor::Operator.default_level(),
        retryable: Some(Actor::Operator.retryable()),
        error: None,
        reference: None,
        cause: Some(cause),
    });
}

impl<F, G> std::fmt::Debug for ContainFuture<F, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContainFuture").field("kind", &self.kind).finish_non_exhaustive()
    }
}
