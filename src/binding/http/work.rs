//! A layer's work on one request: from the request's body to the head of the answer.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response, request, response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use super::{
    body::{Inner, ResponseBody, Watched},
    brief::{Brief, is_brief},
    duty::{Begun, Duty},
    exchange::{Exchange, Shared},
    guard::{Guard, Interrupt},
    request::{Reading, RequestBody, Sort, head},
    respond::{Followed, answer, answer_with, follow, release},
};
use crate::{
    contain::{Fault, UnknownError},
    outcome::Cause,
    ready::{Admission, Queued},
};

/// Bytes of a request's body that are read before it is handed on.
const MAX_REQUEST: usize = 4 * 1024 * 1024;

/// Why a service did not become ready.
type Unready = Result<UnknownError, Cause>;

pin_project! {
    /// A layer's work on one request. It ends with the error of the service where there is one:
    /// what becomes of that is for whoever asked.
    pub(super) struct Work<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        #[pin]
        step: Step<S, B, R>,
        duty: Option<Duty>,
        begun: Option<Begun>,
        // Rarely there, and never small.
        unready: Option<Box<Unready>>,
    }

    impl<S, B, R> PinnedDrop for Work<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let StepProjection::Holding { watched, body, .. } = this.step.as_mut().project()
                && let Some(mut watched) = watched.take()
            {
                let panic = watched.guard.drop(|| drop(body.take()));
                watched.answering.desk.report(panic);
                watched.answering.leave();
            }
            if let Some(mut begun) = this.begun.take() {
                // Those further in first: they know whether the answer has gone by.
                let panic = begun.guard.drop(|| this.step.set(Step::Done));
                begun.desk.report(panic);
                if begun.desk.is_owner {
                    begun.desk.leave();
                }
            }
        }
    }
}

