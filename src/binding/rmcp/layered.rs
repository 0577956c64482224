use std::{
    borrow::Cow,
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use rmcp::ServerHandler;
use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use super::{HandlerService, RmcpReply, RmcpRequest, connection::Connection};
use crate::{
    binding::{McpReply as _, McpRequest as _, Seat, call_of, catch},
    call::{Call, CallId, Kind, Verdict},
    outcome::{Actor, Code},
    tool_error::Rendering,
};

/// Puts layers round a handler.
pub trait ServerHandlerExt: ServerHandler {
    /// This handler with `layer` round it, as a handler again.
    ///
    /// Nothing may get past the outermost layer: put [`OutcomeLayer`](crate::OutcomeLayer) or
    /// [`ContainLayer`](crate::ContainLayer) there, or a stack that has one and only infallible
    /// layers outside of it.
    ///
    /// The result is made for one connection. To serve several with one value, clone it for each:
    /// a clone shares the handler and the layers, and counts as a connection of its own.
    fn layered<L>(self, layer: L) -> Layered<Self, L::Service>
    where
        L: Layer<HandlerService<Self>>,
        L::Service: Service<RmcpRequest, Response = RmcpReply> + Clone + Send + Sync + 'static,
        <L::Service as Service<RmcpRequest>>::Error: Contained,
        <L::Service as Service<RmcpRequest>>::Future: Send,
    {
        Layered::new(self, layer)
    }

    /// The same without containment: an error of a layer is answered with the fixed text and is
    /// logged by nobody, and a panic leaves the client without an answer.
    fn layered_uncontained<L>(self, layer: L) -> Layered<Self, AnswerErrors<L::Service>>
    where
        L: Layer<HandlerService<Self>>,
        L::Service: Service<RmcpRequest, Response = RmcpReply> + Clone + Send + Sync + 'static,
        <L::Service as Service<RmcpRequest>>::Error: Into<BoxError>,
        <L::Service as Service<RmcpRequest>>::Future: Send,
    {
        let Layered { handler, service, connection } = Layered::new(self, layer);
        Layered { handler, service: AnswerErrors { inner: service, is_unready: false }, connection }
    }
}

impl<H: ServerHandler> ServerHandlerExt for H {}

/// The error of a stack that nothing gets past: [`Infallible`] alone.
#[diagnostic::on_unimplemented(
    message = "panics and errors get past this stack of layers: its error is `{Self}`",
    label = "not every request would be answered",
    note = "put `OutcomeLayer` or `ContainLayer` outermost, as in \
            `ServiceBuilder::new().layer(OutcomeLayer::new()).layer(..)`",
    note = "`layered_uncontained` takes a stack without containment"
)]
pub trait Contained: sealed::Sealed {}

impl Contained for Infallible {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for std::convert::Infallible {}
}

/// A handler with layers round it. See [`ServerHandlerExt::layered`].
pub struct Layered<H, S> {
    /// For what rmcp asks synchronously.
    pub(super) handler: Arc<H>,
    pub(super) service: S,
    pub(super) connection: Arc<Connection>,
}

impl<H: ServerHandler, S> Layered<H, S> {
    fn new<L>(handler: H, layer: L) -> Self
    where
        L: Layer<HandlerService<H>, Service = S>,
    {
        let handler = Arc::new(handler);
        let service = layer.layer(HandlerService::new(Arc::clone(&handler)));
        Self { handler, service, connection: Arc::new(Connection::new(None)) }
    }

    /// The same, with `transport` as what carries its messages in the log where it is not HTTP,
    /// which is known: `stdio`, say.
    #[must_use]
    pub fn transport(self, transport: impl Into<Cow<'static, str>>) -> Self {
        let connection = Connection::new(Some(transport.into()));
        Self { connection: Arc::new(connection), ..self }
    }

    /// The handler inside.
    pub fn handler(&self) -> &H {
        &self.handler
    }
}

/// A connection of its own, with the same handler and the same layers.
impl<H, S: Clone> Clone for Layered<H, S> {
    fn clone(&self) -> Self {
        let connection = Connection::new(self.connection.transport.clone());
        Self {
            handler: Arc::clone(&self.handler),
            service: self.service.clone(),
            connection: Arc::new(connection),
        }
    }
}

impl<H, S: fmt::Debug> fmt::Debug for Layered<H, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layered").field("service", &self.service).finish_non_exhaustive()
    }
}

