//! The listener, and what stands between it and the proxy.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    serve::ListenerExt as _,
};
use http::StatusCode;
use tower::ServiceBuilder;
use tower_outcome::OutcomeLayer;

use crate::{args::Args, headers, proxy::Proxy, upstream::Upstream};

/// How long what is in flight may take to end once the gateway is told to stop. Streams may be
/// open for days.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until the process is interrupted.
pub(crate) async fn serve(args: Args) -> Result<(), String> {
    let upstream = Arc::new(args.upstream);
    let listener = tokio::net::TcpListener::bind(args.listen).await.map_err(|error| {
        format!(
            "--listen: cannot listen on '{}' ({error}); choose another port, 0 for any",
            args.listen
        )
    })?;
    let bound = listener.local_addr().map_err(|error| format!("--listen: {error}"))?;
    // Otherwise the second write of a short answer waits 40 ms for the first one's ACK.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });

    let deadline = args.policy.deadline_after().map(|deadline| format!("{deadline:?}"));
    let proxy = ServiceBuilder::new()
        .layer(OutcomeLayer::new().policy(args.policy))
        .service(Proxy::new(Arc::clone(&upstream)));
    let router = Router::new()
        .fallback_service(proxy)
        .layer(middleware::from_fn_with_state(Arc::clone(&upstream), only_what_is_for_it));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();

    tracing::info!(addr = %bound, upstream = %upstream, deadline, "listening");
    let server = axum::serve(listener, service).with_graceful_shutdown(interrupted());
    tokio::select! {
        ended = server => ended.map_err(|error| format!("--listen: {error}")),
        () = out_of_patience() => Ok(()),
    }
}

/// Outside of the layers: what is not for the server is no request of theirs.
async fn only_what_is_for_it(
    State(upstream): State<Arc<Upstream>>,
    mut request: Request,
    next: Next,
) -> Response {
    if upstream.uri(request.uri()).is_none() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let method = request.method().clone();
    if !headers::may_go_on(&method, request.headers_mut()) {
        return StatusCode::NO_CONTENT.into_response();
    }
    next.run(request).await
}

async fn out_of_patience() {
    interrupted().await;
    tokio::time::sleep(GRACE).await;
}

/// Until Ctrl-C or SIGTERM.
async fn interrupted() {
    let ctrl_c = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = ctrl_c => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
