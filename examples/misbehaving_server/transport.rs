//! Serving one handler over stdio or HTTP.

use std::{net::SocketAddr, sync::Arc};

use axum::serve::ListenerExt as _;
use rmcp::{
    ServerHandler, ServiceExt as _,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tower_outcome::OutcomeLayer;

use crate::args::Mode;

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
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| {
        format!("--http: cannot listen on '{address}' ({error}); choose another port, 0 for any")
    })?;
    let bound = listener.local_addr().map_err(|error| format!("--http: {error}"))?;
    tracing::info!(addr = %bound, "listening");
    // Otherwise the second write of a short answer waits 40 ms for the first one's ACK.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let mut router = axum::Router::new().route_service("/mcp", service);
    if let Some(layer) = layer {
        router = router.layer(layer.route("/mcp"));
    }
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            let _ = tokio::signal::ctrl_c().await;
            // Open streams would keep the server alive for as long as their clients like.
            shutdown.cancel();
        })
        .await
        .map_err(|error| format!("--http: {error}"))
}

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
