//! A: panics, and what they leave behind.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use http::Request;
use serde_json::json;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};
use tower_outcome::{LogLayer, OutcomeLayer, Record};

use crate::{
    kit::{
        self, Piece, Script, answers, assert_fixed, call, call_for_events, call_text, data, fake,
        healthy, is_pending, json_response, line, lines, post, send, sse_response, success,
        whole_call,
    },
    support::{Client, Layers, Logs, Transport},
};

const PANIC: &str = "ERROR tool_call_failed fault panic";

#[tokio::test]
async fn a1_a_panicking_service_answers_at_once() {
    let service = fake(|request| async move {
        let sent = kit::read(http::Response::new(request.into_body())).await;
        let message = &sent.messages()[0];
        assert!(message["params"]["name"] != "panic", "boom");
        Ok(json_response(success(&message["id"])))
    });
    let service = OutcomeLayer::new().layer(service);
    let (logs, _guard) = Logs::capture();
    let got = send(service.clone(), post(call_text(7, "panic"))).await;
    let end = whole_call(&logs);
    assert_fixed(&got, &end);
    assert_eq!((line(&end).as_str(), &got.message()["id"]), (PANIC, &json!(7)));
    let (logs, _guard) = Logs::capture();
    assert_eq!(send(service, call()).await.message()["result"]["content"][0]["text"], "fine");
    assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);
}

/// rmcp 3.11 runs tools in tasks of their own, and tells nobody that one has panicked.
#[tokio::test]
async fn a1_a_panicking_tool_of_rmcp_answers_where_the_handler_has_layers_too() {
    for transport in [Transport::Stateful, Transport::Json, Transport::Http2026] {
        let client = Client::connect(transport, Layers::Both).await;
        let arguments = json!({ "text": "boom", "when": "first_poll" });
        let answer = client.call("panic", arguments).await;
        assert!(answer.is_error() && !answer.text().contains("boom"), "{answer:?}");
        assert_eq!(client.call("ok", json!({})).await.text(), "ok");
    }
}

#[tokio::test]
async fn a3_a_panics_text_stays_on_the_server() {
    const SECRET: &str = "cannot open /srv/board/x.lib: R1:A";
    for request in [call(), call_for_events()] {
        for service in [
            fake(|_| async { panic!("{SECRET}") }),
            answers(|| kit::response("application/json", Script::of([Piece::Panic(SECRET)]))),
            answers(|| sse_response(Script::of([data(":\n\n"), Piece::Panic(SECRET)]))),
        ] {
            let (logs, _guard) = Logs::capture();
            let got = send(OutcomeLayer::new().layer(service), request.clone()).await;
            let end = whole_call(&logs);
            assert_fixed(&got, &end);
            assert!(!format!("{got:?}").contains("/srv/"), "{got:?}");
            assert!(end.field("cause").unwrap().contains("/srv/board/x.lib: R1:A"), "{end:?}");
        }
    }
}

#[tokio::test]
async fn a9_a_service_dropped_with_a_call_in_flight_does_not_panic() {
    let (logs, _guard) = Logs::capture();
    let service = OutcomeLayer::new().layer(fake(|_| std::future::pending()));
    let mut pending = Box::pin(send(service.clone(), call()));
    assert!(is_pending(&mut pending).await);
    drop(service);
    drop(pending);
    // Of a body as well, and without the runtime that it began in.
    let (pen, body) = Script::new();
    let body = Mutex::new(Some(body));
    let service = answers(move || sse_response(body.lock().unwrap().take().unwrap()));
    let response = OutcomeLayer::new().layer(service).oneshot(call()).await.unwrap();
    std::thread::spawn(move || drop(response)).join().unwrap();
    drop(pen);
    assert_eq!(lines(&logs)[0], "INFO tool_call_abandoned abandoned -");
}

