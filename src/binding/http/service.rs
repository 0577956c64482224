//! The layers as services of HTTP.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use tower::BoxError;
use tower_service::Service;

use super::{
    body::ResponseBody,
    duty::Duty,
    future::{ContainedFuture, ResponseFuture},
    request::RequestBody,
    work::Work,
};
use crate::{
    classify::Classify, contain::Contain, log::Log, outcome_layer::OutcomeService, target,
};

impl<S, B, R> Service<Request<B>> for Log<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    S::Error: 'static,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let duty = Duty::default().logging(Arc::clone(&self.logging));
        ResponseFuture::new(Work::new(&mut self.inner, None, duty, request))
    }
}

impl<S, B, R> Service<Request<B>> for Classify<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    S::Error: 'static,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let duty = Duty { policy: self.policy.clone(), ..Duty::default() };
        ResponseFuture::new(Work::new(&mut self.inner, None, duty, request))
    }
}

impl<S, B, R> Service<Request<B>> for Contain<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = Infallible;
    type Future = ContainedFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll_inner_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        target::cannot_contain();
        let duty = Duty::containing(&self.settings);
        ContainedFuture::new(Work::new(&mut self.inner, self.unready.take(), duty, request))
    }
}

impl<S, B, R> Service<Request<B>> for OutcomeService<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body,
    B::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = Infallible;
    type Future = ContainedFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.stack.get_mut().get_mut().poll_inner_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        target::cannot_contain();
        let logging = Arc::clone(&self.stack.logging);
        let classify = self.stack.get_mut();
        let policy = classify.policy.clone();
        let contain = classify.get_mut();
        let duty = Duty { policy, ..Duty::containing(&contain.settings) }.logging(logging);
        ContainedFuture::new(Work::new(&mut contain.inner, contain.unready.take(), duty, request))
    }
}
