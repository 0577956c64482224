//! What is said further out than the handler's own layers counts where it is a failure.

use std::sync::Arc;

use http::Response;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::json;
use tower::ServiceBuilder;
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

use crate::{
    kit::{
        Script, call, call_2026, call_text, data, error, event, is_error, json_response, line,
        post, read, send, sse_response, success, whole_call,
    },
    support::Logs,
};

#[derive(Clone)]
struct Tools;

impl ServerHandler for Tools {
    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*params.name {
            "ok" => Ok(CallToolResult::success(vec![ContentBlock::text("fine")]).into()),
            "task" => {
                let task = json!({
                    "resultType": "task", "taskId": "t1", "status": "working",
                    "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
                    "ttlMs": null, "ttl": null,
                });
                let task: CreateTaskResult = serde_json::from_value(task).unwrap();
                Ok(task.into())
            }
            _ => panic!("SECRET"),
        }
    }
}

/// rmcp's service, with layers round its handler.
fn rmcp(json: bool) -> StreamableHttpService<impl ServerHandler, LocalSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(json);
    let handler = Tools.layered(OutcomeLayer::new());
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config)
}

#[tokio::test]
async fn a_failure_that_is_said_round_the_handlers_layers_overrules_its_success() {
    let id = json!(7);
    for (said, expected) in [
        (error(&id, -32602, "no"), "INFO tool_call_failed protocol_error invalid_params"),
        (error(&id, -32603, "SECRET"), "ERROR tool_call_failed fault internal_error"),
        (is_error(&id, "mine"), "ERROR tool_call_failed undeclared undeclared_error"),
        (success(&id), "INFO tool_call_completed completed -"),
    ] {
        for is_stream in [false, true] {
            let (logs, _guard) = Logs::capture();
            let said = said.clone();
            let service = ServiceBuilder::new()
                .layer(OutcomeLayer::new())
                .and_then(move |inner: Response<_>| {
                    let said = said.clone();
                    async move {
                        // The handler has answered by then, and its layers have said how.
                        assert_eq!(read(inner).await.message()["result"]["isError"], false);
                        Ok::<_, std::convert::Infallible>(match is_stream {
                            true => sse_response(Script::of([data(event(&said))])),
                            false => json_response(said),
                        })
                    }
                })
                .service(rmcp(true));
            let got = send(service, call()).await;
            assert!(!got.text().contains("SECRET"), "{got:?}");
            assert_eq!(line(&whole_call(&logs)), expected);
        }
    }
}

#[tokio::test]
async fn a_success_that_is_said_round_the_handlers_layers_does_not_hide_its_failure() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .and_then(|inner: Response<_>| async move {
            assert_eq!(read(inner).await.message()["result"]["isError"], true);
            Ok::<_, std::convert::Infallible>(json_response(success(&json!(7))))
        })
        .service(rmcp(true));
    let got = send(service, post(call_text(7, "panic"))).await;
    assert_eq!(got.text(), success(&json!(7)));
    assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault panic");
}

/// The binding says by itself what rmcp would say after it.
#[tokio::test]
async fn a_task_for_a_client_without_the_capability_is_one_failure() {
    for json in [false, true] {
        let (logs, _guard) = Logs::capture();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "0.1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": "task", "arguments": {}, "_meta": meta });
        let text = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let mut request =
            call_2026().map(|_| http_body_util::Full::new(bytes::Bytes::from(text.to_string())));
        request.headers_mut().insert("mcp-name", "task".parse().unwrap());
        let service = ServiceBuilder::new().layer(OutcomeLayer::new()).service(rmcp(json));
        let got = send(service, request).await;
        assert_eq!(got.message()["error"]["code"], -32021, "{got:?}");
        let end = whole_call(&logs);
        assert_eq!(line(&end), "INFO tool_call_failed protocol_error missing_capability");
        assert_eq!(end.field("client_name"), Some("raw"));
    }
}