impl<H, S> Layered<H, S>
where
    S: Service<RmcpRequest, Response = RmcpReply> + Clone,
    S::Error: Contained,
{
    /// Sends a message through the layers.
    pub(super) fn run(&self, request: RmcpRequest) -> Run<S> {
        super::check_version();
        // A user's service may panic when it is cloned.
        match catch(|| self.service.clone()) {
            Ok(service) => {
                let (service, request) = (Some(service), Some(request));
                Run { state: State::Waiting { service, request } }
            }
            Err(cause) => {
                let kind = request.kind();
                let call = Call::begin(kind, "".into(), None, None);
                call.report(Verdict::fault(Code::PANIC, Actor::Operator, Some(cause)));
                Run { state: State::Unserved { reply: Some(unanswered(kind, call.id())) } }
            }
        }
    }
}

pin_project! {
    /// A message on its way through the layers, from the moment that they are ready for it.
    pub(super) struct Run<S: Service<RmcpRequest>> {
        #[pin]
        state: State<S>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S: Service<RmcpRequest>> {
        Unserved { reply: Option<RmcpReply> },
        Waiting { service: Option<S>, request: Option<RmcpRequest> },
        Running { #[pin] future: S::Future },
    }
}

impl<S> Future for Run<S>
where
    S: Service<RmcpRequest, Response = RmcpReply>,
    S::Error: Contained,
{
    type Output = RmcpReply;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<RmcpReply> {
        let mut state = self.project().state;
        loop {
            let future = match state.as_mut().project() {
                StateProjection::Unserved { reply } => {
                    return reply.take().map_or(Poll::Pending, Poll::Ready);
                }
                StateProjection::Waiting { service: waiting, request } => {
                    let Some(service) = waiting else {
                        return Poll::Pending;
                    };
                    // The clone that is called is the one that was ready.
                    if ready!(service.poll_ready(cx)).is_err() {
                        return Poll::Ready(unanswered(Kind::Request, CallId::next()));
                    }
                    let Some(request) = request.take() else {
                        return Poll::Pending;
                    };
                    let future = service.call(request);
                    // Or when it is dropped.
                    let _ = catch(|| drop(waiting.take()));
                    future
                }
                StateProjection::Running { future } => {
                    // A `Contained` error has no values; `Err` is for the compiler.
                    return future.poll(cx).map(|answer| {
                        answer.unwrap_or_else(|_| unanswered(Kind::Request, CallId::next()))
                    });
                }
            };
            state.set(State::Running { future });
        }
    }
}

fn unanswered(kind: Kind, reference: CallId) -> RmcpReply {
    RmcpReply::failure(kind, None, Rendering::fault(kind, None, reference))
}

/// Answers the errors of a stack without containment. See
/// [`layered_uncontained`](ServerHandlerExt::layered_uncontained).
#[derive(Debug)]
pub struct AnswerErrors<S> {
    inner: S,
    /// A service that could not become ready must not be called.
    is_unready: bool,
}

impl<S: Clone> Clone for AnswerErrors<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), is_unready: false }
    }
}

impl<S> Service<RmcpRequest> for AnswerErrors<S>
where
    S: Service<RmcpRequest, Response = RmcpReply>,
    S::Error: Into<BoxError>,
{
    type Response = RmcpReply;
    type Error = Infallible;
    type Future = AnswerErrorsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx).map(|ready| {
            self.is_unready = ready.is_err();
            Ok(())
        })
    }

    fn call(&mut self, mut request: RmcpRequest) -> Self::Future {
        let kind = request.kind();
        // The reference that the client gets is the one that a layer logs under.
        let seat = call_of(&mut request, true).map(Call::sit);
        let inner = (!self.is_unready).then(|| self.inner.call(request));
        AnswerErrorsFuture { inner, kind, seat }
    }
}

pin_project! {
    /// The future of [`AnswerErrors`].
    #[derive(Debug)]
    pub struct AnswerErrorsFuture<F> {
        #[pin]
        inner: Option<F>,
        kind: Kind,
        // What a tool has left behind is logged when it is given up.
        seat: Option<Seat>,
    }
}

impl<F, E> Future for AnswerErrorsFuture<F>
where
    F: Future<Output = Result<RmcpReply, E>>,
    E: Into<BoxError>,
{
    type Output = Result<RmcpReply, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = match this.inner.as_pin_mut() {
            Some(inner) => ready!(inner.poll(cx)).ok(),
            None => None,
        };
        let seat = this.seat.take();
        let reference = seat.as_ref().map_or_else(CallId::next, |seat| seat.call().id());
        Poll::Ready(Ok(answer.unwrap_or_else(|| unanswered(*this.kind, reference))))
    }
}
