//! Batches in which there is more than answers.

use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    bench::{
        COMPLETED, Carrier, DEFERRED, FAULT, Form, SECRET, ask_for, end_of, failed, fresh_id,
        question, result, server, told_lines,
    },
    kit::{Script, call, call_text, event, line, lines, post, send, success},
    support::Logs,
};

/// As one array in every way, and as an array in an event.
fn carried(carrier: Carrier, messages: &[String]) -> http::Response<Script> {
    let array = format!("[{}]", messages.join(","));
    match carrier.is_sse {
        true => carrier.respond(event(&array)),
        false => carrier.respond(array),
    }
}

/// The end of a task is told before, behind, or between the answers.
#[tokio::test]
async fn a_notification_among_answers_says_nothing_and_is_the_end() {
    for carrier in Carrier::ALL {
        for at in 0..3 {
            let what = format!("{carrier:?}, {at}");
            let (logs, _capture) = Logs::capture();
            let id = fresh_id();
            let task = id.clone();
            let service = OutcomeLayer::new().layer(server(move |method, message| match method {
                "tools/call" if message.is_array() => {
                    let answers = ["a", "b"].map(|id| success(&json!(id)));
                    let mut messages = answers.to_vec();
                    messages.insert(at, Form::Extension.notification(&failed(&task)));
                    carried(carrier, &messages)
                }
                "tools/call" => carrier.carry(&Form::Extension.created(message, &task)),
                _ => carrier.carry(&result(&message["id"], &failed(&task))),
            }));
            send(service.clone(), call()).await;
            let batch = format!("[{},{}]", call_text("a", "ok"), call_text("b", "ok"));
            let got = send(service.clone(), post(batch)).await;
            let text = got.text();
            assert!(!text.contains(SECRET), "{what}: {text}");
            for id in ["a", "b"] {
                assert!(text.contains(&success(&json!(id))), "{what}: {text}");
            }
            let end = end_of(&logs, &id);
            assert_eq!(line(&end), FAULT, "{what}");
            assert!(text.contains(end.field("call_id").unwrap()), "{what}: {text}");
            assert!(end.field("cause").unwrap().contains(SECRET), "{what}: {end:?}");
            let mut told = lines(&logs);
            told.sort_unstable();
            assert_eq!(told, [FAULT, COMPLETED, COMPLETED, DEFERRED], "{what}");
            send(service, ask_for(9, "tasks/get", &id)).await;
            end_of(&logs, &id);
        }
    }
}

/// Nobody knows of what call it is: its failure is one line, and what it says is withheld.
#[tokio::test]
async fn a_notification_of_an_unknown_task_among_answers_says_nothing() {
    for carrier in Carrier::ALL {
        let (logs, _capture) = Logs::capture();
        let id = fresh_id();
        let task = id.clone();
        let service = OutcomeLayer::new().layer(server(move |_, _| {
            let notice = Form::Extension.notification(&failed(&task));
            carried(carrier, &[notice, success(&json!(7))])
        }));
        let got = send(service, post(format!("[{}]", call_text(7, "ok")))).await;
        assert!(!got.text().contains(SECRET), "{carrier:?}: {}", got.text());
        assert!(got.text().contains(&success(&json!(7))), "{carrier:?}: {}", got.text());
        assert_eq!(told_lines(&logs, &id), ["ERROR tool_failed fault internal_error"]);
        let mut told = lines(&logs);
        told.retain(|line| !line.contains("tool_failed"));
        assert_eq!(told, [COMPLETED], "{carrier:?}");
    }
}

/// A task is created and ends within one batch.
#[tokio::test]
async fn a_task_that_is_created_and_ends_in_one_batch_is_told_once() {
    for carrier in Carrier::ALL {
        for is_polled in [false, true] {
            let what = format!("{carrier:?}, {is_polled}");
            let (logs, _capture) = Logs::capture();
            let id = fresh_id();
            let task = id.clone();
            let service = OutcomeLayer::new().layer(server(move |_, message| {
                let created = Form::Extension.created(&message[0], &task);
                let end = match message.get(1) {
                    Some(Value::Object(poll)) => result(&poll["id"], &failed(&task)),
                    _ => Form::Extension.notification(&failed(&task)),
                };
                carried(carrier, &[created, end])
            }));
            let mut batch = vec![call_text(7, "ok")];
            if is_polled {
                batch.push(question(8, "tasks/get", &json!({ "taskId": id })));
            }
            let got = send(service, post(format!("[{}]", batch.join(",")))).await;
            assert!(!got.text().contains(SECRET), "{what}: {}", got.text());
            assert_eq!(line(&end_of(&logs, &id)), FAULT, "{what}");
        }
    }
}
