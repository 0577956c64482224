//! The proxy as a tower service: one request out for each request in, both bodies as they stream.

use std::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::extract::ConnectInfo;
use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::Body;
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tower::{BoxError, Service};
use tower_outcome::binding::http::UpstreamError;

use crate::{
    headers::{self, Arrival},
    upstream::Upstream,
};

/// How long the server may take to accept a connection. How long it may take to answer is the
/// policy's deadline, since only a tool call has to have an answer soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an unused connection is kept. Shorter than the 5 s after which uvicorn and Node hang
/// up: a request that meets a closing connection is lost, and a call must not be sent twice.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

type OutBody = UnsyncBoxBody<Bytes, BoxError>;

/// Sends each request on to the server. What goes wrong there is its error, and for the layers
/// outside of it to answer.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    client: Client<HttpConnector, OutBody>,
    upstream: Arc<Upstream>,
}

impl Proxy {
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        // Otherwise the second write of a short request waits 40 ms for the first one's ACK.
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        Self { client, upstream }
    }

    /// The request as the server gets it.
    fn outgoing<B>(&self, request: Request<B>) -> Result<Request<OutBody>, BoxError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let uri = self.upstream.uri(&parts.uri).ok_or("a path that is not served")?;
        let client = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let mut headers = parts.headers;
        headers::to_upstream(
            &mut headers,
            &Arrival {
                client: client.map(|client| client.0.ip()),
                version: parts.version,
                host: parts.uri.authority().and_then(|it| it.as_str().rsplit('@').next()),
            },
        );
        // Made anew: what is in the extensions stays here, and the version is this side's own.
        let mut outgoing = Request::new(body.map_err(Into::into).boxed_unsync());
        *outgoing.method_mut() = parts.method;
        *outgoing.uri_mut() = uri;
        *outgoing.version_mut() = Version::HTTP_11;
        *outgoing.headers_mut() = headers;
        Ok(outgoing)
    }
}

impl<B> Service<Request<B>> for Proxy
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let upstream = Arc::clone(&self.upstream);
        let response = self.outgoing(request).map(|request| self.client.request(request));
        Box::pin(async move {
            let failed = |error: BoxError| UpstreamError::new(upstream.to_string(), error);
            let mut response = response?.await.map_err(|error| failed(error.into()))?;
            // The gateway never asks for another protocol, and hyper could not pass it on.
            if response.status().is_informational() {
                let status = format!("it answered with {}", response.status());
                return Err(failed(status.into()).into());
            }
            headers::to_client(response.headers_mut(), &upstream);
            *response.version_mut() = Version::HTTP_11;
            Ok(response)
        })
    }
}
