//! The layers of others, each with the case in which it matters.

use http::StatusCode;
use tower::{
    Layer as _, ServiceBuilder,
    buffer::BufferLayer,
    limit::{GlobalConcurrencyLimitLayer, RateLimitLayer},
    load_shed::LoadShedLayer,
    timeout::TimeoutLayer,
};
use tower_http::{
    body::Limited,
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    limit::RequestBodyLimitLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    trace::TraceLayer,
};

use crate::{
    http::{AnyBody, Http, wrapped},
    wire::{PATIENCE, Server, Svc, TIMEOUT, Wire, Wrap, boxed},
};

/// A layer of somebody else's, and the case in which it matters.
pub(crate) struct Peer<W: Wire> {
    /// Its name, and where it is from.
    pub(crate) name: &'static str,
    /// What happens.
    pub(crate) case: &'static str,
    pub(crate) wrap: Wrap<W>,
    pub(crate) server: Server,
    /// Round the server, whatever else is there.
    pub(crate) inmost: Option<Wrap<W>>,
    /// Calls that come first, and are still there.
    pub(crate) earlier: u64,
}

fn peer<W: Wire>(name: &'static str, case: &'static str, server: Server, wrap: Wrap<W>) -> Peer<W> {
    Peer { name, case, wrap, server, inmost: None, earlier: 0 }
}

fn limited<W: Wire>(inner: Svc<W>) -> Svc<W> {
    boxed(GlobalConcurrencyLimitLayer::new(1).layer(inner))
}

/// tower's own, which are for services of every kind.
pub(crate) fn of_tower<W: Wire>() -> Vec<Peer<W>> {
    vec![
        peer("tower `TimeoutLayer`", "the server hangs", Server::Hangs, |inner| {
            boxed(TimeoutLayer::new(TIMEOUT).layer(inner))
        }),
        Peer {
            earlier: 1,
            ..peer(
                "tower `BufferLayer`",
                "its worker has died of a panic",
                Server::Panics,
                |inner| boxed(BufferLayer::new(8).layer(inner)),
            )
        },
        Peer {
            earlier: 1,
            inmost: Some(limited::<W>),
            ..peer("tower `LoadShedLayer`", "the server is not ready", Server::Hangs, |inner| {
                boxed(LoadShedLayer::new().layer(inner))
            })
        },
        Peer {
            earlier: 1,
            ..peer(
                "tower `ConcurrencyLimitLayer`",
                "the call waits until its client leaves",
                Server::Hangs,
                limited::<W>,
            )
        },
        Peer {
            earlier: 1,
            ..peer(
                "tower `RateLimitLayer`, in a buffer",
                "the call waits until its client leaves",
                Server::Works,
                |inner| {
                    let layers = ServiceBuilder::new()
                        .layer(BufferLayer::new(8))
                        .layer(RateLimitLayer::new(1, 2 * PATIENCE));
                    boxed(layers.service(inner))
                },
            )
        },
        peer(
            "tower `RetryLayer`",
            "the server fails twice, then works",
            Server::FailsTwice,
            W::retrying,
        ),
    ]
}

/// tower-http's, which are for HTTP.
pub(crate) fn of_tower_http() -> Vec<Peer<Http>> {
    vec![
        peer("tower-http `TimeoutLayer`", "the server hangs", Server::Hangs, |inner| {
            let layer = tower_http::timeout::TimeoutLayer::with_status_code(
                StatusCode::REQUEST_TIMEOUT,
                TIMEOUT,
            );
            wrapped::<_, AnyBody, _>(layer, inner)
        }),
        peer("tower-http `CatchPanicLayer`", "the server panics", Server::Panics, |inner| {
            wrapped::<_, AnyBody, _>(CatchPanicLayer::new(), inner)
        }),
        peer(
            "tower-http `RequestBodyLimitLayer`",
            "the request is too long",
            Server::Works,
            |inner| wrapped::<_, Limited<AnyBody>, _>(RequestBodyLimitLayer::new(10), inner),
        ),
        peer("tower-http `CompressionLayer`", "the client accepts gzip", Server::Works, |inner| {
            wrapped::<_, AnyBody, _>(CompressionLayer::new(), inner)
        }),
        peer("tower-http `TraceLayer`", "the server works", Server::Works, |inner| {
            wrapped::<_, AnyBody, _>(TraceLayer::new_for_http(), inner)
        }),
        peer("tower-http `SetRequestIdLayer`", "the server works", Server::Works, |inner| {
            let layers = ServiceBuilder::new()
                .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
                .layer(PropagateRequestIdLayer::x_request_id())
                .into_inner();
            wrapped::<_, AnyBody, _>(layers, inner)
        }),
    ]
}
