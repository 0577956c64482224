//! A layer for tool calls alone.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use crate::{binding::McpRequest, call::Kind};

/// Applies `layer` to tool calls alone; everything else passes beside it.
///
/// A timeout must not cut a `subscriptions/listen`, which stays open for as long as the client
/// likes, and a limit on tools must not keep pings waiting.
///
/// ```
/// use std::time::Duration;
/// use tower::{ServiceBuilder, timeout::TimeoutLayer};
/// use tower_outcome::{OutcomeLayer, only_tools};
///
/// let stack = ServiceBuilder::new()
///     .layer(OutcomeLayer::new())
///     .layer(only_tools(TimeoutLayer::new(Duration::from_secs(30))));
/// # let _ = stack;
/// ```
pub const fn only_tools<L>(layer: L) -> OnlyToolsLayer<L> {
    OnlyToolsLayer { layer }
}

/// See [`only_tools`].
#[derive(Clone, Copy, Debug)]
pub struct OnlyToolsLayer<L> {
    layer: L,
}

impl<L, S> Layer<S> for OnlyToolsLayer<L>
where
    L: Layer<S>,
    S: Clone,
{
    type Service = OnlyTools<L::Service, S>;

    fn layer(&self, inner: S) -> Self::Service {
        OnlyTools { tools: self.layer.layer(inner.clone()), others: inner }
    }
}

/// The service of [`only_tools`].
#[derive(Clone, Debug)]
pub struct OnlyTools<T, S> {
    tools: T,
    others: S,
}

impl<R, T, S> Service<R> for OnlyTools<T, S>
where
    R: McpRequest,
    T: Service<R, Response = R::Reply> + Clone,
    T::Error: Into<BoxError>,
    S: Service<R, Response = R::Reply>,
    S::Error: Into<BoxError>,
{
    type Response = R::Reply;
    type Error = BoxError;
    type Future = OnlyToolsFuture<R, T, S>;

    /// Ready when the way beside the layer is: which way a request goes is not known before it is
    /// there. A tool call waits in its future until the layer is ready for it.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.others.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let state = match request.kind() {
            Kind::ToolCall | Kind::MalformedToolCall => {
                State::Waiting { tools: self.tools.clone(), request: Some(request) }
            }
            Kind::Request | Kind::Notification => {
                State::Beside { future: self.others.call(request) }
            }
        };
        OnlyToolsFuture { state }
    }
}

pin_project! {
    /// The future of [`OnlyTools`].
    pub struct OnlyToolsFuture<R, T, S>
    where
        T: Service<R>,
        S: Service<R>,
    {
        #[pin]
        state: State<R, T, S>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<R, T, S>
    where
        T: Service<R>,
        S: Service<R>,
    {
        Waiting { tools: T, request: Option<R> },
        Through { #[pin] future: T::Future },
        Beside { #[pin] future: S::Future },
    }
}

impl<R, T, S> Future for OnlyToolsFuture<R, T, S>
where
    T: Service<R>,
    T::Error: Into<BoxError>,
    S: Service<R, Response = T::Response>,
    S::Error: Into<BoxError>,
{
    type Output = Result<T::Response, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let future = match state.as_mut().project() {
                StateProjection::Waiting { tools, request } => {
                    ready!(tools.poll_ready(cx)).map_err(Into::into)?;
                    match request.take() {
                        Some(request) => tools.call(request),
                        None => return Poll::Pending,
                    }
                }
                StateProjection::Through { future } => return future.poll(cx).map_err(Into::into),
                StateProjection::Beside { future } => return future.poll(cx).map_err(Into::into),
            };
            state.set(State::Through { future });
        }
    }
}

impl<R, T, S> std::fmt::Debug for OnlyToolsFuture<R, T, S>
where
    T: Service<R>,
    S: Service<R>,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnlyToolsFuture").finish_non_exhaustive()
    }
}
