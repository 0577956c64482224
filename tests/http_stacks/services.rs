//! tower's own layers round the layers, between them, and inside.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::json;
use tower::{
    BoxError, Layer, Service, ServiceBuilder, ServiceExt as _,
    buffer::BufferLayer,
    limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer, RateLimitLayer},
    load_shed::LoadShedLayer,
    retry::RetryLayer,
    timeout::TimeoutLayer,
};
use tower_outcome::{
    ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer,
    binding::http::{RequestBody, ResponseBody},
};
use tower_test::mock;

use crate::{
    kit::{
        self, Fake, Script, answers, assert_fixed, call, fake, guarded, healthy, json_response,
        line, lines, read, send, success, whole_call,
    },
    support::{Logs, readiness::NeedsReadiness},
};

#[tokio::test]
async fn the_service_that_is_called_is_the_one_that_was_ready() {
    macro_rules! check {
        ($($layer:expr),+) => {
            let (logs, _guard) = Logs::capture();
            let mut service = ServiceBuilder::new()$(.layer($layer))+.service(healthy());
            for _ in 0..3 {
                // One service for all, as hyper has it, and a clone a request, as axum has it.
                let got = send(&mut service, call()).await;
                assert_eq!(got.message()["id"], 7, stringify!($($layer),+));
                let got = send(service.clone(), call()).await;
                assert_eq!(got.message()["id"], 7, stringify!($($layer),+));
            }
            let all = lines(&logs);
            assert!(all.iter().all(|line| line == "INFO tool_call_completed completed -"), "{all:?}");
        };
    }
    check!(OutcomeLayer::new(), NeedsReadiness);
    check!(LogLayer::new(), ContainLayer::new(), NeedsReadiness, ClassifyLayer::new());
    check!(ContainLayer::new(), LogLayer::new(), NeedsReadiness);
    check!(ContainLayer::new(), LogLayer::new(), ClassifyLayer::new(), NeedsReadiness);
    check!(OutcomeLayer::new(), OutcomeLayer::new(), NeedsReadiness);
    check!(LogLayer::new(), NeedsReadiness);
    check!(ClassifyLayer::new(), NeedsReadiness);
    check!(OutcomeLayer::new(), ConcurrencyLimitLayer::new(1));
    check!(OutcomeLayer::new(), GlobalConcurrencyLimitLayer::new(1), NeedsReadiness);
    check!(OutcomeLayer::new(), BufferLayer::new(8), NeedsReadiness);
    check!(OutcomeLayer::new(), BufferLayer::new(1), ConcurrencyLimitLayer::new(1));
    check!(BufferLayer::new(1), OutcomeLayer::new(), NeedsReadiness);
    check!(NeedsReadiness, OutcomeLayer::new(), NeedsReadiness);
}

#[tokio::test]
async fn a_mock_is_called_through_the_handle_that_was_ready() {
    let (_logs, _guard) = Logs::capture();
    let (mock, mut handle) = mock::pair::<Request<RequestBody<Full<Bytes>>>, Response<Script>>();
    handle.allow(0);
    let service = ContainLayer::new().layer(mock);
    let mut first = Box::pin(send(service.clone(), call()));
    // It waits inside, and goes on with the same handle once that is ready.
    assert!(kit::is_pending(&mut first).await);
    handle.allow(1);
    assert!(kit::is_pending(&mut first).await);
    let (request, reply) = guarded(handle.next_request()).await.unwrap();
    assert_eq!(request.headers()["content-type"], "application/json");
    reply.send_response(json_response(success(&7.into())));
    assert_eq!(first.await.message()["id"], 7);
    // Another handle is not ready because that one was.
    let mut second = Box::pin(send(service, call()));
    assert!(kit::is_pending(&mut second).await);
    handle.allow(1);
    assert!(kit::is_pending(&mut second).await);
    let (_, reply) = guarded(handle.next_request()).await.unwrap();
    reply.send_error("SECRET of the mock");
    let got = second.await;
    assert_eq!(got.message()["result"]["isError"], true);
    assert!(!got.text().contains("SECRET"));
}

fn hangs() -> Fake {
    fake(|_| std::future::pending())
}

#[tokio::test]
async fn a_call_that_waits_for_a_limit_is_logged_while_it_waits() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(GlobalConcurrencyLimitLayer::new(1))
        .service(hangs());
    let mut first = Box::pin(send(service.clone(), call()));
    assert!(kit::is_pending(&mut first).await);
    let mut second = Box::pin(send(service.clone(), call()));
    assert!(kit::is_pending(&mut second).await);
    let started = |logs: &Logs| {
        logs.events().iter().filter(|event| event.message == "tool_call_started").count()
    };
    assert_eq!(started(&logs), 2);
    drop(second);
    assert_eq!(lines(&logs), ["INFO tool_call_abandoned abandoned -"]);
    drop(first);
    assert_eq!(lines(&logs).len(), 2);
}

