//! Serving the router, inside of layers, over stdio or HTTP.

use std::{fmt::Display, time::Duration};

use tower::{Layer, Service};
use tower_mcp::{HttpTransport, McpRouter, RouterRequest, RouterResponse, StdioTransport};
use tower_outcome::Call;

use crate::{
    args::{Args, Mode},
    layers, listen,
    router::router,
};

/// How long calls that are still running may go on once stdin has ended.
const DRAIN: Duration = Duration::from_millis(200);

/// Serves as the command line says, with `layer` round the router.
pub(crate) async fn serve<L>(layer: L, args: &Args) -> Result<(), String>
where
    L: Layer<McpRouter> + Send + Sync + 'static,
    L::Service: Service<RouterRequest, Response = RouterResponse> + Clone + Send + 'static,
    <L::Service as Service<RouterRequest>>::Error: Display + Send,
    <L::Service as Service<RouterRequest>>::Future: Send,
{
    let Some(address) = args.http else {
        let mut transport = StdioTransport::new(router()).drain_timeout(DRAIN).layer(layer);
        // A client that leaves in the middle of a line is no error of ours.
        if let Err(error) = transport.run().await {
            tracing::info!(%error, "the session ended");
        }
        return Ok(());
    };
    let mut transport = HttpTransport::new(router())
        .layer(layer)
        .sse_responses(args.mode != Mode::Json)
        // With layers round the HTTP service alone, for what its tasks fail with.
        .bridge_extension::<Call>();
    if args.mode == Mode::Stateful {
        transport = transport.require_sessions();
    }
    let mut service = transport.into_router_at("/mcp");
    if args.layers.round_http() {
        service = service.layer(layers::layer(args.deadline).route("/mcp"));
    }
    // Ends the process with the streams that are still open.
    listen::serve(address, service, || std::process::exit(0)).await
}
