//! What a stack is made of, whichever kind of service it is.

use std::time::Duration;

use tower::{BoxError, Service, ServiceExt as _, util::BoxCloneService};

/// A service of a kind, as every layer takes and gives it.
pub(crate) type Svc<W> = BoxCloneService<<W as Wire>::Request, <W as Wire>::Response, BoxError>;

/// A layer that is set up.
pub(crate) type Wrap<W> = fn(Svc<W>) -> Svc<W>;

/// One of our layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    Log,
    Classify,
    Contain,
    Outcome,
}

/// What the innermost service does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// It answers.
    Works,
    /// It never answers.
    Hangs,
    /// It panics at once, before there is a future.
    Panics,
    /// It fails twice, and then answers.
    FailsTwice,
}

/// A kind of service.
pub(crate) trait Wire: Copy + 'static {
    type Request: Send + 'static;
    type Response: Send + 'static;

    fn server(does: Server) -> Svc<Self>;

    /// A call with this id.
    fn call(id: u64) -> Self::Request;

    fn wrap(ours: Ours, inner: Svc<Self>) -> Svc<Self>;

    /// Tries a call up to three times, until it does not fail.
    fn retrying(inner: Svc<Self>) -> Svc<Self>;

    /// What the client makes of an answer.
    fn told(response: Self::Response) -> impl Future<Output = String>;
}

pub(crate) fn boxed<S, Request, Response>(
    service: S,
) -> BoxCloneService<Request, Response, BoxError>
where
    S: Service<Request, Response = Response> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    Request: 'static,
{
    BoxCloneService::new(service.map_err(Into::into))
}

/// What one of our texts is called in the table.
pub(crate) fn told_text(text: &str) -> String {
    let named = [
        ("fine", "the result"),
        ("could not complete it", "the fixed text"),
        ("took too long", "the text for a timeout"),
        ("more requests than it can handle", "the text for too many requests"),
    ];
    let name = named
        .into_iter()
        .find(|(part, _)| text.contains(part) && (*part != "fine" || text == "fine"));
    name.map_or_else(|| format!("'{text}'"), |(_, name)| name.to_owned())
}

/// What a server panics with.
pub(crate) const PANIC: &str = "a server that panics";

/// How long a client waits before it leaves.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3600);
/// After how long a timeout is up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
