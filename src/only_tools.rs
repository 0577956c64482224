//! A layer for tool calls alone.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use crate::{binding::McpRequest, ready::Admission};

/// Applies `layer` to tool calls alone; everything else passes beside it.
///
/// A timeout must not cut a `subscriptions/listen`, which stays open for as long as the client
/// likes, and a limit on tools must not keep pings waiting.
///
/// A tool that a timeout drops may have taken effect all the same: the model is told to check
/// before it sends a call again that changes anything. What a limit turns away did not run.
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
    S: Service<R, Response = R::Reply> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = R::Reply;
    type Error = BoxError;
    type Future = OnlyToolsFuture<R, T, S>;

    /// Always ready: which way a request goes is not known before it is there, and to be ready on
    /// both ways would take a permit on the one that it does not go. It waits in its future.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        OnlyToolsFuture {
            way: if request.kind().is_tool() {
                Way::Through { future: Admission::new(self.tools.clone(), request) }
            } else {
                Way::Beside { future: Admission::new(self.others.clone(), request) }
            },
        }
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
        way: Way<R, T, S>,
    }
}

pin_project! {
    #[project = WayProjection]
    enum Way<R, T, S>
    where
        T: Service<R>,
        S: Service<R>,
    {
        Through { #[pin] future: Admission<T, R> },
        Beside { #[pin] future: Admission<S, R> },
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
        match self.project().way.project() {
            WayProjection::Through { future } => future.poll(cx).map_err(Into::into),
            WayProjection::Beside { future } => future.poll(cx).map_err(Into::into),
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
