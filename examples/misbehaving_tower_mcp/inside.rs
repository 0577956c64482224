//! What has no place in a tool of tower-mcp, in a layer right round the router.

use std::{
    future::ready,
    pin::Pin,
    task::{Context, Poll},
};

use serde_json::{Value, json};
use tower::{Layer, Service};
use tower_mcp::{
    Error, JsonRpcError, RouterRequest, RouterResponse,
    protocol::{McpRequest, McpResponse},
};

use crate::{
    params::ProtocolArgs,
    trouble::{Asked, before_the_future, misbehave},
};

#[derive(Clone, Copy)]
pub(crate) struct Inside;

#[derive(Clone)]
pub(crate) struct InsideService<S>(S);

impl<S> Layer<S> for Inside {
    type Service = InsideService<S>;

    fn layer(&self, inner: S) -> InsideService<S> {
        InsideService(inner)
    }
}

impl<S> Service<RouterRequest> for InsideService<S>
where
    S: Service<RouterRequest, Response = RouterResponse>,
    S::Error: Send + 'static,
    S::Future: Send + 'static,
{
    type Response = RouterResponse;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<RouterResponse, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: RouterRequest) -> Self::Future {
        before_the_future(&request);
        let id = request.id.clone();
        match &request.inner {
            McpRequest::Initialize(params) => {
                let name = &params.client_info.name;
                assert!(name != "panic-at-initialize", "asked to panic at initialize");
            }
            McpRequest::CallTool(params) if params.name == "refuse" => {
                if let Ok(args) = serde_json::from_value::<ProtocolArgs>(params.arguments.clone()) {
                    let ProtocolArgs { code, message, data } = args;
                    let inner = Err(JsonRpcError { code, message, data });
                    return Box::pin(ready(Ok(RouterResponse { id, inner })));
                }
            }
            McpRequest::Unknown { method, .. } => {
                if let Some(how) = method.strip_prefix("misbehave/") {
                    let how = how.to_owned();
                    return Box::pin(async move {
                        let text = misbehave(&how).await.map_err(Error::from);
                        let inner = text
                            .map(|text| McpResponse::Raw(json!({ "text": text })))
                            .map_err(Error::into_json_rpc_error);
                        Ok(RouterResponse { id, inner })
                    });
                }
            }
            _ => {}
        }
        Box::pin(self.0.call(request))
    }
}

impl Asked for RouterRequest {
    fn asked_for(&self) -> Option<&str> {
        match &self.inner {
            McpRequest::CallTool(params) => Some(&params.name),
            _ => None,
        }
    }

    fn argument(&self, name: &str) -> Option<&str> {
        match &self.inner {
            McpRequest::CallTool(params) => params.arguments.get(name).and_then(Value::as_str),
            _ => None,
        }
    }
}
