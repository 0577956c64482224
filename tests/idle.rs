//! Where nobody listens the layers keep no record of calls, except where one of them needs it.
//!
//! One test alone: `tracing` keeps one level for the whole process, so that another test's
//! subscriber would hide what is tested here, and a second one's policy would too.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
    service::RequestContext,
};
use serde_json::json;
use tower::ServiceBuilder;
use tower_outcome::{ClassifyLayer, ContainLayer, Policy, ServerHandlerExt as _, Undeclared};

use crate::support::{Client, Logs, Revision};

struct Fails;

impl ServerHandler for Fails {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::error(vec![ContentBlock::text("the author's own text")]).into())
    }
}

#[tokio::test]
async fn a_mask_further_in_counts_where_nobody_listens() {
    let stack = ServiceBuilder::new()
        .layer(ContainLayer::new())
        .layer(ClassifyLayer::new().policy(Policy::new().undeclared(Undeclared::Mask)));
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let server = Fails.layered(stack);
    tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
    let client = Client::over_pipe(ours, Revision::V2025, Logs::default());
    assert!(client.initialize("idle").await.result().is_some());
    let answer = client.call("any", json!({})).await;
    assert!(answer.is_error() && !answer.text().contains("author"), "{answer:?}");
}
