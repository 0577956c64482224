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
    errors::{ErrorsAnswered, ErrorsPass},
    future::HttpFuture,
    request::RequestBody,
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
    type Future = HttpFuture<S, B, R, ErrorsPass>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let duty = Duty {
            logging: Some(Arc::clone(&self.logging)),
            policy: None,
            contains: false,
            deadline: None,
            aborts: false,
            max_request_bytes: self.logging.max_request_bytes,
        };
        HttpFuture::new(&mut self.inner, duty, request)
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
    type Future = HttpFuture<S, B, R, ErrorsPass>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let policy = self.policy.clone();
        let duty = Duty {
            logging: None,
            policy,
            contains: false,
            deadline: None,
            aborts: false,
            max_request_bytes: None,
        };
        HttpFuture::new(&mut self.inner, duty, request)
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
    type Future = HttpFuture<S, B, R, ErrorsAnswered>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.poll_inner_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        target::cannot_contain();
        let duty = Duty {
            logging: None,
            policy: self.settings.policy.clone(),
            contains: true,
            deadline: self.settings.deadline,
            aborts: self.settings.abort_on_cancel,
            max_request_bytes: self.settings.max_request_bytes,
        };
        HttpFuture::unless_unready(&mut self.inner, self.unready.take(), duty, request)
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
    type Future = HttpFuture<S, B, R, ErrorsAnswered>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.stack.get_mut().get_mut().poll_inner_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        target::cannot_contain();
        let logging = Arc::clone(&self.stack.logging);
        let classify = self.stack.get_mut();
        let policy = classify.policy.clone();
        let contain = classify.get_mut();
        let duty = Duty {
            max_request_bytes: logging.max_request_bytes,
            logging: Some(logging),
            policy: policy.or_else(|| contain.settings.policy.clone()),
            contains: true,
            deadline: contain.settings.deadline,
            aborts: contain.settings.abort_on_cancel,
        };
        HttpFuture::unless_unready(&mut contain.inner, contain.unready.take(), duty, request)
    }
}
