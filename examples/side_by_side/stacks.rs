//! The stacks, each as an HTTP service.

use std::sync::Arc;

use axum::Router;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    trace::{DefaultMakeSpan, DefaultOnResponse, TraceLayer},
};
use tower_mcp::{AuditLayer, HttpTransport, ToolCallLoggingLayer};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};
use tracing::Level;

use crate::servers::{rmcp_ours, rmcp_plain, tower_mcp_ours, tower_mcp_plain};

/// One way to serve the tools.
pub(crate) struct Stack {
    pub(crate) name: &'static str,
    /// What its log is filtered with.
    pub(crate) filter: &'static str,
    pub(crate) service: fn() -> Router,
}

pub(crate) const STACKS: [Stack; 6] = [
    Stack { name: "rmcp", filter: "info", service: || rmcp(rmcp_plain::Notes) },
    Stack { name: "rmcp, tower-http's layers", filter: "info", service: in_tower_http },
    Stack { name: "tower-mcp, its own layers", filter: "info", service: || tower_mcp(true) },
    Stack {
        name: "rmcp, this crate",
        // As the guide says: there is a line of ours about each JSON-RPC error that is rmcp's.
        filter: "info,rmcp::service=error",
        service: || rmcp(rmcp_ours::Notes.layered(OutcomeLayer::new())),
    },
    Stack { name: "tower-mcp, this crate", filter: "info", service: tower_mcp_with_ours },
    Stack {
        name: "tower-mcp, its own layers, no `catch_panics`",
        filter: "info",
        service: || tower_mcp(false),
    },
];

/// With sessions, as it is by default.
fn rmcp<S: ServerHandler + Clone>(server: S) -> Router {
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    Router::new().route_service("/mcp", service)
}

fn in_tower_http() -> Router {
    let trace = TraceLayer::new_for_http()
        .make_span_with(DefaultMakeSpan::new().level(Level::INFO))
        .on_response(DefaultOnResponse::new().level(Level::INFO));
    rmcp(rmcp_plain::Notes).layer(CatchPanicLayer::new()).layer(trace)
}

fn tower_mcp(catch_panics: bool) -> Router {
    let mut router = tower_mcp_plain::router();
    if catch_panics {
        router = router.catch_panics();
    }
    let layers = ServiceBuilder::new().layer(AuditLayer::new()).layer(ToolCallLoggingLayer::new());
    HttpTransport::new(router).layer(layers).into_router_at("/mcp")
}

fn tower_mcp_with_ours() -> Router {
    HttpTransport::new(tower_mcp_ours::router()).layer(OutcomeLayer::new()).into_router_at("/mcp")
}
