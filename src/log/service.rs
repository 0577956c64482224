use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{
    binding::{self, McpRequest},
    call::{Call, Scoped, Sink},
    log::{LogFuture, Logging},
    macros::accessors,
    ready::{Admission, Queued},
};

/// The service of [`LogLayer`](crate::LogLayer).
#[derive(Clone, Debug)]
pub struct Log<S> {
    pub(crate) inner: Queued<S>,
    pub(crate) logging: Arc<Logging>,
}

impl<S> Log<S> {
    pub(super) fn new(inner: S, logging: Arc<Logging>) -> Self {
        Self { inner: Queued::new(inner), logging }
    }

    accessors!(self => self.inner.get_ref(), self.inner.get_mut(), self.inner.into_inner());
}

impl<R, S> Service<R> for Log<S>
where
    R: McpRequest,
    S: Service<R, Response = R::Reply> + Clone,
    S::Error: 'static,
{
    type Response = R::Reply;
    type Error = S::Error;
    type Future = LogFuture<Scoped<Admission<S, R>>, R::Gone, Result<R::Reply, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: R) -> Self::Future {
        let is_heard = self.logging.is_heard();
        // Where nobody listens there is nothing to write down, except that this layer is silent.
        let call = binding::call_of(&mut request, self.logging.is_needed());
        if let Some(call) = &call {
            call.add_sink(Arc::clone(&self.logging) as Arc<dyn Sink>);
        }
        let scope = call.clone().filter(|_| !R::IS_SCOPED);
        let call = call.filter(|_| is_heard);
        let span = call.as_ref().and_then(|call| {
            call.add_origin(request.origin());
            self.logging.begin(call)
        });
        let gone = call.is_some().then(|| request.gone());
        let (kind, seat) = (request.kind(), call.map(Call::sit));
        let inner = match &span {
            Some(span) => span.within(|| self.inner.call(request)),
            None => self.inner.call(request),
        };
        let inner = binding::scoped::<R, _>(scope, kind, inner);
        LogFuture::new(inner, gone, seat, span)
    }
}
