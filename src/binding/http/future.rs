//! The futures of the layers: what becomes of the errors of the wrapped service.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower::BoxError;
use tower_service::Service;

use super::{
    body::ResponseBody,
    request::RequestBody,
    respond::{answer, empty},
    work::Work,
};
use crate::{
    contain::{Fault, UnknownError},
    log::verdict_of_error,
};

pin_project! {
    /// The future of a layer that only watches: the errors of the wrapped service pass.
    pub struct ResponseFuture<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        #[pin]
        work: Work<S, B, R>,
    }
}

pin_project! {
    /// The future of a layer that contains: the errors of the wrapped service are answered.
    pub struct ContainedFuture<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        #[pin]
        work: Work<S, B, R>,
    }
}

impl<S, B, R> ResponseFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>>,
{
    #[inline]
    pub(super) fn new(work: Work<S, B, R>) -> Self {
        Self { work }
    }
}

impl<S, B, R> ContainedFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>>,
{
    #[inline]
    pub(super) fn new(work: Work<S, B, R>) -> Self {
        Self { work }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    S::Error: 'static,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut work = self.project().work;
        let answer = ready!(work.as_mut().poll(cx));
        if let Err(error) = &answer
            && let Some(mut begun) = work.take_begun()
            && !begun.desk.only_configures()
        {
            begun.desk.decide_all(|call| verdict_of_error(error, call));
        }
        Poll::Ready(answer)
    }
}

impl<S, B, R> Future for ContainedFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Output = Result<Response<ResponseBody<R>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut work = self.project().work;
        let error = match ready!(work.as_mut().poll(cx)) {
            Ok(response) => return Poll::Ready(Ok(response)),
            Err(error) => UnknownError::new(error),
        };
        Poll::Ready(Ok(match work.take_begun() {
            Some(begun) => {
                let fault = Fault::of(error, begun.desk.seats.calls().next());
                answer(begun, &fault)
            }
            // There is always one where errors are answered.
            None => empty(),
        }))
    }
}

impl<S, B, R> fmt::Debug for ResponseFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

impl<S, B, R> fmt::Debug for ContainedFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainedFuture").finish_non_exhaustive()
    }
}
