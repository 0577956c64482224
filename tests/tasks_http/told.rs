//! Where somebody listens: of notifications of tasks, whatever JSON they are, nothing goes out that no
//! client may read, on whatever stream they come.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    bench::{
        Carrier, DEFERRED, FAULT, Form, SECRET, ask, ask_for, end_of, failed, listen, result,
        server, told_lines,
    },
    kit::{call, event, send, success},
    notices::{self, Notice},
    support::Logs,
};

/// Every stream that a notification may come on, with the answer that the stream ends with.
fn streams() -> [(&'static str, Request<Full<Bytes>>, String); 3] {
    let listening = result(&json!(9), &json!({}));
    [
        ("of its own", listen(), String::new()),
        ("of another call", call(), event(&success(&json!(7)))),
        ("of a subscription", ask(9, "subscriptions/listen", &json!({})), event(&listening)),
    ]
}

#[tokio::test]
async fn without_layers_all_of_it_goes_out() {
    let all = [notices::all(), notices::broken()];
    for (notice, carrier) in all.into_iter().flatten() {
        let text = notice.text.clone();
        let got = send(server(move |_, _| carrier.respond(text.clone())), listen()).await;
        assert!(got.text().contains(SECRET), "{}: {got:?}", notice.what);
    }
}

/// Sends these on every stream.
async fn check_all(notices: fn() -> Vec<(Notice, Carrier)>) {
    let mut wrong = Vec::new();
    for (stream, request, answer) in streams() {
        for (notice, carrier) in notices() {
            let found = check(&notice, carrier, request.clone(), &answer).await;
            wrong.extend(found.map(|it| format!("{}, {stream}, {carrier:?}: {it}", notice.what)));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
}

#[tokio::test]
async fn nothing_goes_out_and_the_end_is_told_once() {
    check_all(notices::all).await;
}

/// What cannot be read to its end, other clients may be able to read.
#[tokio::test]
async fn nothing_goes_out_of_what_is_no_json_to_everybody() {
    check_all(notices::broken).await;
}

async fn check(
    notice: &Notice,
    carrier: Carrier,
    stream: Request<Full<Bytes>>,
    answer: &str,
) -> Option<String> {
    let (logs, _capture) = Logs::capture();
    let id = notice.id.clone();
    let text = [&*notice.text, answer.as_bytes()].concat();
    let asked = id.clone();
    let service = OutcomeLayer::new().layer(server(move |method, message| match method {
        "tools/call" if message["id"] == 1 => {
            carrier.carry(&Form::Extension.created(message, &asked))
        }
        "tasks/get" => carrier.carry(&result(&message["id"], &failed(&asked))),
        _ => carrier.respond(text.clone()),
    }));
    send(service.clone(), ask(1, "tools/call", &json!({ "name": "ok", "arguments": {} }))).await;
    let got = send(service.clone(), stream).await;
    let polled = send(service.clone(), ask_for(10, "tasks/get", &id)).await;
    let (said, polled) = (got.text(), polled.text());
    if said.contains(SECRET) || polled.contains(SECRET) {
        return Some(format!("the secret is out: {said}"));
    }
    if got.error.is_some() || !said.contains(answer) {
        return Some(format!("it broke: {got:?}"));
    }
    let told = told_lines(&logs, &id);
    if told != [DEFERRED, FAULT] {
        return Some(format!("told: {told:?}"));
    }
    let end = end_of(&logs, &id);
    let is_told = end.field("cause").is_some_and(|cause| cause.contains(SECRET));
    (!is_told).then(|| format!("no cause: {end:?}"))
}