/// A panic where there is no tool: in whatever stands before the MCP service.
#[tokio::test]
async fn a13_a_panic_outside_of_any_tool_is_one_event() {
    let panics = |request: Request<_>| -> Request<kit::Incoming> {
        assert!(request.headers().contains_key("authorization"), "SECRET of the auth layer");
        request
    };
    let counted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&counted);
    let hook = move |record: &Record| {
        let is_panic = record.failure.as_ref().is_some_and(|it| it.code.as_str() == "panic");
        count.fetch_add(usize::from(is_panic), Ordering::Relaxed);
    };
    let service = ServiceBuilder::new()
        .layer(OutcomeLayer::new().hook(hook))
        .map_request(|request: Request<_>| request.map(boxed))
        .map_request(panics)
        .service(healthy());
    let get = Request::get("/health").body(http_body_util::Full::default()).unwrap();
    for (request, expected, status) in [
        (call(), PANIC, 200),
        (
            post(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#),
            "ERROR request_failed fault panic",
            200,
        ),
        (get, "ERROR request_failed fault panic", 500),
    ] {
        let (logs, _guard) = Logs::capture();
        let got = send(service.clone(), request).await;
        assert_eq!((got.status, lines(&logs)), (status, vec![expected.to_owned()]));
        assert!(!got.text().contains("SECRET"));
    }
    assert_eq!(counted.load(Ordering::Relaxed), 3);

    // Where no response can be made, since nobody contains, the line is there all the same.
    let (logs, _guard) = Logs::capture();
    let service = LogLayer::new().layer(fake(|_| async { panic!("SECRET") }));
    let lost = tokio::spawn(async move { send(service, call()).await });
    assert!(lost.await.unwrap_err().is_panic());
    assert_eq!(lines(&logs), [PANIC]);
}

fn boxed<B>(body: B) -> kit::Incoming
where
    B: http_body::Body<Data = bytes::Bytes, Error: Into<tower::BoxError>> + Send + 'static,
{
    use http_body_util::BodyExt as _;
    body.map_err(Into::into).boxed_unsync()
}

#[tokio::test]
async fn a15_a_poisoned_lock_stays_a_fault_for_the_operator() {
    let lock = Arc::new(Mutex::new(0_u32));
    let service = OutcomeLayer::new().layer(fake(move |_| {
        let lock = Arc::clone(&lock);
        async move {
            let mut held = lock.lock().unwrap();
            *held += 1;
            panic!("with the lock held")
        }
    }));
    for cause in ["with the lock held", "PoisonError", "PoisonError"] {
        let (logs, _guard) = Logs::capture();
        let got = send(service.clone(), call()).await;
        let end = whole_call(&logs);
        assert_fixed(&got, &end);
        assert_eq!(line(&end), PANIC);
        assert!(end.field("cause").unwrap().contains(cause), "{end:?}");
    }
}

#[tokio::test]
async fn a17_a_join_error_is_a_panic_or_a_fault_but_no_cancel() {
    let panics = fake(|_| async {
        tokio::task::spawn_blocking(|| panic!("in the pool")).await?;
        unreachable!()
    });
    let aborted = fake(|_| async {
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        task.await?;
        unreachable!()
    });
    for (service, expected) in
        [(panics, PANIC), (aborted, "ERROR tool_call_failed fault internal_error")]
    {
        let (logs, _guard) = Logs::capture();
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        let end = whole_call(&logs);
        assert_fixed(&got, &end);
        assert_eq!(line(&end), expected);
    }
}

#[tokio::test]
async fn a19_texts_are_cut_between_characters() {
    for limit in [64, 128, 200, 256, 400, 512, 1500, 2048, 4096] {
        for before in limit - 4..=limit {
            let text = format!("{}{}", "a".repeat(before), "—😀é".repeat(1500));
            let error_text: &'static str = text.clone().leak();
            let id = json!(7);
            let services = [
                answers({
                    let it = kit::is_error(&id, &text);
                    move || json_response(it.clone())
                }),
                answers({
                    let it = kit::error(&id, -32602, &text);
                    move || json_response(it.clone())
                }),
                answers({
                    let it = kit::error(&id, -32603, &text);
                    move || json_response(it.clone())
                }),
                answers(move || kit::status(400, error_text)),
                fake(move |_| std::future::ready(Err(error_text.into()))),
            ];
            for service in services {
                let (logs, _guard) = Logs::capture();
                send(OutcomeLayer::new().layer(service), post(call_text(7, &text))).await;
                let end = whole_call(&logs);
                for name in ["error", "cause", "tool", "code"] {
                    let field = end.field(name).unwrap_or_default();
                    assert!(field.len() <= 4096, "{name} has {} bytes", field.len());
                    assert!(!field.contains('\u{fffd}'), "{name}: {field}");
                }
            }
        }
    }
}
