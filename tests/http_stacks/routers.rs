//! axum's routers: every way to mount a service, and layers before, between and after routes.

use axum::{
    Router,
    body::Body,
    extract::{MatchedPath, Request},
    middleware::{self, Next},
    response::Response,
    routing::{get, post_service},
};
use http::StatusCode;
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt as _};
use tower_http::{catch_panic::CatchPanicLayer, trace::TraceLayer};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer, Policy, Undeclared};

use crate::{
    kit::{
        Fake, Got, answers, call, call_text, fake, healthy, is_error, json_response, line, lines,
        post, send, status, success, whole_call,
    },
    support::Logs,
};

const COMPLETED: &str = "INFO tool_call_completed completed -";

/// A service as a router takes it: its errors have to be handled first.
macro_rules! routed {
    ($service:expr) => {
        tower::util::MapErr::new($service, |error: BoxError| -> std::convert::Infallible {
            panic!("{error}")
        })
    };
}

/// The layers outside, so that no error is left.
fn layered(service: Fake, route: &str) -> <OutcomeLayer as Layer<Fake>>::Service {
    OutcomeLayer::new().route(route).layer(service)
}

async fn to(router: &Router, path: &str) -> Got {
    let mut request = call().map(Body::new);
    *request.uri_mut() = path.parse().unwrap();
    send(router.clone(), request).await
}

/// One start and one end, as they should be, for a call to `path`.
async fn check(router: &Router, path: &str, route: Option<&str>) {
    let (logs, _guard) = Logs::capture();
    let got = to(router, path).await;
    assert_eq!(got.message()["id"], 7, "{path}: {got:?}");
    let end = whole_call(&logs);
    assert_eq!((line(&end).as_str(), end.field("route")), (COMPLETED, route), "{path}");
}

#[tokio::test]
async fn a_layer_round_a_router_is_round_all_routes_before_it() {
    let layer = OutcomeLayer::new().route("/mcp");
    let router = Router::new().route_service("/mcp", routed!(healthy()));
    check(&router.clone().layer(layer.clone()), "/mcp", Some("/mcp")).await;
    check(&router.clone().route_layer(layer.clone()), "/mcp", Some("/mcp")).await;
    // A route that comes after a layer is not in it.
    let later = Router::new().layer(layer).route_service("/mcp", routed!(healthy()));
    let (logs, _guard) = Logs::capture();
    assert_eq!(to(&later, "/mcp").await.message()["id"], 7);
    assert_eq!(lines(&logs), [""; 0]);
}

/// `layer` is round what answers 404 as well, `route_layer` is not.
#[tokio::test]
async fn what_has_no_route_is_seen_by_a_layer_and_not_by_a_route_layer() {
    let router = Router::new().route_service("/mcp", routed!(healthy()));
    for (router, expected) in [
        (
            router.clone().layer(OutcomeLayer::new()),
            vec!["INFO tool_call_failed protocol_error http_404"],
        ),
        (router.route_layer(OutcomeLayer::new()), vec![]),
    ] {
        let (logs, _guard) = Logs::capture();
        assert_eq!(to(&router, "/nowhere").await.status, 404);
        assert_eq!(lines(&logs), expected);
    }
}

#[tokio::test]
async fn a_layered_service_can_be_mounted_in_every_way() {
    let one = || layered(healthy(), "one");
    check(&Router::new().route_service("/mcp", one()), "/mcp", Some("one")).await;
    check(&Router::new().route("/mcp", post_service(one())), "/mcp", Some("one")).await;
    check(&Router::new().nest_service("/mcp", one()), "/mcp", Some("one")).await;
    check(&Router::new().nest_service("/mcp", one()), "/mcp/deeper", Some("one")).await;
    check(&Router::new().fallback_service(one()), "/anything", Some("one")).await;
    let nested = Router::new().nest("/api", Router::new().route_service("/mcp", one()));
    check(&nested, "/api/mcp", Some("one")).await;
    let merged = Router::new().route("/", get(|| async { "" })).merge(nested);
    check(&merged, "/api/mcp", Some("one")).await;
    let in_fallback = Router::new().fallback_service(merged);
    check(&in_fallback, "/api/mcp", Some("one")).await;
}

