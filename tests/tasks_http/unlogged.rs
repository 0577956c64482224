//! Where calls are contained, and nobody logs them: what a client can read itself is nothing for the
//! log, and what it cannot is one line.

use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::{ContainLayer, Declaration, ServerHandlerExt as _};

use crate::{
    bench::{
        Carrier, Form, SECRET, ask_for, failed, fresh_id, listen, result, server, soft, state,
    },
    kit::{call, error, lines, send},
    polls::Tasks,
    support::Logs,
    works::Works,
};

/// Ends that no layer hides, in the form of the extension.
fn readable(id: &str) -> Vec<Value> {
    let result = |result: Value| state(id, "completed", json!({ "result": result }));
    let declared = json!({ Declaration::KEY: { "outcome": "rejected", "code": "unknown_note" } });
    let content = json!([{ "type": "text", "text": "no such table" }]);
    vec![
        result(json!({ "content": content })),
        result(json!({ "content": content, "isError": true })),
        result(json!({ "content": content, "isError": true, "_meta": declared })),
        result(soft()),
        state(id, "failed", json!({ "error": { "code": -31000, "message": "quota exceeded" } })),
        state(id, "failed", json!({ "error": { "code": -32602, "message": "no such note" } })),
        state(id, "failed", json!({ "statusMessage": "It did not work." })),
        state(id, "cancelled", json!({})),
    ]
}

#[tokio::test]
async fn what_a_client_can_read_is_nothing_for_the_log() {
    for carrier in Carrier::SSE {
        for is_known in [true, false] {
            for at in 0..readable("").len() {
                let (logs, _capture) = Logs::capture();
                let id = fresh_id();
                let (task, end) = (id.clone(), readable(&id)[at].clone());
                let said = end.clone();
                let service = ContainLayer::new().layer(server(move |method, message| {
                    carrier.carry(&match method {
                        "GET" => Form::Extension.notification(&end),
                        "tools/call" => Form::Extension.created(message, &task),
                        _ => result(&message["id"], &end),
                    })
                }));
                if is_known {
                    send(service.clone(), call()).await;
                }
                for request in [ask_for(8, "tasks/get", &id), listen()] {
                    let got = send(service.clone(), request).await;
                    assert!(got.text().contains(&said.to_string()), "{}", got.text());
                }
                assert_eq!(lines(&logs), [""; 0], "{carrier:?}, {is_known}: {said}");
            }
        }
    }
}

/// The same of what a call would have been answered with.
#[tokio::test]
async fn what_is_asked_for_and_can_be_read_is_nothing_for_the_log() {
    for carrier in Carrier::ALL {
        for is_known in [true, false] {
            for at in 0..5 {
                let (logs, _capture) = Logs::capture();
                let id = fresh_id();
                let (task, end) = (id.clone(), readable(&id)[at].clone());
                let service = ContainLayer::new().layer(server(move |method, message| {
                    carrier.carry(&match (method, &end["error"]) {
                        ("tools/call", _) => Form::Core.created(message, &task),
                        (_, Value::Null) => result(&message["id"], &end["result"]),
                        _ => error(&message["id"], -31000, "quota exceeded"),
                    })
                }));
                if is_known {
                    send(service.clone(), call()).await;
                }
                for request in [8, 9] {
                    send(service.clone(), ask_for(request, "tasks/result", &id)).await;
                }
                assert_eq!(lines(&logs), [""; 0], "{carrier:?}, {is_known}, {at}");
            }
        }
    }
}

#[tokio::test]
async fn what_no_client_can_read_is_one_line() {
    for form in Form::ALL {
        for carrier in Carrier::ALL {
            for is_known in [true, false] {
                let what = format!("{form:?}, {carrier:?}, {is_known}");
                let (logs, _capture) = Logs::capture();
                let id = fresh_id();
                let task = id.clone();
                let service =
                    ContainLayer::new().layer(server(move |method, message| match method {
                        "GET" => Carrier::SSE[0].carry(&form.notification(&failed(&task))),
                        "tools/call" => carrier.carry(&form.created(message, &task)),
                        _ => carrier.carry(&form.failed(message, &task)),
                    }));
                if is_known {
                    send(service.clone(), call()).await;
                }
                let question = form.question();
                for request in [ask_for(8, question, &id), listen(), ask_for(9, question, &id)] {
                    let got = send(service.clone(), request).await;
                    assert!(!got.text().contains(SECRET), "{what}: {}", got.text());
                }
                assert_eq!(lines(&logs), ["ERROR tool_failed fault internal_error"], "{what}");
                let failed = logs.of_target("tower_outcome").pop().unwrap();
                assert!(failed.field("cause").unwrap().contains(SECRET), "{what}: {failed:?}");
            }
        }
    }
}

/// The same round a handler.
#[tokio::test]
async fn round_a_handler_it_is_the_same() {
    let rejected: &[&str] = &[];
    let failed = &["ERROR tool_failed fault internal_error"][..];
    let panicked = &["ERROR tool_failed fault panic"][..];
    for (tool, expected) in [
        ("rejected", rejected),
        ("failed", failed),
        ("awaited", panicked),
        ("task_rejects", rejected),
        ("task_fails", failed),
        ("task_panics", panicked),
    ] {
        let tasks = Tasks::serve(Works::default().layered(ContainLayer::new())).await;
        let answer = tasks.call(tool, json!({})).await;
        let task = answer.result().and_then(|result| result["taskId"].as_str());
        assert_eq!(task.is_some(), tool.starts_with("task_"), "{tool}: {answer:?}");
        if let Some(task) = task {
            tasks.until_ended(0, task).await;
            tasks.ask(0, "tasks/get", task).await;
        }
        assert_eq!(lines(tasks.logs()), expected, "{tool}");
        let has_cause = |cause: &str| tasks.logs().raw().contains(cause);
        assert_eq!(has_cause(SECRET), !expected.is_empty(), "{tool}: {}", tasks.logs().raw());
        assert!(!tasks.received().contains(SECRET), "{tool}: {}", tasks.received());
    }
}
