//! Whether a task and its lines are what a row expects.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    kit::{Created, Tasks, has_ended, line, status},
    rows::{Row, Told},
    support::{Answer, Client, Event, GUARD, Layers},
};

/// What is wrong with a row.
struct Wrong<'a>(&'a Row, Vec<String>);

impl Wrong<'_> {
    fn say(&mut self, wrong: String) {
        self.1.push(format!("'{}': {wrong}", self.0.ends));
    }

    fn same(&mut self, what: &str, seen: Option<&str>, expected: Option<&str>, of: &Event) {
        if seen != expected {
            self.say(format!("{what} is {seen:?} instead of {expected:?}: {of:?}"));
        }
    }
}

/// Creates a task and polls it until it has ended, and twice more.
pub(crate) async fn row(tasks: &Tasks, row: &Row) -> Vec<String> {
    let mut wrong = Wrong(row, Vec::new());
    let created = tasks.create(row.arguments()).await;
    check_created(&created, &mut wrong);
    // By the client that did not create it, where there are two.
    let mut polls = tasks.until_ended(1, &created.task).await;
    for number in [0, 1] {
        polls.push(tasks.ask(number, "tasks/get", &created.task).await);
    }
    check_polls(tasks, &created, &polls, &mut wrong).await;
    let end = tasks.end(&created).await;
    check_end(&created, &end, &mut wrong);
    check_told(&polls[polls.len() - 3..], &end, &mut wrong);
    wrong.1
}

/// All rows three times over, each polled by every client at the same time.
pub(crate) async fn all_at_once(tasks: &Tasks, rows: &[Row]) -> Vec<String> {
    let mut all = Vec::new();
    for row in rows.iter().cycle().take(3 * rows.len()) {
        all.push((row, tasks.create(row.arguments()).await));
    }
    let checks = all.iter().map(|(row, created)| async move {
        let mut wrong = Wrong(row, Vec::new());
        let ended = polled_at_once(tasks, created).await;
        let end = tasks.end(created).await;
        check_end(created, &end, &mut wrong);
        check_told(&ended, &end, &mut wrong);
        wrong.1
    });
    join_all(checks).await.concat()
}

/// Polls four times at once until the task has ended; what the last four polls say of it.
async fn polled_at_once(tasks: &Tasks, created: &Created) -> Vec<(Value, Answer)> {
    let poll = async {
        loop {
            let polls = (0..4).map(|number| tasks.ask(number, "tasks/get", &created.task));
            let polls = join_all(polls).await;
            let is_over = |answer: &Answer| has_ended(answer) || answer.result().is_none();
            if polls.iter().all(|(_, answer)| is_over(answer)) {
                return polls;
            }
        }
    };
    let polls = tokio::time::timeout(GUARD, poll).await;
    polls.unwrap_or_else(|_| panic!("{created:?} does not end"))
}

fn check_created(created: &Created, wrong: &mut Wrong<'_>) {
    let task = created.answer.result().expect("a task");
    for (key, value) in [("resultType", json!("task")), ("status", json!("working"))] {
        if task[key] != value {
            wrong.say(format!("{key} is not {value}: {task}"));
        }
    }
    if !task["createdAt"].is_string() || task["ttlMs"] != json!(300_000) {
        wrong.say(format!("it is not what the server sent: {task}"));
    }
    let deferred = &created.deferred;
    let expected = "INFO tool_call_deferred deferred -";
    wrong.same("the line", Some(&line(deferred)), Some(expected), deferred);
    check_names(created, deferred, wrong);
}

fn check_names(created: &Created, event: &Event, wrong: &mut Wrong<'_>) {
    wrong.same("the tool", event.field("tool"), Some("task"), event);
    wrong.same("the task", event.field("task_id"), Some(&created.task), event);
    wrong.same("the call", event.field("call_id"), Some(&created.call_id), event);
}

/// Each poll is a request like any other, whatever the task ended in.
async fn check_polls(
    tasks: &Tasks,
    created: &Created,
    polls: &[(Value, Answer)],
    wrong: &mut Wrong<'_>,
) {
    let seed = created.answer.result().expect("a task");
    for (id, answer) in polls {
        let task = answer.result().cloned().unwrap_or_default();
        if task["taskId"] != created.task.as_str() || task["createdAt"] != seed["createdAt"] {
            wrong.say(format!("not the task that was asked about: {answer:?}"));
        }
        tasks.logs().wait_for_end(id).await;
        let ends = tasks.logs().terminal(id);
        let [end] = ends.as_slice() else {
            wrong.say(format!("poll {id} has {} ends: {ends:?}", ends.len()));
            continue;
        };
        wrong.same("a poll", Some(&line(end)), Some("DEBUG request_completed completed -"), end);
        wrong.same("its method", end.field("method"), Some("tasks/get"), end);
        wrong.same("its task", end.field("task_id"), Some(&created.task), end);
        wrong.same("its tool", end.field("tool"), None, end);
    }
}

