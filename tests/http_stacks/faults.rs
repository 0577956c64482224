//! Services that panic or fail, wherever they can.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, header};
use serde_json::json;
use tower::{BoxError, Layer as _, Service, ServiceExt as _};
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, Policy, Undeclared};

use crate::{
    kit::{
        Got, Piece, Script, answers, assert_fixed, call, call_2026, call_for_events, data, event,
        fake, guarded, is_error, json_response, line, lines, post, read, send, sse_response,
        success, whole_call,
    },
    script::Watch,
    support::Logs,
};

const PANIC: &str = "ERROR tool_call_failed fault panic";
const UPSTREAM: &str = "ERROR tool_call_failed fault upstream_error";

/// Where a service goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    PollReady,
    PollReadyError,
    Call,
    FirstPoll,
    LaterPoll,
    Error,
    Clone,
}

/// A service that goes wrong.
struct Wrong {
    at: At,
    /// Whether it still does.
    armed: Arc<AtomicBool>,
}

impl Wrong {
    fn new(at: At) -> Self {
        // One that cannot be cloned must first be in a stack.
        let armed = AtomicBool::new(at != At::Clone);
        Self { at, armed: Arc::new(armed) }
    }
}

impl Clone for Wrong {
    fn clone(&self) -> Self {
        if self.at == At::Clone && self.armed.swap(false, Ordering::Relaxed) {
            panic!("SECRET in clone");
        }
        Self { at: self.at, armed: Arc::clone(&self.armed) }
    }
}

