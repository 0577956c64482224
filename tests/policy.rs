//! A policy's deadline: which layers keep it, and which of several counts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
    service::RequestContext,
};
use serde_json::json;
use tower::ServiceBuilder;
use tower_outcome::{
    ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, Policy, ServerHandlerExt as _,
};

use crate::support::{Client, Revision};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(3600);

#[derive(Clone)]
struct Waits;

impl ServerHandler for Waits {
    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*params.name {
            "hang" => std::future::pending().await,
            _ => tokio::time::sleep(10 * SHORT).await,
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
    }
}

fn within(deadline: Duration) -> Policy {
    Policy::new().deadline(deadline)
}

async fn cuts(name: &str, handler: impl ServerHandler) {
    let client = Client::in_process(handler, Revision::V2025);
    client.initialize("policy").await;
    let id = client.start_call("hang", json!({})).await;
    let answer = client.wait(&id).await;
    assert!(answer.is_error(), "{name}: {answer:?}");
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!(end.message, "tool_call_failed", "{name}: {end:?}");
    for (field, value) in [
        ("outcome", "fault"),
        ("code", "timeout"),
        ("actor", "time"),
        ("retryable", "after_delay"),
        ("cause", "no answer within 20ms"),
    ] {
        assert_eq!(end.field(field), Some(value), "{name}: {end:?}");
    }
    assert_eq!(end.level, "WARN", "{name}: {end:?}");
    assert_eq!(client.logs().terminal(&id).len(), 1, "{name}");
}

async fn waits(name: &str, handler: impl ServerHandler) {
    let client = Client::in_process(handler, Revision::V2025);
    client.initialize("policy").await;
    let answer = client.call("slow", json!({})).await;
    assert_eq!(answer.text(), "done", "{name}: {answer:?}");
}

macro_rules! of {
    ($($layer:expr),+) => { ServiceBuilder::new()$(.layer($layer))+ };
}

#[tokio::test]
async fn whichever_layer_has_the_policy_its_deadline_is_kept() {
    let log = LogLayer::new;
    let classify = || ClassifyLayer::new().policy(within(SHORT));
    let contain = ContainLayer::new;
    cuts("all in one", Waits.layered(OutcomeLayer::new().policy(within(SHORT)))).await;
    cuts("contain", Waits.layered(of!(log(), contain().policy(within(SHORT))))).await;
    cuts("classify outside", Waits.layered(of!(log(), classify(), contain()))).await;
    cuts("classify inside", Waits.layered(of!(log(), contain(), classify()))).await;
    let outer = OutcomeLayer::new().policy(within(SHORT));
    let inner = OutcomeLayer::new().policy(Policy::new());
    cuts("the outer policy alone", Waits.layered(of!(outer, inner))).await;
}

#[tokio::test]
async fn the_layers_own_deadline_has_precedence_then_the_innermost_policy() {
    let layer = |policy| OutcomeLayer::new().policy(within(policy));
    cuts("a short one of the layer", Waits.layered(layer(LONG).deadline(SHORT))).await;
    waits("a long one of the layer", Waits.layered(layer(SHORT).deadline(LONG))).await;
    cuts("a short one inside", Waits.layered(of!(layer(LONG), layer(SHORT)))).await;
    waits("a long one inside", Waits.layered(of!(layer(SHORT), layer(LONG)))).await;
}