fn check_end(created: &Created, end: &Event, wrong: &mut Wrong<'_>) {
    let row = wrong.0;
    wrong.same("the line", Some(&line(end)), Some(row.line), end);
    wrong.same("the actor", end.field("actor"), row.actor, end);
    wrong.same("retryable", end.field("retryable"), row.retryable, end);
    check_names(created, end, wrong);
    // Since the call began, and not since it was polled.
    let duration = end.fields.get("duration_ms").and_then(Value::as_f64);
    if duration.is_none_or(|duration| duration < f64::from(row.ms)) {
        wrong.say(format!("the duration is not that of the task: {end:?}"));
    }
    let cause = end.field("cause").unwrap_or_default();
    match &row.told {
        Told::Said(_) => {
            let error = (row.ends != "ok").then_some(row.text);
            wrong.same("what was said", end.field("error"), error, end);
            wrong.same("the cause", end.field("cause"), None, end);
        }
        Told::Fixed if !cause.contains(row.text) => {
            wrong.say(format!("the cause is missing: {end:?}"));
        }
        Told::FixedApart if !cause.is_empty() || end.field("reference").is_none() => {
            wrong.say(format!("it has a cause, or no reference to it: {end:?}"));
        }
        Told::Fixed | Told::FixedApart => {}
    }
}

/// The last polls, which all say the same.
fn check_told(polls: &[(Value, Answer)], end: &Event, wrong: &mut Wrong<'_>) {
    let row = wrong.0;
    let (_, first) = &polls[0];
    if let Some((_, other)) = polls.iter().find(|(_, answer)| answer.result() != first.result()) {
        wrong.say(format!("two polls tell two ends: {first:?}, {other:?}"));
    }
    let task = first.result().cloned().unwrap_or_default();
    if status(first) != row.status {
        wrong.say(format!("it is not {}: {task}", row.status));
    }
    let reference = match &row.told {
        Told::Said(said) => {
            let off = said.iter().find(|(pointer, value)| task.pointer(pointer) != Some(value));
            if let Some((pointer, value)) = off {
                wrong.say(format!("{pointer} is not {value}: {task}"));
            }
            return;
        }
        Told::Fixed => end.field("call_id"),
        Told::FixedApart => end.field("reference"),
    };
    let reference = reference.unwrap_or_default();
    let (error, message) = (&task["error"], task["error"]["message"].as_str().unwrap_or_default());
    let record = &error["data"]["tower-outcome/failure"];
    let is_fixed = message.contains("was fine, but the server could not")
        && message.contains(reference)
        && error["code"] == -32603;
    if !is_fixed || record["reference"] != reference || record["code"] != "internal_error" {
        wrong.say(format!("not the fixed text, or without the reference {reference}: {task}"));
    }
    wrong.same("what was said", end.field("error"), Some(message), end);
}

/// What holds for the whole run, at its end.
pub(crate) fn whole_run(tasks: &Tasks, layers: Layers) -> Vec<String> {
    let mut wrong = Vec::new();
    let (received, events) = (tasks.received(), tasks.logs().of_target("tower_outcome"));
    for row in crate::rows::all(layers) {
        let tells = |event: &&Event| format!("{event:?}").contains(row.text);
        // Each row was run once, and then three times at once.
        let (told, expected) =
            (events.iter().filter(tells).count(), 4 * usize::from(row.ends != "ok"));
        if told != expected {
            wrong.push(format!("'{}': {told} events say {}", row.ends, row.text));
        }
        if !matches!(row.told, Told::Said(_)) && received.contains(row.text) {
            wrong.push(format!("'{}': the client received {}", row.ends, row.text));
        }
    }
    let apart = events.iter().filter(|event| event.message == "tool_failed");
    let apart: Vec<_> = apart.map(line).collect();
    let expected = match layers {
        // `panic` and `panic_sync`.
        Layers::Http => vec!["ERROR tool_failed fault panic".to_owned(); 8],
        _ => Vec::new(),
    };
    if apart != expected {
        wrong.push(format!("causes without a line: {apart:?}"));
    }
    for client in tasks.clients() {
        wrong.extend(no_second_end(tasks, client));
    }
    wrong
}

/// A request has one end; one that created a task has the task's besides.
fn no_second_end(tasks: &Tasks, client: &Client) -> Vec<String> {
    let mut wrong = Vec::new();
    for id in client.sent() {
        let ends = tasks.logs().terminal(&id);
        for (at, end) in ends.iter().enumerate() {
            if ends[..at].iter().any(|earlier| earlier.message == end.message) {
                wrong.push(format!("request {id} ends twice: {end:?}"));
            }
        }
    }
    wrong
}