impl<B> Service<Request<B>> for Wrong {
    type Response = Response<Script>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Script>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self.at {
            At::PollReady => panic!("SECRET in poll_ready"),
            At::PollReadyError => Poll::Ready(Err("SECRET of poll_ready".into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let at = self.at;
        assert!(at != At::Call, "SECRET in call");
        Box::pin(async move {
            assert!(at != At::FirstPoll, "SECRET in the first poll");
            tokio::task::yield_now().await;
            match at {
                At::LaterPoll => panic!("SECRET later"),
                At::Error => Err("SECRET of the service".into()),
                _ => Ok(json_response(success(&7.into()))),
            }
        })
    }
}

/// A failed call, by clients that read JSON, events, and the newest revision.
async fn check_contained(what: &str, expected: &str, send: impl AsyncFn(u8) -> Got) {
    for client in 0..3 {
        let (logs, _guard) = Logs::capture();
        let got = send(client).await;
        let end = whole_call(&logs);
        assert_fixed(&got, &end);
        assert_eq!(line(&end), expected, "{what}");
        assert!(!got.text().contains("SECRET"), "{what}: {got:?}");
        assert!(end.field("cause").unwrap().contains("SECRET"), "{what}: {end:?}");
        let message = got.message();
        assert_eq!(message["id"], 7, "{what}");
        let media_type = if client == 1 { "text/event-stream" } else { "application/json" };
        assert_eq!(got.header("content-type"), media_type, "{what}");
        let result_type = if client == 2 { json!("complete") } else { json!(null) };
        assert_eq!(message["result"]["resultType"], result_type, "{what}");
    }
}

fn request_of(client: u8) -> Request<http_body_util::Full<Bytes>> {
    match client {
        0 => call(),
        1 => call_for_events(),
        _ => call_2026(),
    }
}

#[tokio::test]
async fn whatever_a_service_does_before_its_head_is_answered() {
    for (at, expected) in [
        (At::PollReady, PANIC),
        (At::PollReadyError, "ERROR tool_call_failed fault internal_error"),
        (At::Call, PANIC),
        (At::FirstPoll, PANIC),
        (At::LaterPoll, PANIC),
        (At::Error, "ERROR tool_call_failed fault internal_error"),
    ] {
        let what = format!("{at:?}");
        check_contained(&what, expected, async |client| {
            send(OutcomeLayer::new().layer(Wrong::new(at)), request_of(client)).await
        })
        .await;
        // Nothing of ours further out, and twice.
        check_contained(&what, expected, async |client| {
            let contain = ContainLayer::new().layer(Wrong::new(at));
            send(LogLayer::new().layer(contain), request_of(client)).await
        })
        .await;
        check_contained(&what, expected, async |client| {
            let twice = OutcomeLayer::new().layer(OutcomeLayer::new().layer(Wrong::new(at)));
            send(twice, request_of(client)).await
        })
        .await;
    }
}

#[tokio::test]
async fn a_service_that_cannot_be_cloned_is_answered() {
    for client in 0..3 {
        let (logs, _guard) = Logs::capture();
        let wrong = Wrong::new(At::Clone);
        let armed = Arc::clone(&wrong.armed);
        let mut service = OutcomeLayer::new().layer(wrong);
        armed.store(true, Ordering::Relaxed);
        // Made ready, so that it need not be cloned before its turn.
        std::future::poll_fn(|cx| {
            Service::<Request<http_body_util::Full<Bytes>>>::poll_ready(&mut service, cx)
        })
        .await
        .unwrap();
        let got = read(service.call(request_of(client)).await.unwrap()).await;
        let lines = lines(&logs);
        assert!(lines.len() == 1 && got.message()["id"] == 7, "{lines:?} {got:?}");
    }
}

#[tokio::test]
async fn layers_that_do_not_contain_let_panics_and_errors_pass() {
    for (at, code) in [
        (At::Call, "panic"),
        (At::FirstPoll, "panic"),
        (At::LaterPoll, "panic"),
        (At::Error, "internal_error"),
    ] {
        let (logs, _guard) = Logs::capture();
        let service = LogLayer::new().layer(ClassifyLayer::new().layer(Wrong::new(at)));
        let task = tokio::spawn(async { service.oneshot(call()).await.map(drop) });
        match guarded(task).await {
            Ok(Ok(())) => panic!("{at:?} is answered"),
            Ok(Err(error)) => assert_eq!(error.to_string(), "SECRET of the service"),
            Err(error) => assert!(error.is_panic() && at != At::Error),
        }
        assert_eq!(lines(&logs), [format!("ERROR tool_call_failed fault {code}")], "{at:?}");
    }
}

/// The pieces of a body, of which the first come before it goes wrong.
fn body(json: bool, before: &str, last: Piece) -> impl Fn() -> Response<Script> + use<> {
    let before = before.to_owned();
    let last = std::sync::Mutex::new(Some(last));
    move || {
        let pieces =
            [(!before.is_empty()).then(|| data(before.clone())), last.lock().unwrap().take()];
        let body = Script::of(pieces.into_iter().flatten());
        if json { crate::kit::response("application/json", body) } else { sse_response(body) }
    }
}

#[tokio::test]
async fn a_json_body_that_breaks_before_anything_of_it_has_gone_out_is_replaced() {
    let before =
        ["", " ", "{", "{\"jsonrpc\":\"2.0\",\"id\":7,", "{\"id\":7,\"error\":{\"code\":-32"];
    for before in before {
        check_contained(before, PANIC, async |client| {
            let service = answers(body(true, before, Piece::Panic("SECRET in a body")));
            send(OutcomeLayer::new().layer(service), request_of(client)).await
        })
        .await;
        check_contained(before, UPSTREAM, async |client| {
            let service = answers(body(true, before, Piece::Error("SECRET of a body")));
            send(OutcomeLayer::new().layer(service), request_of(client)).await
        })
        .await;
    }
}

#[tokio::test]
async fn a_json_body_that_breaks_while_a_result_flows_ends_with_the_error() {
    let before = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"half"#;
    for (last, expected, passed) in [
        (Piece::Panic("SECRET in a body"), PANIC, "the body broke off"),
        (Piece::Error("SECRET of a body"), UPSTREAM, "SECRET of a body"),
    ] {
        let (logs, _guard) = Logs::capture();
        let got = send(OutcomeLayer::new().layer(answers(body(true, before, last))), call()).await;
        assert_eq!((got.text().as_str(), got.error.as_deref()), (before, Some(passed)));
        let end = whole_call(&logs);
        assert_eq!(line(&end), expected);
        assert!(end.field("cause").unwrap().contains("SECRET"));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_event_that_says_so() {
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let befores = [
        String::new(),
        ":\n\n".to_owned(),
        event(progress),
        format!("{}data: {{\"id\":7,\"res", event(progress)),
        "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[".to_owned(),
        "id: 1\ndata:\n\n".to_owned(),
    ];
    for before in &befores {
        for (last, expected) in [
            (Piece::Panic("SECRET in a body") as Piece, PANIC),
            (Piece::Error("SECRET of a body"), UPSTREAM),
        ] {
            let (logs, _guard) = Logs::capture();
            let service = answers(body(false, before, last));
            let got = send(OutcomeLayer::new().layer(service), call()).await;
            let end = whole_call(&logs);
            assert_eq!(line(&end), expected, "{before:?}");
            assert_eq!(got.error, None, "{before:?}");
            // What has begun is ended, so that the event of ours is one of its own.
            let text = got.text();
            let last = text.trim_end().rsplit("\n\n").next().unwrap();
            let fault =
                last.strip_prefix("event: message\ndata: ").unwrap_or_else(|| panic!("{text}"));
            let fault: serde_json::Value = serde_json::from_str(fault).unwrap();
            assert_eq!((&fault["id"], &fault["result"]["isError"]), (&json!(7), &json!(true)));
            assert!(!text.contains("SECRET") && text.ends_with("\n\n"), "{text}");
        }
    }
}

#[tokio::test]
async fn what_breaks_after_the_answer_costs_nothing() {
    for last in [Piece::Panic("SECRET"), Piece::Error("SECRET")] {
        let (logs, _guard) = Logs::capture();
        let service = answers(body(false, &event(&success(&7.into())), last));
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        assert_eq!((got.message()["id"].clone(), got.error), (json!(7), None));
        assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);
    }
}

/// A future whose destructor panics, once it is armed.
struct Heavy<F>(Pin<Box<F>>);

impl<F: Future> Future for Heavy<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl<F> Drop for Heavy<F> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("SECRET in a destructor");
        }
    }
}

