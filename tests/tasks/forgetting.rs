//! Tasks whose end nobody sees, and ends of tasks that nobody remembers.

use std::time::Duration;

use serde_json::json;

use crate::{
    kit::{Created, Tasks, assert_fixed, line, status},
    support::{Event, Layers, Transport, server},
};

const FORGOTTEN: &str = "INFO tool_call_abandoned abandoned -";

/// In processes of their own: what forgets is one for the process, and so is its log.
const PLACES: [(Transport, Layers); 5] = [
    (Transport::Stdio, Layers::Typed),
    (Transport::Stateful, Layers::Both),
    (Transport::Stateless, Layers::Http),
    (Transport::Http2026, Layers::Typed),
    (Transport::Json2026, Layers::Both),
];

/// Waits for the end of a task that nobody polls, and sends nothing meanwhile.
async fn unasked_end(tasks: &Tasks, created: &Created) -> Event {
    let of_task = |event: &&Event| {
        event.field("call_id") == Some(&created.call_id) && event.message == "tool_call_abandoned"
    };
    let end = tasks.logs().wait_for(|events| events.iter().find(of_task).cloned()).await;
    end.unwrap_or_else(|| panic!("never forgotten:\n{}", tasks.logs().raw()))
}

#[tokio::test]
async fn a_task_that_never_ends_is_forgotten_when_its_time_is_up() {
    for (transport, layers) in PLACES {
        let tasks = Tasks::connect(transport, layers).await;
        let created = tasks.create(json!({ "ends": "never", "ms": 0, "ttl_ms": 300 })).await;
        let end = unasked_end(&tasks, &created).await;
        assert_eq!(line(&end), FORGOTTEN, "{transport:?}, {layers:?}");
        assert_eq!(end.field("reason"), Some("forgotten"), "{transport:?}, {layers:?}");
        assert_eq!(end.field("tool"), Some("task"), "{transport:?}, {layers:?}");
        assert_eq!(end.field("task_id"), Some(&*created.task), "{transport:?}, {layers:?}");
        let duration = end.fields["duration_ms"].as_f64().unwrap();
        assert!(duration >= 300.0, "{transport:?}, {layers:?}: {end:?}");
        assert_eq!(tasks.end(&created).await, end, "{transport:?}, {layers:?}");
    }
}

/// rmcp says of a task whose time is up that it has failed. That is told once more, since the line
/// that there is knows nothing of it.
#[tokio::test]
async fn who_asks_for_a_forgotten_task_is_told_its_end_and_so_is_the_log() {
    for (transport, layers) in PLACES {
        let tasks = Tasks::connect(transport, layers).await;
        let created = tasks.create(json!({ "ends": "never", "ms": 0, "ttl_ms": 2000 })).await;
        assert_eq!(line(&unasked_end(&tasks, &created).await), FORGOTTEN, "{transport:?}");
        let mut told = Vec::new();
        for number in [1, 0, 1] {
            let (id, answer) = tasks.ask(number, "tasks/get", &created.task).await;
            tasks.logs().wait_for_end(&id).await.unwrap();
            told.push(answer);
        }
        // As long again rmcp remembers that.
        told.retain(|answer| answer.result().is_some());
        let lines: Vec<_> = tasks.ends(&created).iter().map(line).collect();
        let expected = [FORGOTTEN, "ERROR tool_failed fault internal_error"];
        assert_eq!(lines, expected, "{transport:?}, {layers:?}");
        let late = &tasks.ends(&created)[1];
        assert_eq!(late.field("task_id"), Some(&*created.task), "{late:?}");
        assert!(late.field("cause").unwrap().contains("expired"), "{late:?}");
        for answer in &told {
            assert_eq!(answer.result(), told[0].result(), "{transport:?}, {layers:?}");
            assert_fixed(answer, late);
        }
    }
}

/// Its result was there, and nobody came for it.
#[tokio::test]
async fn a_task_that_has_ended_unseen_is_forgotten_too() {
    let tasks = Tasks::connect(Transport::Stateful, Layers::Both).await;
    let created = tasks.create(json!({ "ends": "is_error", "ms": 0, "ttl_ms": 300 })).await;
    let end = unasked_end(&tasks, &created).await;
    assert_eq!(line(&end), FORGOTTEN);
    assert_eq!(tasks.end(&created).await, end);
}

