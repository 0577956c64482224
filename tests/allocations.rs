//! What a tool call that succeeds may allocate: the request on its way through the layers, the
//! handler's future, and the call's record.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult},
    service::RequestContext,
};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

const ALLOWED: u64 = 3;

#[derive(Clone)]
struct Measured;

/// The same handler bare and layered, called from inside a real call, with its real context.
struct Probe;

impl ServerHandler for Measured {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![]).into())
    }
}

impl ServerHandler for Probe {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let layered = Measured.layered(OutcomeLayer::new());
        // What is set up once is set up.
        count(&layered, &context);
        let over_bare = count(&layered, &context) - count(&Measured, &context);
        Ok(CallToolResult::structured(serde_json::json!({ "count": over_bare })).into())
    }
}

fn count<H: ServerHandler>(handler: &H, context: &RequestContext<RoleServer>) -> u64 {
    let params = CallToolRequestParams::new("read_note".to_owned());
    let context = context.clone();
    let counted = allocation_counter::measure(|| {
        let call = std::pin::pin!(handler.call_tool(params, context));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.poll(&mut cx).is_ready());
    });
    counted.count_total
}

#[tokio::test]
async fn a_success_allocates_at_most_three_times() {
    let (client, server) = tokio::io::duplex(64 * 1024);
    let server = tokio::spawn(async move { Probe.serve(server).await.unwrap().waiting().await });
    let client = ().serve(client).await.unwrap();
    let result = client.call_tool(CallToolRequestParams::new("probe")).await.unwrap();
    let counted = result.structured_content.unwrap()["count"].as_u64().unwrap();
    assert!(counted <= ALLOWED, "{counted} allocations");
    client.cancel().await.unwrap();
    server.await.unwrap().unwrap();
}
