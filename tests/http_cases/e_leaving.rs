//! E: clients that leave, and timeouts.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::json;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _, timeout::TimeoutLayer};
use tower_http::timeout::TimeoutLayer as HttpTimeoutLayer;
use tower_outcome::OutcomeLayer;

use crate::{
    kit::{
        Script, answers, assert_fixed, call, call_2026, data, fake, guarded, is_pending, line,
        lines, send, sse_response, until, whole_call,
    },
    support::{Client, Layers, Logs, Transport},
};

#[tokio::test]
async fn e1_a_client_that_hangs_up_is_no_error() {
    for (request, outcome) in [(call(), "abandoned"), (call_2026(), "cancelled")] {
        let (logs, _guard) = Logs::capture();
        let service = OutcomeLayer::new().layer(fake(|_| std::future::pending()));
        let mut pending = Box::pin(send(service, request));
        assert!(is_pending(&mut pending).await);
        drop(pending);
        assert_eq!(line(&whole_call(&logs)), format!("INFO tool_call_{outcome} {outcome} -"));
    }
}

#[tokio::test]
async fn e3_in_a_session_a_dropped_stream_is_no_end_and_the_tools_end_is_one() {
    let client = Client::connect(Transport::Stateful, Layers::Both).await;
    let before = client.bytes().len();
    let id = client.start_call("slow", json!({ "ms": 400 })).await;
    client.logs().wait_for_event(&id, "tool_call_started").await.unwrap();
    // Before it has the id of an event, a client cannot come back, and has left.
    let is_primed = || String::from_utf8_lossy(&client.bytes()[before..]).contains("id: ");
    until("the stream can be taken up again", is_primed).await;
    client.hang_up(&id);
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!(line(&end), "INFO tool_call_completed completed -");
    assert_eq!(client.call("slow", json!({ "ms": 500 })).await.text(), "slept 500 ms");
    assert_eq!(client.logs().terminal(&id).len(), 1);
}

/// What goes down with its runtime has begun in the log, and has left.
#[test]
fn e5_a_call_that_is_killed_with_its_runtime_has_a_start_and_an_end() {
    let (logs, _guard) = Logs::capture();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let service = OutcomeLayer::new().layer(fake(|_| std::future::pending()));
        tokio::spawn(async move { send(service, call()).await });
        tokio::task::yield_now().await;
        assert!(logs.events().iter().any(|event| event.message == "tool_call_started"));
        assert_eq!(lines(&logs), [""; 0]);
    });
    drop(runtime);
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_abandoned abandoned -");
}

#[tokio::test(start_paused = true)]
async fn e7_a_timeout_that_fires_inside_is_a_timeout_and_no_cancel() {
    let slow = || fake(|_| std::future::pending());
    let limit = Duration::from_millis(50);
    let builder = || ServiceBuilder::new().layer(OutcomeLayer::new());
    let by_tower = builder().layer(TimeoutLayer::new(limit)).service(slow());
    let status = http::StatusCode::REQUEST_TIMEOUT;
    let by_http =
        builder().layer(HttpTimeoutLayer::with_status_code(status, limit)).service(slow());
    let by_us = OutcomeLayer::new().deadline(limit).layer(slow());
    for at in 0..3 {
        let (logs, _guard) = Logs::capture();
        let got = match at {
            0 => send(by_tower.clone(), call()).await,
            1 => send(by_http.clone(), call()).await,
            _ => send(by_us.clone(), call()).await,
        };
        let end = whole_call(&logs);
        assert_eq!(line(&end), "WARN tool_call_failed fault timeout", "{at}");
        assert_eq!(end.field("actor"), Some("time"));
        assert_fixed(&got, &end);
        let text = got.text();
        assert!(text.contains("took too long") && !text.contains("cancel"), "{text}");
        let record = &got.message()["result"]["_meta"]["tower-outcome/failure"];
        let facts = (&record["code"], &record["retryable"]);
        assert!(facts.1 == &json!("after_delay") && facts.0 != &json!("cancelled"), "{record}");
    }
}

/// F13 of the same kind: tower-http's timeout covers the head alone.
#[tokio::test(start_paused = true)]
async fn e7_a_timeout_of_heads_does_not_cut_a_stream() {
    let (pen, body) = Script::new();
    let body = std::sync::Mutex::new(Some(body));
    let service = answers(move || sse_response(body.lock().unwrap().take().unwrap()));
    let status = http::StatusCode::REQUEST_TIMEOUT;
    let limit = HttpTimeoutLayer::with_status_code(status, Duration::from_secs(1));
    let (logs, _guard) = Logs::capture();
    let service = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(limit).service(service);
    let mut body = guarded(service.oneshot(call())).await.unwrap().into_body();
    tokio::time::sleep(Duration::from_secs(3)).await;
    pen.send(data(crate::kit::event(&crate::kit::success(&7.into())))).unwrap();
    assert!(guarded(body.frame()).await.unwrap().is_ok());
    drop(body);
    assert_eq!(line(&whole_call(&logs)), "INFO tool_call_completed completed -");
}
