//! Serving the router, inside of layers, over stdio, HTTP or WebSocket.

use std::{fmt::Display, time::Duration};

use tower::{Layer, Service};
use tower_mcp::{
    HttpTransport, McpRouter, RouterRequest, RouterResponse, StdioTransport, WebSocketTransport,
};
use tower_outcome::Call;

use crate::{args::Args, layers, listen, router::router};

/// How sessions and answers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// HTTP with sessions; answers as SSE.
    Stateful,
    /// HTTP without sessions; answers as SSE.
    Stateless,
    /// HTTP without sessions; answers as JSON.
    Json,
    WebSocket,
}

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("stateful", Mode::Stateful),
    ("stateless", Mode::Stateless),
    ("json", Mode::Json),
    ("websocket", Mode::WebSocket),
];

/// How long calls that are still running may go on once stdin has ended.
const DRAIN: Duration = Duration::from_millis(200);

/// Serves as the command line says, with `layer` round the router.
pub(crate) async fn serve<L>(layer: L, args: &Args<Mode>) -> Result<(), String>
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
    let mut service = if args.mode == Mode::WebSocket {
        let transport = WebSocketTransport::new(router()).layer(layer).bridge_extension::<Call>();
        transport.into_router_at("/mcp")
    } else {
        let transport = HttpTransport::new(router())
            .layer(layer)
            .sse_responses(args.mode != Mode::Json)
            // With layers round the HTTP service alone, for what its tasks fail with.
            .bridge_extension::<Call>();
        let transport =
            if args.mode == Mode::Stateful { transport.require_sessions() } else { transport };
        transport.into_router_at("/mcp")
    };
    if args.layers.round_http() {
        service = service.layer(layers::layer(args.deadline).route("/mcp"));
    }
    // Ends the process with the streams that are still open.
    listen::serve(address, service, || std::process::exit(0)).await
}
