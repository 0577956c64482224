//! The layers round the server.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use rmcp::ServerHandler;
use serde_json::Value;
use tower::{BoxError, Layer, Service, ServiceBuilder, timeout::Timeout};
use tower_outcome::{
    McpRequest as _, OutcomeLayer, ServerHandlerExt as _,
    binding::rmcp::{RmcpReply, RmcpRequest},
    only_tools,
};

use super::Misbehaving;

/// The server inside the layers of this crate, with a timeout in between that cuts
/// `panic` with `when: local_drop` short.
pub(crate) fn layered(server: Misbehaving, layer: &OutcomeLayer) -> impl ServerHandler + Clone {
    let stack = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(only_tools(CutLocalDropShort))
        .into_inner();
    server.layered(stack)
}

/// The layer itself.
pub(crate) fn layer(deadline: Option<Duration>) -> OutcomeLayer {
    match deadline {
        Some(deadline) => OutcomeLayer::new().deadline(deadline),
        None => OutcomeLayer::new(),
    }
}

const LIMIT: Duration = Duration::from_millis(200);

/// A timeout for `panic` with `when: local_drop` alone; every other call takes the time it takes.
#[derive(Clone, Copy)]
struct CutLocalDropShort;

impl<S: Clone> Layer<S> for CutLocalDropShort {
    type Service = CutShort<S>;

    fn layer(&self, inner: S) -> CutShort<S> {
        CutShort { limited: Timeout::new(inner.clone(), LIMIT), unlimited: inner }
    }
}

#[derive(Clone)]
struct CutShort<S> {
    limited: Timeout<S>,
    unlimited: S,
}

impl<S> Service<RmcpRequest> for CutShort<S>
where
    S: Service<RmcpRequest, Response = RmcpReply>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = RmcpReply;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<RmcpReply, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        ready!(self.limited.poll_ready(cx))?;
        self.unlimited.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: RmcpRequest) -> Self::Future {
        if is_local_drop(&request) {
            // Not an `async` block with a timeout in it: that would drop what it cut short, and
            // so panic, before it could say that it was a timeout.
            return Box::pin(self.limited.call(request));
        }
        let answer = self.unlimited.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}

fn is_local_drop(request: &RmcpRequest) -> bool {
    let when = request.arguments().and_then(|arguments| arguments.get("when"));
    request.tool() == Some("panic") && when.and_then(Value::as_str) == Some("local_drop")
}
