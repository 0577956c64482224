use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;
use tower::BoxError;

use crate::{
    binding::{Answer, Gone, McpReply, WhoLeft},
    call::{Call, Kind, RequestId, Seat, Verdict},
    classify::{Judgement, judge},
    contain::{Fault, UnknownError},
    outcome::{Actor, Cause, Code, Outcome},
    timer::Deadline,
    tool_error::Rendering,
    unwind,
};

pin_project! {
    /// The future of [`Contain`](crate::Contain).
    pub struct ContainFuture<F, G> {
        #[pin]
        inner: Option<F>,
        // What there is to answer with where there is no inner future.
        fault: Option<Box<Fault>>,
        asked: Asked,
        seat: Option<Seat>,
        limits: Option<Pin<Box<Limits<G>>>>,
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

pin_project! {
    // What may cut the work short. Off by default, and then not there.
    struct Limits<G> {
        deadline: Option<Deadline>,
        #[pin]
        gone: Option<G>,
    }
}

impl<F, G> ContainFuture<F, G> {
    pub(super) fn new(
        inner: Result<F, Fault>,
        asked: Asked,
        seat: Option<Seat>,
        deadline: Option<Duration>,
        gone: Option<G>,
    ) -> Self {
        let (inner, fault) = match inner {
            Ok(inner) => (Some(inner), None),
            Err(fault) => (None, Some(Box::new(fault))),
        };
        let deadline = deadline.and_then(Deadline::after);
        let limits =
            (deadline.is_some() || gone.is_some()).then(|| Box::pin(Limits { deadline, gone }));
        Self { inner, fault, asked, seat, limits }
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
        let Some(inner) = this.inner.as_mut().as_pin_mut() else {
            let Some(fault) = this.fault.take() else {
                return Poll::Pending;
            };
            let ended = Err(Ended::Fault(*fault));
            return Poll::Ready(Ok(conclude(ended, None, this.asked, this.seat)));
        };
        // Written to where it is needed: answers are large, and returning one copies it.
        let mut polled = Poll::Pending;
        let panic = unwind::catch(|| polled = inner.poll(cx)).err();
        let ended = match (panic, polled) {
            (None, Poll::Ready(Ok(reply))) => Ok(reply),
            (None, Poll::Ready(Err(error))) => {
                let call = this.seat.as_ref().map(Seat::call);
                Err(Ended::Fault(Fault::of(UnknownError::new(error), call)))
            }
            (None, Poll::Pending) => {
                match this.limits.as_mut().and_then(|limits| cut_short(limits.as_mut(), cx)) {
                    Some(end) => Err(end),
                    None => return Poll::Pending,
                }
            }
            (Some(cause), _) => Err(Ended::Fault(Fault::panic(cause))),
        };
        // What the finished or abandoned work still holds is dropped in here, before the answer
        // goes out: a destructor that panicked later would take the answer with it.
        let stray = unwind::catch(|| this.inner.set(None)).err();
        match ended {
            Ok(reply) if stray.is_none() && reply.answer().is_plain_success() => {
                this.seat.take();
                Poll::Ready(Ok(reply))
            }
            ended => Poll::Ready(Ok(conclude(ended, stray, this.asked, this.seat))),
        }
    }
}

/// What there has to be an answer to.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) id: Option<RequestId>,
}

enum Ended {
    Fault(Fault),
    Left(Verdict),
}

/// Whether work that is still pending ends here.
fn cut_short<G: Gone>(limits: Pin<&mut Limits<G>>, cx: &mut Context<'_>) -> Option<Ended> {
    let mut limits = limits.project();
    while let Some(watch) = limits.gone.as_mut().as_pin_mut() {
        match watch.poll_gone(cx, false) {
            Poll::Pending => break,
            // Polled again, so that it wakes us when it knows more.
            Poll::Ready(WhoLeft::StillServed) => {}
            Poll::Ready(WhoLeft::Cancelled) => return Some(Ended::Left(Verdict::cancelled())),
            Poll::Ready(WhoLeft::Gone(reason)) => {
                return Some(Ended::Left(Verdict::abandoned(reason)));
            }
        }
    }
    match Pin::new(limits.deadline.as_mut()?).poll(cx) {
        Poll::Ready(after) => Some(Ended::Fault(Fault::deadline(after))),
        Poll::Pending => None,
    }
}

/// The answer where it is anything but a success, and the verdict that goes with it.
#[cold]
fn conclude<Reply: McpReply>(
    ended: Result<Reply, Ended>,
    stray: Option<Cause>,
    asked: &Asked,
    seat: &mut Option<Seat>,
) -> Reply {
    let Asked { kind, id } = asked;
    let kind = *kind;
    // Nobody has needed a call so far; a failure has to have a name to refer to, and a line should
    // somebody listen by now.
    let seat = seat.take().unwrap_or_else(|| Call::begin(kind, "".into(), None, None).sit());
    let call = seat.call();
    match ended {
        Ok(reply) => {
            if let Some(cause) = stray {
                report_stray_panic(call, cause);
            }
            let answer = reply.answer();
            let is_about_task = matches!(answer, Answer::Task(_));
            let judgement = judge(call, &answer);
            if !judgement.withhold {
                let verdict = judgement.told(call);
                // What is no failure is for layers further out to decide, but for a task, which is
                // remembered by what is decided.
                if verdict.failure().is_some() || verdict.outcome() == Outcome::Deferred {
                    call.decide(verdict);
                }
                return reply;
            }
            withhold(reply, judgement, is_about_task, asked, call)
        }
        Err(Ended::Fault(mut fault)) => {
            // Of a call that nobody waits for any more, a deadline tells nothing.
            let is_noise = fault.is_deadline() && call.is_closed();
            match stray {
                Some(cause) if is_noise => report_stray_panic(call, cause),
                Some(cause) => fault.also(&cause),
                None => {}
            }
            let rendering = fault.rendering(kind, call.id());
            if !is_noise {
                call.decide(fault.into_verdict(call).told(rendering.text.clone()));
            }
            Reply::failure(kind, id.as_ref(), rendering)
        }
        Err(Ended::Left(verdict)) => {
            call.leave(verdict);
            if let Some(cause) = stray {
                report_stray_panic(call, cause);
            }
            // Nobody reads it.
            Reply::failure(kind, id.as_ref(), Rendering::fault(kind, None, call.id()))
        }
    }
}

/// The reply with the fixed text in the place of what is not for the client.
fn withhold<Reply: McpReply>(
    reply: Reply,
    judgement: Judgement,
    is_about_task: bool,
    Asked { kind, id }: &Asked,
    call: &Call,
) -> Reply {
    let Judgement { verdict, answer_as, task, .. } = judgement;
    let Some(task) = task else {
        let rendering = Rendering::fault(*kind, None, call.id());
        call.decide(verdict.told(rendering.text.clone()));
        return Reply::failure(*kind, id.as_ref(), rendering);
    };
    let rendering = task.withheld();
    if is_about_task {
        reply.with_task_end(id.as_ref(), rendering)
    } else {
        Reply::failure(answer_as.unwrap_or(*kind), id.as_ref(), rendering)
    }
}

/// A destructor panicked beside an end that stands: no terminal line says so.
fn report_stray_panic(call: &Call, cause: Cause) {
    call.report(Verdict::fault(Code::PANIC, Actor::Operator, Some(cause)));
}

impl<F, G> std::fmt::Debug for ContainFuture<F, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContainFuture").field("asked", &self.asked).finish_non_exhaustive()
    }
}
