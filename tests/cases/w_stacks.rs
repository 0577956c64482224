//! W: other tower services, and other transports.

use std::task::{Context, Poll};

use serde_json::{Value, json};
use tower::{
    BoxError, Service, ServiceBuilder,
    buffer::BufferLayer,
    limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer},
};
use tower_outcome::{
    ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, ServerHandlerExt as _,
    binding::rmcp::{RmcpReply, RmcpRequest},
    only_tools,
};

use crate::{
    kit::{LAYERS, Tools, assert_fixed, call, connect_bare, line},
    support::{Client, Transport, readiness::NeedsReadiness},
};

async fn check_healthy(stack: &str, client: Client) {
    for _ in 0..3 {
        let (answer, event) = call(&client, "ok", json!({})).await;
        assert_eq!(answer.text(), "fine", "{stack}: {answer:?}");
        assert_eq!(line(&event), "INFO tool_call_completed completed -", "{stack}");
    }
    assert!(client.request("ping", json!({})).await.result().is_some(), "{stack}");
}

#[tokio::test]
async fn w1_the_service_that_is_called_is_the_one_that_was_ready() {
    macro_rules! check {
        ($($layer:expr),+) => {
            let stack = ServiceBuilder::new()$(.layer($layer))+;
            let client = connect_bare(Tools::new().layered(stack)).await;
            check_healthy(stringify!($($layer),+), client).await;
        };
    }
    check!(OutcomeLayer::new(), NeedsReadiness);
    check!(LogLayer::new(), ContainLayer::new(), NeedsReadiness, ClassifyLayer::new());
    check!(ContainLayer::new(), LogLayer::new(), NeedsReadiness);
    check!(ContainLayer::new(), LogLayer::new(), ClassifyLayer::new(), NeedsReadiness);
    check!(OutcomeLayer::new(), only_tools(NeedsReadiness));
    check!(OutcomeLayer::new(), NeedsReadiness, only_tools(ConcurrencyLimitLayer::new(1)));
    check!(OutcomeLayer::new(), OutcomeLayer::new(), NeedsReadiness);
    check!(OutcomeLayer::new(), ConcurrencyLimitLayer::new(1));
    check!(OutcomeLayer::new(), GlobalConcurrencyLimitLayer::new(1), NeedsReadiness);
    check!(OutcomeLayer::new(), BufferLayer::new(8), NeedsReadiness);
    check!(OutcomeLayer::new(), BufferLayer::new(1), ConcurrencyLimitLayer::new(1));
}

/// Each layer with nothing of ours further out, whose readiness would be another's.
#[tokio::test]
async fn w1_each_layer_alone_calls_the_service_that_was_ready() {
    async fn check(client: Client) {
        for _ in 0..3 {
            assert_eq!(client.call("ok", json!({})).await.text(), "fine");
        }
    }
    let contain = ServiceBuilder::new().layer(ContainLayer::new()).layer(NeedsReadiness);
    check(connect_bare(Tools::new().layered(contain)).await).await;
    let log = ServiceBuilder::new().layer(LogLayer::new()).layer(NeedsReadiness);
    check(connect_bare(Tools::new().layered_uncontained(log)).await).await;
    let classify = ServiceBuilder::new().layer(ClassifyLayer::new()).layer(NeedsReadiness);
    check(connect_bare(Tools::new().layered_uncontained(classify)).await).await;
    check(connect_bare(Tools::new().layered_uncontained(NeedsReadiness)).await).await;
    check(connect_bare(Tools::new().layered_uncontained(only_tools(NeedsReadiness))).await).await;
}

/// The calls of a worker that has panicked fail one by one, and none waits for ever.
#[tokio::test]
async fn w1_a_buffer_whose_worker_has_died_is_an_error_that_is_answered() {
    #[derive(Clone)]
    struct Dies;
    impl Service<RmcpRequest> for Dies {
        type Response = RmcpReply;
        type Error = BoxError;
        type Future = std::future::Ready<Result<RmcpReply, BoxError>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            panic!("the worker dies")
        }
        fn call(&mut self, _: RmcpRequest) -> Self::Future {
            unreachable!()
        }
    }
    let stack = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(only_tools(
        ServiceBuilder::new()
            .layer(BufferLayer::new(8))
            .layer(tower::layer::layer_fn(|_| Dies))
            .into_inner(),
    ));
    let client = connect_bare(Tools::new().layered(stack)).await;
    for _ in 0..3 {
        let (answer, event) = call(&client, "ok", json!({})).await;
        assert_fixed(&answer, &event);
        assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error");
    }
}

fn is_shared<T: Send + Sync + 'static>() {}

#[test]
fn w7_what_is_public_can_be_sent_shared_and_kept() {
    use tower_outcome::{
        Actor, Call, CallId, Candidate, Cause, Code, Declaration, Declared, Effects, Failure,
        Heals, Level, Limit, Origin, Outcome, Policy, Reason, Record, Redactor, Rendering,
        RequestId, Retryable, Session, ToolError, TraceContext, Undeclared, Verdict,
        binding::WhoLeft,
        binding::rmcp::{Layered, Unanswered},
    };
    is_shared::<(ToolError, Declaration, Candidate, Effects, Limit, Rendering)>();
    is_shared::<(Call, CallId, Record, Failure, Cause, Verdict, Origin, RequestId)>();
    is_shared::<(Session, TraceContext, Policy, Redactor, Heals, Undeclared)>();
    is_shared::<(Actor, Code, Declared, Level, Outcome, Reason, Retryable, WhoLeft)>();
    is_shared::<(OutcomeLayer, LogLayer, ClassifyLayer, ContainLayer)>();
    is_shared::<Unanswered>();
    is_shared::<BoxError>();
    // `Error` besides, where it is one.
    fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
    is_error::<Unanswered>();
    fn services<S: Send + Sync + 'static>(_: &Layered<Tools, S>) {
        is_shared::<S>();
        is_shared::<Layered<Tools, S>>();
    }
    services(&Tools::new().layered(OutcomeLayer::new()));
}

#[tokio::test]
async fn w9_progress_of_a_failing_call_arrives_on_every_transport() {
    for transport in
        [Transport::Stdio, Transport::Duplex, Transport::Stateful, Transport::Stdio2026]
    {
        let client = Client::connect(transport, LAYERS).await;
        for (then, code) in [("error", "internal_error"), ("panic", "panic")] {
            let arguments = json!({ "n": 3, "then": then });
            let meta = json!({ "progressToken": then });
            let params = json!({ "name": "progress", "arguments": arguments, "_meta": meta });
            let id = client.start("tools/call", params).await;
            let answer = client.wait(&id).await;
            let event = crate::kit::end(&client, &id).await;
            assert_fixed(&answer, &event);
            assert_eq!(line(&event), format!("ERROR tool_call_failed fault {code}"));
            let is_it = |message: &&Value| message["params"]["progressToken"] == then;
            let came = client.inbox().others();
            assert_eq!(came.iter().filter(is_it).count(), 3, "{transport:?}, {then}: {came:?}");
        }
    }
}