#[tokio::test]
async fn layers_go_round_services_that_are_mounted_in_every_way() {
    let layer = || OutcomeLayer::new().route("outer");
    let raw = || routed!(healthy());
    check(&Router::new().nest_service("/mcp", raw()).layer(layer()), "/mcp", Some("outer")).await;
    check(&Router::new().fallback_service(raw()).layer(layer()), "/x", Some("outer")).await;
    let nested = Router::new().route_service("/mcp", raw()).layer(layer());
    check(&Router::new().nest("/api", nested), "/api/mcp", Some("outer")).await;
    let round_method = post_service(raw()).layer(layer());
    check(&Router::new().route("/mcp", round_method), "/mcp", Some("outer")).await;
}

#[tokio::test]
async fn routes_have_layers_of_their_own() {
    let masked = Policy::new().undeclared(Undeclared::Mask);
    let failing = || answers(|| json_response(is_error(&7.into(), "SECRET")));
    let open = OutcomeLayer::new().route("open");
    let shut = OutcomeLayer::new().route("shut").policy(masked);
    let router = Router::new()
        .route("/open", post_service(routed!(failing())).layer(open))
        .route("/shut", post_service(routed!(failing())).layer(shut))
        .route("/bare", post_service(routed!(failing())));
    for (path, route, is_told) in
        [("/open", Some("open"), true), ("/shut", Some("shut"), false), ("/bare", None, true)]
    {
        let (logs, _guard) = Logs::capture();
        let got = to(&router, path).await;
        assert_eq!(got.text().contains("SECRET"), is_told, "{path}");
        let ends: Vec<_> = logs.events().into_iter().filter(|event| event.is_terminal()).collect();
        let routes: Vec<_> = ends.iter().map(|event| event.field("route")).collect();
        assert_eq!(routes, route.iter().map(|it| Some(*it)).collect::<Vec<_>>(), "{path}");
    }
}

/// What is further in knows best which route it is.
#[tokio::test]
async fn nested_layers_make_one_event_with_the_inner_route() {
    let (logs, _guard) = Logs::capture();
    let inner = Router::new()
        .route_service("/mcp", routed!(healthy()))
        .layer(OutcomeLayer::new().route("inner"));
    let router = Router::new().nest("/api", inner).layer(OutcomeLayer::new().route("outer"));
    assert_eq!(to(&router, "/api/mcp").await.message()["id"], 7);
    let end = whole_call(&logs);
    assert_eq!((line(&end).as_str(), end.field("route")), (COMPLETED, Some("inner")));
}

/// `Router::layer` puts the last one outside, `ServiceBuilder` the first.
#[tokio::test]
async fn both_orders_of_the_same_layers_log_the_same() {
    let panics = || fake(|_| async { panic!("SECRET") });
    let router = Router::new().route_service("/mcp", routed!(panics()));
    let by_router = router.clone().layer(OutcomeLayer::new()).layer(TraceLayer::new_for_http());
    let by_builder = router
        .clone()
        .layer(ServiceBuilder::new().layer(TraceLayer::new_for_http()).layer(OutcomeLayer::new()));
    let apart = router.clone().layer(ContainLayer::new()).layer(LogLayer::new());
    for router in [by_router, by_builder, apart] {
        let (logs, _guard) = Logs::capture();
        let got = to(&router, "/mcp").await;
        let end = whole_call(&logs);
        assert_eq!(line(&end), "ERROR tool_call_failed fault panic");
        crate::kit::assert_fixed(&got, &end);
    }
    // The other way round, somebody else has caught the panic before.
    let (logs, _guard) = Logs::capture();
    let router = router.layer(CatchPanicLayer::new()).layer(OutcomeLayer::new());
    assert_eq!(to(&router, "/mcp").await.message()["result"]["isError"], true);
    assert_eq!(line(&whole_call(&logs)), "ERROR tool_call_failed fault upstream_error");
}

async fn refuses(request: Request, next: Next) -> Response {
    if request.headers().contains_key("x-refuse") {
        return Response::builder().status(StatusCode::UNAUTHORIZED).body("who?".into()).unwrap();
    }
    next.run(request).await
}

async fn panics(request: Request, next: Next) -> Response {
    assert!(!request.headers().contains_key("x-panic"), "SECRET of a middleware");
    next.run(request).await
}