pin_project! {
    #[project = StepProjection]
    enum Step<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        Reading { reading: Option<Reading<B>>, parts: Option<request::Parts>, service: Option<Queued<S>> },
        Calling { #[pin] answer: Admission<S, Request<RequestBody<B>>> },
        // All of a short answer is waited for.
        Brief { #[pin] body: R, parts: Option<response::Parts>, brief: Brief },
        // The head waits for what the body says.
        Holding { parts: Option<response::Parts>, body: Option<Pin<Box<R>>>, watched: Option<Box<Watched>> },
        Failed { fault: Option<Fault> },
        Done,
    }
}

impl<S, B, R> Work<S, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    B: Body,
    B::Error: Into<BoxError>,
{
    /// Begins it, unless there is something else to be answered.
    #[inline]
    pub(super) fn new(
        inner: &mut Queued<S>,
        unready: Option<Unready>,
        duty: Duty,
        request: Request<B>,
    ) -> Self {
        if let Some(Shared(exchange)) = request.extensions().get() {
            let begun = duty.begin(Arc::clone(exchange), false);
            let request = request.map(RequestBody::untouched);
            return Self::calling(Some(begun), inner, unready, request);
        }
        if !duty.is_needed() {
            return Self::calling(None, inner, unready, request.map(RequestBody::untouched));
        }
        let (mut parts, body) = request.into_parts();
        let sort = Sort::of(&parts);
        if sort == Sort::Messages {
            // Cloning a service is its author's code.
            let (service, unready) = match Guard::new(duty.contains).run(|| inner.take()) {
                Ok(service) => (Some(service), unready),
                Err(cause) => (None, unready.or(Some(Err(cause)))),
            };
            let step = Step::Reading {
                reading: Some(Reading::new(body, duty.max_request_bytes.unwrap_or(MAX_REQUEST))),
                parts: Some(parts),
                service,
            };
            let unready = unready.map(Box::new);
            return Self { step, duty: Some(duty), begun: None, unready };
        }
        let exchange = Arc::new(duty.exchange_by_head(sort, &parts));
        share(&exchange, &mut parts);
        let begun = duty.begin(exchange, true);
        let request = Request::from_parts(parts, RequestBody::untouched(body));
        Self::calling(Some(begun), inner, unready, request)
    }

    /// What is still to be done about a request whose service has failed.
    pub(super) fn take_begun(self: Pin<&mut Self>) -> Option<Begun> {
        self.project().begun.take()
    }

    fn calling(
        begun: Option<Begun>,
        inner: &mut Queued<S>,
        unready: Option<Unready>,
        request: Request<RequestBody<B>>,
    ) -> Self {
        let mut begun = begun;
        let step = match &mut begun {
            Some(begun) => begun.call(Some(inner), unready, request),
            None => Step::Calling { answer: inner.call(request) },
        };
        Self { step, duty: None, begun, unready: None }
    }
}

impl<S, B, R> Future for Work<S, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.step.as_mut().project() {
                StepProjection::Reading { reading, parts, service } => {
                    let Some(body) = reading else { return Poll::Pending };
                    // The body is a layer's of somebody else, or the server's.
                    let contains = this.duty.as_ref().is_some_and(|duty| duty.contains);
                    let mut guard = Guard::new(contains);
                    let panic = match guard.run(|| body.poll_read(cx)) {
                        Ok(Poll::Ready(())) => None,
                        Ok(Poll::Pending) => return Poll::Pending,
                        Err(cause) => Some(Err(cause)),
                    };
                    let (Some(reading), Some(mut parts), Some(duty)) =
                        (reading.take(), parts.take(), this.duty.take())
                    else {
                        return Poll::Pending;
                    };
                    let mut service = service.take();
                    let exchange = Arc::new(duty.exchange(&parts, &reading));
                    share(&exchange, &mut parts);
                    let body = reading.replay(&exchange);
                    let mut begun = duty.begin(exchange, true);
                    let request = Request::from_parts(parts, body);
                    let unready = panic.or(this.unready.take().map(|unready| *unready));
                    let step = begun.call(service.as_mut(), unready, request);
                    let stray = begun.guard.drop(|| drop(service));
                    begun.desk.report(stray);
                    *this.begun = Some(begun);
                    this.step.set(step);
                }
                StepProjection::Calling { answer: inner } => {
                    let Some(begun) = this.begun.as_mut() else {
                        let response = ready!(inner.poll(cx));
                        return Poll::Ready(
                            response.map(|response| response.map(ResponseBody::untouched)),
                        );
                    };
                    let mut polled = Poll::Pending;
                    let panic = begun.run(|| polled = inner.poll(cx)).err();
                    let ended = match (panic, polled) {
                        (Some(cause), _) => Err(Fault::panic(cause)),
                        (None, Poll::Ready(answer)) => Ok(answer),
                        (None, Poll::Pending) => {
                            match begun.guard.poll_pending(&mut begun.desk, cx) {
                                Some(Interrupt::Late(fault) | Interrupt::Unwanted(fault)) => {
                                    Err(fault)
                                }
                                None => return Poll::Pending,
                            }
                        }
                    };
                    // What the finished or abandoned work still holds is dropped before the answer
                    // goes out: a destructor that panicked later would take it along.
                    let stray = begun.guard.drop(|| this.step.set(Step::Done));
                    begun.desk.report(stray);
                    let ended = match ended {
                        Ok(Err(error)) => return Poll::Ready(Err(error)),
                        Ok(Ok(response)) => Ok(response),
                        Err(fault) => Err(fault),
                    };
                    let Some(begun) = this.begun.take() else { return Poll::Pending };
                    let (parts, body) = match ended {
                        Ok(response) => response.into_parts(),
                        Err(fault) => return Poll::Ready(Ok(answer(begun, &fault))),
                    };
                    if is_brief(&parts, &body, &begun.desk) {
                        *this.begun = Some(begun);
                        let brief = Brief::default();
                        this.step.set(Step::Brief { body, parts: Some(parts), brief });
                        continue;
                    }
                    match follow(parts, body, begun) {
                        Followed::Response(response) => return Poll::Ready(Ok(response)),
                        Followed::Holding { parts, body, watched } => {
                            this.step.set(Step::Holding {
                                parts: Some(parts),
                                body: Some(body),
                                watched: Some(watched),
                            });
                        }
                    }
                }
                StepProjection::Brief { body, parts, brief } => {
                    let Some(begun) = this.begun.as_mut() else { return Poll::Pending };
                    let ended = match begun.run(|| brief.poll(body, cx)) {
                        Ok(Poll::Ready(ended)) => ended,
                        Ok(Poll::Pending) => match begun.guard.poll_pending(&mut begun.desk, cx) {
                            Some(Interrupt::Late(fault) | Interrupt::Unwanted(fault)) => Err(fault),
                            None => return Poll::Pending,
                        },
                        Err(cause) => Err(Fault::panic(cause)),
                    };
                    let (parts, brief) = (parts.take(), std::mem::take(brief));
                    let stray = begun.guard.drop(|| this.step.set(Step::Done));
                    begun.desk.report(stray);
                    let (Some(parts), Some(begun)) = (parts, this.begun.take()) else {
                        return Poll::Pending;
                    };
                    return Poll::Ready(Ok(match ended {
                        Ok(()) => brief.release(parts, begun),
                        Err(fault) => answer_with(parts, begun.desk, begun.guard, &fault),
                    }));
                }
                StepProjection::Holding { parts, body, watched } => {
                    let (Some(inner), Some(held)) = (body.as_mut(), watched.as_mut()) else {
                        return Poll::Pending;
                    };
                    if held.answering.holds_head() {
                        ready!(held.advance(inner.as_mut(), cx));
                        continue;
                    }
                    let (Some(parts), Some(body), Some(watched)) =
                        (parts.take(), body.take(), watched.take())
                    else {
                        return Poll::Pending;
                    };
                    return Poll::Ready(Ok(release(parts, Inner::Boxed { body }, watched)));
                }
                StepProjection::Failed { fault } => {
                    let (Some(fault), Some(begun)) = (fault.take(), this.begun.take()) else {
                        return Poll::Pending;
                    };
                    return Poll::Ready(Ok(answer(begun, &fault)));
                }
                StepProjection::Done => return Poll::Pending,
            }
        }
    }
}