#[tokio::test]
async fn destructors_that_panic_cost_no_answer() {
    // Of the future.
    let (logs, _guard) = Logs::capture();
    let service = tower::service_fn(|_: Request<_>| {
        Heavy(Box::pin(async { Ok::<_, BoxError>(json_response(success(&7.into()))) }))
    });
    let service = ContainLayer::new().layer(service);
    let got = send(LogLayer::new().layer(service), call()).await;
    assert_eq!(got.message()["result"]["content"][0]["text"], "fine");
    let mut seen = lines(&logs);
    seen.sort();
    assert_eq!(seen, ["ERROR tool_failed fault panic", "INFO tool_call_completed completed -"]);

    // Of a body that was read to its end, of one that was left, and of one that was replaced.
    for (text, leaves) in [
        (success(&7.into()), false),
        (success(&7.into()), true),
        (crate::kit::error(&7.into(), -32603, "no"), false),
    ] {
        let (logs, _guard) = Logs::capture();
        let watch = Watch::default();
        watch.drop_panics.store(true, Ordering::Relaxed);
        let of_body = watch.clone();
        let service = answers(move || {
            crate::kit::response("application/json", Script::whole(text.clone()).watched(&of_body))
        });
        let service = OutcomeLayer::new().layer(service);
        let response = guarded(service.oneshot(call())).await.unwrap();
        if leaves {
            drop(response);
        } else {
            assert_eq!(read(response).await.message()["id"], 7);
        }
        assert!(watch.is_dropped());
        let seen = lines(&logs);
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen.contains(&"ERROR tool_failed fault panic".to_owned()), "{seen:?}");
    }
}

#[tokio::test]
async fn a_request_whose_body_panics_is_answered() {
    for before in ["", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","] {
        let (logs, _guard) = Logs::capture();
        let pieces = [data(before), Piece::Panic("SECRET in a request")];
        let request = call().map(|_| Script::of(pieces));
        let service = OutcomeLayer::new().layer(crate::kit::healthy());
        let task = tokio::spawn(async move { send(service, request).await });
        let got = guarded(task).await.expect("the panic is contained");
        assert_eq!(lines(&logs).len(), 1, "{got:?}");
        assert!(!got.text().contains("SECRET"));
    }
}

#[tokio::test]
async fn what_has_no_id_is_an_empty_500_and_one_event() {
    let notification = post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let get = Request::get("/mcp").header(header::ACCEPT, "text/event-stream");
    let delete = Request::delete("/mcp").header("mcp-session-id", "faults-1");
    let foreign = Request::get("/health");
    let empty = || http_body_util::Full::<Bytes>::default();
    let requests = [
        (notification, "ERROR notification_failed fault panic"),
        (get.body(empty()).unwrap(), "ERROR request_failed fault panic"),
        (delete.body(empty()).unwrap(), "ERROR request_failed fault panic"),
        (foreign.body(empty()).unwrap(), "ERROR request_failed fault panic"),
    ];
    for (request, expected) in requests {
        let (logs, _guard) = Logs::capture();
        let service = fake(|_| async { panic!("SECRET") });
        let got = send(OutcomeLayer::new().layer(service), request).await;
        assert_eq!((got.status, got.text().as_str()), (500, ""));
        assert_eq!(got.header("content-length"), "0");
        let failed = lines(&logs);
        let failed: Vec<_> = failed.iter().filter(|line| !line.contains("received")).collect();
        assert_eq!(failed, [expected]);
    }
}

#[tokio::test]
async fn containment_alone_has_a_policy_too() {
    let failing = || answers(|| json_response(is_error(&7.into(), "SECRET")));
    let got = send(ContainLayer::new().layer(failing()), call()).await;
    assert!(got.text().contains("SECRET"), "{got:?}");
    let policy = Policy::new().undeclared(Undeclared::Mask);
    let got = send(ContainLayer::new().policy(policy).layer(failing()), call()).await;
    assert!(!got.text().contains("SECRET"), "{got:?}");
    assert_eq!(got.message()["result"]["isError"], true);
}