/// What a panic left behind has to be somewhere, if not in the line of an end that nobody saw.
#[tokio::test]
async fn the_cause_of_an_end_that_nobody_saw_is_logged_all_the_same() {
    for layers in [Layers::Typed, Layers::Both] {
        let tasks = Tasks::connect(Transport::Stateful, layers).await;
        let arguments = json!({ "ends": "panic", "ms": 0, "ttl_ms": 300, "text": "UNSEEN" });
        let created = tasks.create(arguments).await;
        unasked_end(&tasks, &created).await;
        let id = tasks.first().start_call("ok", json!({})).await;
        tasks.logs().wait_for_end(&id).await.unwrap();
        let events = tasks.logs().of_target("tower_outcome");
        let tell: Vec<_> =
            events.iter().filter(|it| format!("{it:?}").contains("UNSEEN")).collect();
        let [told] = tell.as_slice() else { panic!("{layers:?}: {tell:?}") };
        assert!(told.field("cause").unwrap().contains("UNSEEN"), "{told:?}");
        assert_eq!(told.field("call_id"), Some(&*created.call_id), "{told:?}");
        assert_eq!((told.level.as_str(), told.field("code")), ("ERROR", Some("panic")), "{told:?}");
    }
}

/// Once its end was seen, nothing more comes of it when its time is up.
#[tokio::test]
async fn a_task_whose_end_was_seen_is_forgotten_silently() {
    let tasks = Tasks::connect(Transport::Stateless, Layers::Both).await;
    let seen = tasks.create(json!({ "ends": "ok", "ms": 0, "ttl_ms": 4000 })).await;
    let answer = tasks.polled(&seen).await;
    assert_eq!(status(&answer), "completed");
    // Later, and for longer: when this one is forgotten, the other has been.
    let later = tasks.create(json!({ "ends": "never", "ms": 0, "ttl_ms": 5000 })).await;
    unasked_end(&tasks, &later).await;
    assert_eq!(line(&tasks.end(&seen).await), "INFO tool_call_completed completed -");
}

/// A server that has started anew, or one whose layers have: here the task was created past them.
#[tokio::test]
async fn the_failure_of_a_task_that_nobody_remembers_is_one_line_and_its_success_none() {
    let server = server::Misbehaving::new();
    let bare = Tasks::serve(server.clone()).await;
    let tasks = Tasks::serve(server::layered(server, &server::layer(None))).await;
    for (ends, expected) in [
        ("ok", None),
        ("is_error", Some("ERROR tool_failed undeclared undeclared_error")),
        ("soft", Some("ERROR tool_failed soft_error soft_error")),
        ("error", Some("ERROR tool_failed fault internal_error")),
    ] {
        let arguments = json!({ "ends": ends, "ms": 0, "text": "SECRET" });
        let params = json!({ "name": "task", "arguments": arguments });
        let answer = bare.first().request("tools/call", params).await;
        let task = answer.result().unwrap()["taskId"].as_str().unwrap().to_owned();
        let mut polls = tasks.until_ended(0, &task).await;
        for _ in 0..2 {
            polls.push(tasks.ask(0, "tasks/get", &task).await);
        }
        let ended = polls.split_off(polls.len() - 3);
        for (id, answer) in &ended {
            assert_eq!(answer.result(), ended[0].1.result(), "{ends}");
            let end = tasks.logs().wait_for_end(id).await.unwrap();
            assert_eq!(line(&end), "DEBUG request_completed completed -", "{ends}");
            assert_eq!(end.field("task_id"), Some(&*task), "{ends}");
        }
        let mut told = tasks.logs().of_target("tower_outcome");
        told.retain(|event| {
            event.field("task_id") == Some(&*task) && !event.message.starts_with("request_")
        });
        let lines: Vec<_> = told.iter().map(line).collect();
        assert_eq!(lines, Vec::from_iter(expected), "{ends}: {told:?}");
        if ends == "error" {
            let error = &ended[0].1.result().unwrap()["error"];
            let reference = told[0].field("reference").or(told[0].field("call_id")).unwrap();
            assert_eq!(error["data"]["tower-outcome/failure"]["reference"], reference, "{told:?}");
            assert!(told[0].field("cause").unwrap().contains("SECRET"), "{told:?}");
            assert!(!error.to_string().contains("SECRET"), "{error}");
        }
    }
    // A moment for what should not come.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let deferred = |event: &Event| event.message.starts_with("tool_call_");
    assert!(!tasks.logs().of_target("tower_outcome").iter().any(deferred));
}