#[tokio::test]
async fn load_shed_is_a_rate_limit() {
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(LoadShedLayer::new())
        .layer(GlobalConcurrencyLimitLayer::new(1))
        .service(hangs());
    let mut first = Box::pin(send(service.clone(), call()));
    assert!(kit::is_pending(&mut first).await);
    let (logs, _guard) = Logs::capture();
    let got = send(service, call()).await;
    let end = whole_call(&logs);
    assert_eq!(line(&end), "WARN tool_call_failed fault rate_limited");
    assert_fixed(&got, &end);
    let record = &got.message()["result"]["_meta"]["tower-outcome/failure"];
    assert_eq!((&record["code"], &record["actor"]), (&json!("rate_limited"), &json!("time")));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_inside_is_a_timeout() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(TimeoutLayer::new(Duration::from_secs(5)))
        .service(hangs());
    let got = send(service, call()).await;
    let end = whole_call(&logs);
    assert_eq!(line(&end), "WARN tool_call_failed fault timeout");
    assert_fixed(&got, &end);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_outside_leaves_the_call() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(TimeoutLayer::new(Duration::from_secs(5)))
        .layer(OutcomeLayer::new())
        .service(hangs());
    let error = service.oneshot(call()).await.map(drop).unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>());
    assert_eq!(lines(&logs), ["INFO tool_call_abandoned abandoned -"]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_makes_calls_wait_and_none_fail() {
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(BufferLayer::new(8))
        .layer(RateLimitLayer::new(1, Duration::from_secs(5)))
        .service(healthy());
    for _ in 0..3 {
        assert_eq!(send(service.clone(), call()).await.message()["id"], 7);
    }
    assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"; 3]);
}

/// Asks again after a failure, with a copy of a body that can be copied.
#[derive(Clone)]
struct Again(usize);

impl tower::retry::Policy<Request<Full<Bytes>>, Response<ResponseBody<Script>>, BoxError>
    for Again
{
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<ResponseBody<Script>>, BoxError>,
    ) -> Option<Self::Future> {
        self.0 = self.0.checked_sub(1)?;
        result.is_err().then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

#[tokio::test]
async fn a_retry_further_out_is_another_request_each_time() {
    let (logs, _guard) = Logs::capture();
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let service = ServiceBuilder::new().layer(RetryLayer::new(Again(3))).layer(LogLayer::new());
    let service = service.service(fake(move |_| {
        let attempt = counted.fetch_add(1, Ordering::Relaxed);
        let answer = match attempt {
            0 => Err("not now".into()),
            _ => Ok(json_response(success(&7.into()))),
        };
        std::future::ready(answer)
    }));
    assert_eq!(send(service, call()).await.message()["id"], 7);
    let expected =
        ["ERROR tool_call_failed fault internal_error", "INFO tool_call_completed completed -"];
    assert_eq!(lines(&logs), expected);
}

/// A clone of a request shares its extensions, and with them what is known of the call.
#[tokio::test]
async fn a_retry_between_the_layers_makes_one_call_of_all_attempts() {
    #[derive(Clone)]
    struct Twice<S>(S);
    impl<S> Service<Request<RequestBody<Full<Bytes>>>> for Twice<S>
    where
        S: Service<Request<Full<Bytes>>, Response = Response<ResponseBody<Script>>> + Clone,
        S: Send + 'static,
        S::Future: Send,
        S::Error: Send + std::fmt::Debug,
    {
        type Response = S::Response;
        type Error = S::Error;
        type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
            self.0.poll_ready(cx)
        }
        fn call(&mut self, request: Request<RequestBody<Full<Bytes>>>) -> Self::Future {
            let mut service = self.0.clone();
            Box::pin(async move {
                let (parts, body) = request.into_parts();
                let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
                let request = || Request::from_parts(parts.clone(), Full::new(body.clone()));
                let first = service.ready().await?.call(request()).await?;
                read(first).await;
                service.ready().await?.call(request()).await
            })
        }
    }
    let (logs, _guard) = Logs::capture();
    let inner = ContainLayer::new().layer(answers(|| json_response(success(&7.into()))));
    let got = send(LogLayer::new().layer(Twice(inner)), call()).await;
    assert_eq!(got.message()["id"], 7);
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_completed completed -");
}

#[tokio::test]
async fn a_buffer_whose_worker_has_died_is_answered_each_time() {
    #[derive(Clone)]
    struct Dies;
    impl<B> Service<Request<B>> for Dies {
        type Response = Response<Script>;
        type Error = BoxError;
        type Future = std::future::Ready<Result<Response<Script>, BoxError>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            panic!("the worker dies")
        }
        fn call(&mut self, _: Request<B>) -> Self::Future {
            unreachable!()
        }
    }
    let (logs, _guard) = Logs::capture();
    let service =
        ServiceBuilder::new().layer(OutcomeLayer::new()).layer(BufferLayer::new(4)).service(Dies);
    for _ in 0..3 {
        assert_eq!(send(service.clone(), call()).await.message()["result"]["isError"], true);
    }
    let all = lines(&logs);
    assert!(all.len() == 3 && all.iter().all(|it| it.starts_with("ERROR tool_call_failed fault")));
}