/// `Next` runs what is inside with axum's own bodies: the form that compiles is the one with
/// `axum::extract::Request`.
#[tokio::test]
async fn middleware_from_functions_goes_on_either_side() {
    let router = Router::new()
        .route_service("/mcp", routed!(healthy()))
        .layer(middleware::from_fn(panics))
        .layer(middleware::from_fn(refuses))
        .layer(OutcomeLayer::new());
    check(&router, "/mcp", None).await;
    for (header, expected) in [
        ("x-refuse", "INFO tool_call_failed protocol_error http_401"),
        ("x-panic", "ERROR tool_call_failed fault panic"),
    ] {
        let (logs, _guard) = Logs::capture();
        let mut request = call().map(Body::new);
        request.headers_mut().insert(header, "1".parse().unwrap());
        let got = send(router.clone(), request).await;
        assert_eq!(line(&whole_call(&logs)), expected);
        assert!(!got.text().contains("SECRET"));
        assert_eq!(got.text() == "who?", header == "x-refuse");
    }
    // Further out, a refusal is none of ours.
    let (logs, _guard) = Logs::capture();
    let router = Router::new()
        .route_service("/mcp", routed!(healthy()))
        .layer(OutcomeLayer::new())
        .layer(middleware::from_fn(refuses));
    check(&router, "/mcp", None).await;
    let mut request = call().map(Body::new);
    request.headers_mut().insert("x-refuse", "1".parse().unwrap());
    assert_eq!(send(router, request).await.status, 401);
    assert_eq!(lines(&logs), [""; 0]);
}

#[tokio::test]
async fn handlers_and_extractors_of_axum_are_inside() {
    async fn handle(path: MatchedPath, body: axum::body::Bytes) -> Response {
        let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(path.as_str(), "/{tenant}/mcp");
        let text = success(&message["id"]);
        Response::builder().header("content-type", "application/json").body(text.into()).unwrap()
    }
    let router = Router::new()
        .route("/{tenant}/mcp", axum::routing::post(handle))
        .route("/health", get(|| async { "fine" }))
        .layer(OutcomeLayer::new());
    check(&router, "/acme/mcp", None).await;
    let (logs, _guard) = Logs::capture();
    let health = http::Request::get("/health").body(Body::empty()).unwrap();
    assert_eq!(send(router.clone(), health).await.text(), "fine");
    // A wrong method is axum's own to refuse.
    let wrong = http::Request::put("/acme/mcp").body(Body::empty()).unwrap();
    assert_eq!(send(router.clone(), wrong).await.status, 405);
    assert_eq!(lines(&logs), [""; 0]);
    // And so is a body that is longer than its extractors take.
    let (logs, _guard) = Logs::capture();
    let long = call_text(7, "ok").replace("{}", &format!("{{\"x\":\"{}\"}}", "x".repeat(3 << 20)));
    let mut request = post(long).map(Body::new);
    *request.uri_mut() = "/acme/mcp".parse().unwrap();
    let got = send(router, request).await;
    assert_eq!(got.status, 413, "{got:?}");
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_failed protocol_error http_413");
}

#[tokio::test]
async fn errors_that_are_handled_inside_keep_their_meaning() {
    use axum::error_handling::HandleErrorLayer;
    let stack = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(HandleErrorLayer::new(|error: BoxError| async move {
            (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
        }))
        .layer(tower::load_shed::LoadShedLayer::new())
        .layer(tower::limit::GlobalConcurrencyLimitLayer::new(0));
    let router = Router::new().route_service("/mcp", routed!(healthy())).layer(stack);
    let (logs, _guard) = Logs::capture();
    let got = to(&router, "/mcp").await;
    let end = whole_call(&logs);
    assert_eq!(line(&end), "WARN tool_call_failed fault upstream_error");
    crate::kit::assert_fixed(&got, &end);
}

#[tokio::test]
async fn the_stack_without_an_error_of_its_own_needs_no_handler_of_errors() {
    // It would not compile if the error were not `Infallible`.
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(tower::timeout::TimeoutLayer::new(crate::support::GUARD))
        .service(answers(|| status(404, "no such page")));
    let router: Router = Router::new().route_service("/mcp", service);
    let (logs, _guard) = Logs::capture();
    let response = router.oneshot(call().map(Body::new)).await.unwrap();
    assert_eq!(response.status(), 404);
    drop(response);
    assert_eq!(lines(&logs).len(), 1);
}
