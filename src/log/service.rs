use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{
    binding::{self, McpRequest},
    call::{Call, Kind, Sink},
    event,
    log::{LogFuture, Logging},
    macros::accessors,
    text, unwind,
};

/// The service of [`LogLayer`](crate::LogLayer).
#[derive(Clone, Debug)]
pub struct Log<S> {
    inner: S,
    logging: Arc<Logging>,
}

impl<S> Log<S> {
    pub(super) fn new(inner: S, logging: Arc<Logging>) -> Self {
        Self { inner, logging }
    }

    accessors!();
}

impl<R, S> Service<R> for Log<S>
where
    R: McpRequest,
    S: Service<R, Response = R::Reply>,
    S::Error: 'static,
{
    type Response = R::Reply;
    type Error = S::Error;
    type Future = LogFuture<S::Future, R::Gone, Result<R::Reply, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: R) -> Self::Future {
        let is_heard = self.logging.is_heard();
        // Where nobody listens there is nothing to write down.
        let call = binding::call_of(&mut request, is_heard).filter(|_| is_heard);
        let is_first = call
            .as_ref()
            .is_some_and(|call| call.add_sink(Arc::clone(&self.logging) as Arc<dyn Sink>));
        let gone = call.is_some().then(|| request.gone());
        let mut span = None;
        if let Some(call) = call.as_ref().filter(|_| is_first) {
            call.add_origin(request.origin());
            if self.logging.events && call.kind() != Kind::Notification {
                unwind::shielded(|| event::started(call));
            }
            if self.logging.span && call.kind().is_tool() {
                span = Some(tool_span(call));
            }
        }
        let seat = call.map(Call::sit);
        let inner = match &span {
            Some(span) => span.in_scope(|| self.inner.call(request)),
            None => self.inner.call(request),
        };
        LogFuture::new(inner, gone, seat, span)
    }
}

fn tool_span(call: &Call) -> tracing::Span {
    let mut span = tracing::Span::none();
    // A subscriber that panics costs the span.
    unwind::shielded(|| {
        span = tracing::info_span!(
            target: event::TARGET,
            "tool_call",
            tool = &*text::escape(call.tool().unwrap_or_default()),
            call_id = %call.id(),
        );
    });
    span
}
