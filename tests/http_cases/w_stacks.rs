//! W: towers of services, and routers.

use axum::{Router, routing::post_service};
use serde_json::json;
use tower::{
    BoxError, Layer as _, ServiceBuilder, buffer::BufferLayer, limit::ConcurrencyLimitLayer,
};
use tower_http::trace::TraceLayer;
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    kit::{assert_fixed, call, fake, healthy, line, lines, send, whole_call},
    support::{Client, Layers, Logs, Transport},
};

const COMPLETED: &str = "INFO tool_call_completed completed -";

#[tokio::test]
async fn w1_limits_and_buffers_inside_are_ready_before_they_are_called() {
    macro_rules! check {
        ($($layer:expr),+) => {
            let (logs, _guard) = Logs::capture();
            let service = ServiceBuilder::new()$(.layer($layer))+.service(healthy());
            for _ in 0..3 {
                assert_eq!(send(service.clone(), call()).await.message()["id"], 7);
            }
            assert_eq!(lines(&logs), [COMPLETED; 3]);
        };
    }
    check!(OutcomeLayer::new(), ConcurrencyLimitLayer::new(1));
    check!(OutcomeLayer::new(), BufferLayer::new(1), ConcurrencyLimitLayer::new(1));
    check!(
        LogLayer::new(),
        BufferLayer::new(1),
        ContainLayer::new(),
        ConcurrencyLimitLayer::new(1)
    );
    check!(ContainLayer::new(), ClassifyLayer::new(), LogLayer::new(), BufferLayer::new(1));
}

/// A router's last layer is outermost, a builder's first one is.
#[tokio::test]
async fn w3_both_styles_of_the_same_order_log_the_same() {
    let router = || Router::new().route_service("/mcp", unfailing(healthy()));
    let styles = [
        router().layer(OutcomeLayer::new()).layer(TraceLayer::new_for_http()),
        router().layer(
            ServiceBuilder::new().layer(TraceLayer::new_for_http()).layer(OutcomeLayer::new()),
        ),
        router().layer(ContainLayer::new()).layer(ClassifyLayer::new()).layer(LogLayer::new()),
        router().layer(
            ServiceBuilder::new()
                .layer(LogLayer::new())
                .layer(ClassifyLayer::new())
                .layer(ContainLayer::new()),
        ),
    ];
    for router in styles {
        let (logs, _guard) = Logs::capture();
        assert_eq!(send(router, call().map(axum::body::Body::new)).await.message()["id"], 7);
        assert_eq!(line(&whole_call(&logs)), COMPLETED);
    }
}

fn unfailing<S>(service: S) -> tower::util::MapErr<S, fn(BoxError) -> std::convert::Infallible> {
    tower::util::MapErr::new(service, |error| panic!("{error}"))
}

#[tokio::test]
async fn w5_a_service_is_layered_wherever_it_is_mounted() {
    let service = || OutcomeLayer::new().layer(healthy());
    let routers: [Router; 7] = [
        Router::new().nest_service("/mcp", service()),
        Router::new().route_service("/mcp", service()),
        Router::new().route("/mcp", post_service(service())),
        Router::new().fallback_service(service()),
        Router::new().nest_service("/mcp", unfailing(healthy())).layer(OutcomeLayer::new()),
        Router::new().fallback_service(unfailing(healthy())).layer(OutcomeLayer::new()),
        // A route layer is refused only where there is no route at all.
        Router::new().route_service("/mcp", unfailing(healthy())).route_layer(OutcomeLayer::new()),
    ];
    for router in routers {
        let (logs, _guard) = Logs::capture();
        assert_eq!(send(router, call().map(axum::body::Body::new)).await.message()["id"], 7);
        assert_eq!(line(&whole_call(&logs)), COMPLETED);
    }
}

#[tokio::test]
async fn w7_errors_are_such_that_every_stack_takes_them() {
    fn is_plain<T: Send + Sync + 'static>(_: &T) {}
    let layered = OutcomeLayer::new().layer(healthy());
    is_plain(&layered);
    // A panic's payload is nobody's error: what a body fails with can be shared.
    let (logs, _guard) = Logs::capture();
    let body = r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#;
    let service = crate::kit::answers(move || {
        let pieces = [crate::kit::data(body), crate::kit::Piece::Panic("SECRET")];
        crate::kit::response("application/json", crate::kit::Script::of(pieces))
    });
    let response = tower::ServiceExt::oneshot(OutcomeLayer::new().layer(service), call()).await;
    let mut body = response.unwrap().into_body();
    let error = loop {
        match http_body_util::BodyExt::frame(&mut body).await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    is_plain(&error);
    assert!(!error.to_string().contains("SECRET"));
    assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault panic");
    // And an error that a service has is told to nobody.
    let (logs, _guard) = Logs::capture();
    let service = fake(|_| std::future::ready(Err("SECRET".into())));
    let got = send(OutcomeLayer::new().layer(service), call()).await;
    assert_fixed(&got, &whole_call(&logs));
}

#[tokio::test]
async fn w9_progress_passes_beside_a_call_that_fails() {
    for layers in [Layers::Http, Layers::Both] {
        let client = Client::connect(Transport::Http2026, layers).await;
        let params = json!({
            "name": "progress",
            "arguments": { "n": 3, "then": "error" },
            "_meta": { "progressToken": "p" },
        });
        let answer = client.request("tools/call", params).await;
        assert!(answer.is_error(), "{answer:?}");
        let others = client.inbox().others();
        let progress = others.iter().filter(|it| it["params"]["progressToken"] == "p");
        assert_eq!(progress.count(), 3, "{layers:?}: {others:?}");
    }
}
