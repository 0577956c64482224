//! Answers on streams of others: of a request that came before, and once more.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    bench::{
        Carrier, FAULT, Form, SECRET, ask, ask_for, end_of, failed, fresh_id, of_session, result,
        server, told_lines,
    },
    kit::{call, event, line, send, success},
    support::Logs,
};

/// What a stream begins with that is to be taken up again.
const PRIMED: &str = "id: 1\nretry: 3000\ndata:\n\n";

/// An answer whose id comes first, or last.
fn answer(id: &Value, task: &str, is_id_first: bool) -> String {
    match is_id_first {
        true => result(id, &failed(task)),
        false => format!(r#"{{"jsonrpc":"2.0","result":{},"id":{id}}}"#, failed(task)),
    }
}

/// A question whose stream ends early, and whose answer comes on the stream of the next request.
async fn check(is_known: bool, is_id_first: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for carrier in Carrier::SSE {
        let (logs, _capture) = Logs::capture();
        let id = fresh_id();
        let session = format!("earlier-{id}");
        let task = id.clone();
        let service = OutcomeLayer::new().layer(server(move |method, message| match method {
            "tools/call" if message["id"] == 1 => {
                carrier.carry(&Form::Extension.created(message, &task))
            }
            "tasks/get" if message["id"] == 3 => carrier.respond(PRIMED),
            "tools/call" => {
                let earlier = event(&answer(&json!(3), &task, is_id_first));
                carrier.respond(earlier + &event(&success(&message["id"])))
            }
            _ => carrier.carry(&result(&message["id"], &failed(&task))),
        }));
        let of = |request: Request<Full<Bytes>>| of_session(&session, request);
        let params = json!({ "name": "ok", "arguments": {} });
        send(service.clone(), of(ask(1, "tools/call", &params))).await;
        if is_known {
            let got = send(service.clone(), of(ask_for(3, "tasks/get", &id))).await;
            assert_eq!(got.text(), PRIMED);
        }
        let got = send(service.clone(), of(call())).await;
        let text = got.text();
        if text.contains(SECRET) {
            wrong.push(format!("{carrier:?}: the secret is out: {text}"));
            continue;
        }
        assert_eq!(got.messages().len(), 2, "{carrier:?}: {text}");
        assert!(text.contains(&success(&json!(7))), "{carrier:?}: harmed: {text}");
        send(service, of(ask_for(9, "tasks/get", &id))).await;
        let end = end_of(&logs, &id);
        assert_eq!(line(&end), FAULT, "{carrier:?}: {end:?}");
        assert!(end.field("cause").unwrap().contains(SECRET), "{carrier:?}: {end:?}");
        assert!(text.contains(end.field("call_id").unwrap()), "{carrier:?}: {text}");
    }
    wrong
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
}

#[tokio::test]
async fn an_answer_on_another_requests_stream_says_nothing() {
    assert_none(&check(true, true).await);
}

/// The layers have not seen the question: it was another process that was asked.
#[tokio::test]
async fn an_answer_to_nobody_knows_what_says_nothing() {
    assert_none(&check(false, true).await);
}

/// The second one answers nothing any more.
#[tokio::test]
async fn an_answer_that_comes_twice_says_nothing_either_time() {
    for form in Form::ALL {
        for carrier in Carrier::SSE {
            for session in [false, true] {
                let (logs, _capture) = Logs::capture();
                let id = fresh_id();
                let task = id.clone();
                let service =
                    OutcomeLayer::new().layer(server(move |method, message| match method {
                        "tools/call" => carrier.carry(&form.created(message, &task)),
                        _ => carrier.respond(event(&form.failed(message, &task)).repeat(2)),
                    }));
                let of = |request: Request<Full<Bytes>>| match session {
                    true => of_session(&format!("twice-{id}"), request),
                    false => request,
                };
                send(service.clone(), of(call())).await;
                let got = send(service, of(ask_for(9, form.question(), &id))).await;
                let what = format!("{form:?}, {carrier:?}, {session}");
                assert!(!got.text().contains(SECRET), "{what}: {}", got.text());
                assert!(got.messages().len() <= 2, "{what}: {got:?}");
                assert_eq!(told_lines(&logs, &id)[1..], [FAULT], "{what}");
                assert!(end_of(&logs, &id).field("cause").unwrap().contains(SECRET), "{what}");
            }
        }
    }
}
