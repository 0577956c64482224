//! Serving one handler over stdio or HTTP.

use std::{net::SocketAddr, sync::Arc};

use rmcp::{
    ServerHandler, ServiceExt as _,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tower_outcome::OutcomeLayer;

use crate::listen;

/// Serves one session over stdin and stdout, until stdin ends.
pub(crate) async fn stdio<S: ServerHandler>(server: S) {
    match server.serve(rmcp::transport::stdio()).await {
        Ok(session) => {
            let _ = session.waiting().await;
        }
        // A client that leaves before it said hello is no error of ours.
        Err(error) => tracing::info!(%error, "no session"),
    }
}

/// Serves `/mcp`, inside of `layer` if there is one, until the process is interrupted.
pub(crate) async fn http<S>(
    server: S,
    layer: Option<OutcomeLayer>,
    address: SocketAddr,
    mode: Mode,
) -> Result<(), String>
where
    S: ServerHandler + Clone,
{
    let config = config(mode);
    let shutdown = config.cancellation_token.clone();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let mut router = axum::Router::new().route_service("/mcp", service);
    if let Some(layer) = layer {
        router = router.layer(layer.route("/mcp"));
    }
    // Open streams would keep the server alive for as long as their clients like.
    listen::serve(address, router, move || shutdown.cancel()).await
}

/// How HTTP sessions and answers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Sessions; answers as SSE.
    Stateful,
    /// No sessions; answers as SSE.
    Stateless,
    /// No sessions; answers as JSON.
    Json,
}

pub(crate) const MODES: &[(&str, Mode)] =
    &[("stateful", Mode::Stateful), ("stateless", Mode::Stateless), ("json", Mode::Json)];

fn config(mode: Mode) -> StreamableHttpServerConfig {
    let (sessions, json) = match mode {
        Mode::Stateful => (true, false),
        Mode::Stateless => (false, false),
        Mode::Json => (false, true),
    };
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(sessions)
        .with_json_response(json)
}
