//! Serving an HTTP service.

use std::net::SocketAddr;

use axum::serve::ListenerExt as _;

/// Serves until the process is interrupted, and then calls `stop`.
pub(crate) async fn serve(
    address: SocketAddr,
    service: axum::Router,
    stop: impl FnOnce() + Send + 'static,
) -> Result<(), String> {
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| {
        format!("--http: cannot listen on '{address}' ({error}); choose another port, 0 for any")
    })?;
    let bound = listener.local_addr().map_err(|error| format!("--http: {error}"))?;
    tracing::info!(addr = %bound, "listening");
    // Otherwise the second write of a short answer waits 40 ms for the first one's ACK.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, service)
        .with_graceful_shutdown(async move {
            let _ = tokio::signal::ctrl_c().await;
            stop();
        })
        .await
        .map_err(|error| format!("--http: {error}"))
}