/// Lets layers further in, and the handler, find what is known of the request.
fn share(exchange: &Arc<Exchange>, parts: &mut request::Parts) {
    if exchange.sort != Sort::Foreign {
        head::ask_for_identity(&mut parts.headers);
    }
    if exchange.is_unread() {
        return;
    }
    if let [message] = exchange.messages() {
        parts.extensions.insert(message.call.clone());
    }
    parts.extensions.insert(Shared(Arc::clone(exchange)));
}

impl Begun {
    /// Hands the request on, unless there is something else to be answered.
    fn call<S, B, R>(
        &mut self,
        inner: Option<&mut Queued<S>>,
        unready: Option<Unready>,
        request: Request<RequestBody<B>>,
    ) -> Step<S, B, R>
    where
        S: Service<Request<RequestBody<B>>> + Clone,
    {
        let (None, Some(inner)) = (&unready, inner) else {
            let panic = self.guard.drop(|| drop(request));
            self.desk.report(panic);
            let fault = unready.map(|unready| Fault::of(unready, self.desk.seats.calls().next()));
            return Step::Failed { fault };
        };
        // A service's synchronous part runs here, before there is a future.
        let called = self.run(|| inner.call(request));
        self.arm();
        match called {
            Ok(answer) => Step::Calling { answer },
            Err(cause) => Step::Failed { fault: Some(Fault::panic(cause)) },
        }
    }

    /// Runs code of the service; `Err` is its panic, where the layer contains.
    fn run<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, Cause> {
        let unwinding = super::answer::Unwinding(&mut self.desk);
        let result = self.guard.run(work);
        drop(unwinding);
        result
    }
}
