//! C: failures that pass as successes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, Record};

use crate::{
    kit::{
        Piece, Script, answers, call, call_text, data, event, fake, json_response, line, lines,
        post, send, sse_response, success, whole_call,
    },
    support::Logs,
};

#[tokio::test]
async fn c1_an_is_error_result_is_a_failure_and_its_bytes_are_unchanged() {
    let result = r#"{"content":[{"type":"text","text":"quota"}],"isError":true}"#;
    let text = format!(r#"{{ "jsonrpc" : "2.0","id":7 ,"result":{result} }}"#);
    for is_stream in [false, true] {
        let (logs, _guard) = Logs::capture();
        let sent = if is_stream { event(&text) } else { text.clone() };
        let body = sent.clone();
        let service = answers(move || match is_stream {
            true => sse_response(Script::of([data(body.clone())])),
            false => json_response(body.clone()),
        });
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        assert_eq!(got.text(), sent);
        let end = whole_call(&logs);
        assert_eq!(line(&end), "ERROR tool_call_failed undeclared undeclared_error");
        assert_eq!(end.field("error"), Some("quota"));
    }
}

#[tokio::test]
async fn c11_a_mixed_run_has_as_many_outcomes_as_calls() {
    let service = fake(|request| async move {
        let body = crate::kit::read(http::Response::new(request.into_body())).await;
        let id = body.messages()[0]["id"].clone();
        Ok(match id.as_u64().unwrap() % 10 {
            0 => json_response(success(&id)),
            1 => json_response(crate::kit::is_error(&id, "mine")),
            2 => json_response(crate::kit::error(&id, -32602, "no")),
            3 => json_response(crate::kit::error(&id, -32603, "no")),
            4 => crate::kit::status(503, "later"),
            5 => crate::kit::status(404, "gone"),
            6 => sse_response(Script::of([data(event(&crate::kit::is_error(&id, "mine")))])),
            7 => sse_response(Script::of([data("data: {"), Piece::Error("broken")])),
            8 => return Err("no".into()),
            _ => panic!("no"),
        })
    });
    let (logs, _guard) = Logs::capture();
    let (completed, failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (of_completed, of_failed) = (Arc::clone(&completed), Arc::clone(&failed));
    let layer = OutcomeLayer::new().hook(move |record: &Record| {
        let counter =
            if record.outcome.as_str() == "completed" { &of_completed } else { &of_failed };
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let service = layer.layer(service);
    for id in 0..100 {
        send(service.clone(), post(call_text(id, "ok"))).await;
        assert_eq!(logs.terminal(&json!(id)).len(), 1);
    }
    assert_eq!(lines(&logs).len(), 100);
    let counts = (completed.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
    assert_eq!(counts, (10, 90));
}

/// What counts is what passes the layers: whoever rewrites further in, or between them, is heard,
/// whoever does it further out is not.
#[tokio::test]
async fn c17_a_layer_that_cleans_results_hides_from_those_outside_of_it_alone() {
    fn cleaned<B>(_: http::Response<B>) -> http::Response<Script> {
        json_response(success(&7.into()))
    }
    let failing = || answers(|| json_response(crate::kit::is_error(&7.into(), "mine")));
    let builder = tower::ServiceBuilder::new;

    let (logs, _guard) = Logs::capture();
    let outside = builder().map_response(cleaned).layer(OutcomeLayer::new()).service(failing());
    assert_eq!(send(outside, call()).await.text(), success(&7.into()));
    // Though that layer did not even look: the head of an answer waits for what is in it.
    assert_eq!(lines(&logs), ["ERROR tool_call_failed undeclared undeclared_error"]);

    let (logs, _guard) = Logs::capture();
    let inside = builder().layer(OutcomeLayer::new()).map_response(cleaned).service(failing());
    assert_eq!(send(inside, call()).await.text(), success(&7.into()));
    assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"]);

    let (logs, _guard) = Logs::capture();
    // One that reads what it replaces.
    let inside = OutcomeLayer::new().layer(failing());
    let outside = tower::util::AndThen::new(inside, |response| async {
        crate::kit::read(response).await;
        Ok::<_, std::convert::Infallible>(json_response(success(&7.into())))
    });
    assert_eq!(send(outside, call()).await.text(), success(&7.into()));
    assert_eq!(lines(&logs), ["ERROR tool_call_failed undeclared undeclared_error"]);
}
