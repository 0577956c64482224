//! Services of HTTP.

use std::{
    future::Ready,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use serde_json::{Value, json};
use tower::{
    BoxError, Layer, Service, ServiceExt as _,
    retry::{Policy, RetryLayer},
    service_fn,
    util::BoxCloneService,
};
use tower_outcome::{
    ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, binding::http::RequestBody,
};

use crate::wire::{Ours, PANIC, Server, Svc, Wire, boxed, told_text};

#[derive(Clone, Copy)]
pub(crate) struct Http;

/// The body of everything that passes from one layer to the next.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

pub(crate) fn any<B>(body: B) -> AnyBody
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}

type Inner<B> = BoxCloneService<Request<B>, Response<AnyBody>, BoxError>;

/// A layer round a service of HTTP that hands on requests with another body, and gives answers with
/// one.
pub(crate) fn wrapped<L, B, R>(layer: L, inner: Inner<AnyBody>) -> Inner<AnyBody>
where
    L: Layer<Inner<B>>,
    L::Service: Service<Request<AnyBody>, Response = Response<R>> + Clone + Send + 'static,
    <L::Service as Service<Request<AnyBody>>>::Error: Into<BoxError>,
    <L::Service as Service<Request<AnyBody>>>::Future: Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let service = layer.layer(boxed(inner.map_request(|request: Request<B>| request.map(any))));
    boxed(service.map_response(|response| response.map(any)))
}

impl Wire for Http {
    type Request = Request<AnyBody>;
    type Response = Response<AnyBody>;

    fn server(does: Server) -> Svc<Self> {
        let calls = Arc::new(AtomicUsize::new(0));
        boxed(service_fn(move |request: Request<AnyBody>| {
            let earlier = calls.fetch_add(1, Ordering::Relaxed);
            assert!(does != Server::Panics, "{PANIC}");
            async move {
                let body = request.into_body().collect().await?.to_bytes();
                let call: Value = serde_json::from_slice(&body)?;
                match does {
                    Server::Hangs => std::future::pending().await,
                    Server::FailsTwice if earlier < 2 => Err(BoxError::from("out of order")),
                    _ => Ok(works(&call["id"])),
                }
            }
        }))
    }

    fn call(id: u64) -> Request<AnyBody> {
        let params = json!({ "name": "sort", "arguments": {} });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let call = call.to_string();
        Request::post("/mcp")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::ACCEPT_ENCODING, "gzip")
            .header(header::CONTENT_LENGTH, call.len())
            .header("mcp-protocol-version", "2025-11-25")
            .body(any(Full::new(Bytes::from(call))))
            .unwrap()
    }

    fn wrap(ours: Ours, inner: Svc<Self>) -> Svc<Self> {
        type Ours_ = RequestBody<AnyBody>;
        match ours {
            Ours::Log => wrapped::<_, Ours_, _>(LogLayer::new(), inner),
            Ours::Classify => wrapped::<_, Ours_, _>(ClassifyLayer::new(), inner),
            Ours::Contain => wrapped::<_, Ours_, _>(ContainLayer::new(), inner),
            Ours::Outcome => wrapped::<_, Ours_, _>(OutcomeLayer::new(), inner),
        }
    }

    fn retrying(inner: Svc<Self>) -> Svc<Self> {
        let inner = inner.map_request(|request: Request<Full<Bytes>>| request.map(any));
        let retrying = boxed(RetryLayer::new(Attempts(2)).layer(inner));
        // A body is read once; one that is to be sent again has to be collected.
        boxed(service_fn(move |request: Request<AnyBody>| {
            let retrying = retrying.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = Full::new(body.collect().await?.to_bytes());
                retrying.oneshot(Request::from_parts(parts, body)).await
            }
        }))
    }

    async fn told(response: Response<AnyBody>) -> String {
        let (parts, body) = response.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => return "half an answer".to_owned(),
        };
        if parts.headers.contains_key(header::CONTENT_ENCODING) {
            return "the result, compressed".to_owned();
        }
        let status = parts.status.as_u16();
        let Ok(message) = serde_json::from_slice::<Value>(&body) else {
            return format!("HTTP {status}");
        };
        assert_eq!(status, 200, "{message}");
        told_text(message["result"]["content"][0]["text"].as_str().unwrap_or_default())
    }
}

/// An answer that is worth compressing.
fn works(id: &Value) -> Response<AnyBody> {
    let content = json!([{ "type": "text", "text": "fine" }]);
    let result = json!({ "content": content, "_meta": { "example.com/padding": "a".repeat(200) } });
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let answer = any(Full::new(Bytes::from(answer)));
    Response::builder().header(header::CONTENT_TYPE, "application/json").body(answer).unwrap()
}

/// Attempts that are left.
#[derive(Clone)]
struct Attempts(usize);

impl Policy<Request<Full<Bytes>>, Response<AnyBody>, BoxError> for Attempts {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<AnyBody>, BoxError>,
    ) -> Option<Ready<()>> {
        self.0 = self.0.checked_sub(usize::from(result.is_err()))?;
        result.is_err().then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}
