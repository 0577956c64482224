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
        let call = binding::call_of(&mut request);
        let seat = call.sit();
        let is_heard = self.logging.is_heard();
        let is_first = call.add_sink(Arc::clone(&self.logging) as Arc<dyn Sink>, is_heard);
        if is_first && is_heard {
            call.add_origin(request.origin());
            if self.logging.events && request.kind() != Kind::Notification {
                unwind::shielded(|| event::started(&call));
            }
        }
        let span = (self.logging.span && is_first && call.kind().is_tool()).then(|| span(&call));
        let gone = request.gone();
        let inner = match &span {
            Some(span) => span.in_scope(|| self.inner.call(request)),
            None => self.inner.call(request),
        };
        LogFuture::new(inner, gone, seat, span)
    }
}

fn span(call: &Call) -> tracing::Span {
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
