//! The table of `tasks.rs` over tower-mcp. Its tasks in sessions are those of 2025-11-25, but that a
//! call asks for one and `tasks/get` says what it ended in; from 2026-07-28 on they are the extension's.

use serde_json::{Value, json};

#[path = "../tasks/rows.rs"]
mod table;

use crate::{
    EXAMPLE,
    support::{Answer, Client, Event, GUARD, Layers, Transport},
};
use table::{Row, Told};

const WAYS: [(Transport, Layers); 8] = [
    (Transport::Stdio, Layers::Typed),
    (Transport::Stateful, Layers::Typed),
    (Transport::Stateful, Layers::Http),
    (Transport::Json, Layers::Both),
    (Transport::Stdio2026, Layers::Typed),
    (Transport::Http2026, Layers::Typed),
    (Transport::Http2026, Layers::Http),
    (Transport::Json2026, Layers::Both),
];

/// These parameters, with what a client says of itself from 2026-07-28 on that wants tasks.
fn with_capability(client: &Client, mut params: Value) -> Value {
    if client.is_2026() {
        let capability = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": capability });
    }
    params
}

fn rows() -> Vec<Row> {
    table::all(Layers::Typed)
}

#[tokio::test]
async fn each_end_of_a_task_is_told_and_logged_once() {
    for (transport, layers) in WAYS {
        let client = Client::connect_to(EXAMPLE, transport, layers).await;
        for row in rows() {
            let (task, id) = create(&client, row.arguments()).await;
            let ended = until_ended(&client, &task).await;
            // A second look makes no second line.
            assert_eq!(get(&client, &task).await.result(), ended.result(), "{transport:?}");
            let end = end_of(&client, &id).await;
            let told = ended.result().expect("a task");
            assert_eq!(told["status"], row.status, "{transport:?} '{}': {told}", row.ends);
            assert_eq!(line(&end), row.line, "{transport:?} '{}': {end:?}", row.ends);
            assert_eq!(end.field("actor"), row.actor, "{end:?}");
            assert_eq!(end.field("retryable"), row.retryable, "{end:?}");
            assert_eq!(end.field("tool"), Some("task"), "{end:?}");
            assert_eq!(end.field("task_id"), Some(&*task), "{end:?}");
            check_told(&row, told, &end);
        }
        check_whole(&client);
    }
}

#[tokio::test]
async fn a_cancelled_task_is_logged_as_cancelled() {
    for (transport, layers) in WAYS {
        let client = Client::connect_to(EXAMPLE, transport, layers).await;
        let (task, id) = create(&client, json!({ "ends": "never", "ms": 60_000 })).await;
        let params = with_capability(&client, json!({ "taskId": task }));
        client.request("tasks/cancel", params).await;
        let ended = until_ended(&client, &task).await;
        assert_eq!(status(&ended), Some("cancelled"), "{transport:?}: {ended:?}");
        let end = end_of(&client, &id).await;
        assert_eq!(line(&end), "INFO tool_call_cancelled cancelled -", "{transport:?}: {end:?}");
        assert_eq!(end.field("reason"), Some("client_cancelled"), "{transport:?}: {end:?}");
    }
}

/// Without `task`, tower-mcp refuses a tool that is nothing else.
#[tokio::test]
async fn a_call_that_asks_for_no_task_is_refused() {
    let client = Client::connect_to(EXAMPLE, Transport::Stdio, Layers::Typed).await;
    let id = client.start_call("task", json!({ "ends": "ok", "ms": 1 })).await;
    assert_eq!(client.wait(&id).await.error_code(), Some(-32602));
    let end = client.logs().wait_for_end(&id).await.expect("an end");
    assert_eq!(line(&end), "INFO tool_call_failed protocol_error invalid_params", "{end:?}");
}

/// Creates a task. Returns its id, and that of the call.
async fn create(client: &Client, arguments: Value) -> (String, Value) {
    let mut params = json!({ "name": "task", "arguments": arguments });
    if !client.is_2026() {
        params["task"] = json!({ "ttl": 300_000 });
    }
    let id = client.start("tools/call", with_capability(client, params)).await;
    let answer = client.wait(&id).await;
    let task = answer.result().and_then(|result| {
        let flat = result.get("taskId");
        flat.or_else(|| result.pointer("/task/taskId"))?.as_str()
    });
    let task = task.unwrap_or_else(|| panic!("no task: {answer:?}")).to_owned();
    let deferred = client.logs().wait_for_event(&id, "tool_call_deferred").await;
    let deferred = deferred.expect("a line about the task's beginning");
    assert_eq!(line(&deferred), "INFO tool_call_deferred deferred -", "{deferred:?}");
    assert_eq!(deferred.field("task_id"), Some(&*task), "{deferred:?}");
    (task, id)
}

async fn get(client: &Client, task: &str) -> Answer {
    client.request("tasks/get", with_capability(client, json!({ "taskId": task }))).await
}

async fn until_ended(client: &Client, task: &str) -> Answer {
    let poll = async {
        loop {
            let answer = get(client, task).await;
            if status(&answer) != Some("working") {
                return answer;
            }
        }
    };
    tokio::time::timeout(GUARD, poll).await.expect("the task ends")
}

fn status(answer: &Answer) -> Option<&str> {
    answer.result()?["status"].as_str()
}

/// The line about what the task ended in: the call's second one.
async fn end_of(client: &Client, id: &Value) -> Event {
    let end = client.logs().wait_for(|events| {
        let ends = |event: &&Event| {
            event.is_terminal() && event.is_about(id) && event.message != "tool_call_deferred"
        };
        events.iter().find(ends).cloned()
    });
    end.await.unwrap_or_else(|| panic!("no end of {id}:\n{}", client.logs().raw()))
}

/// Level, name, outcome and code.
fn line(event: &Event) -> String {
    let field = |name| event.field(name).unwrap_or("-");
    format!("{} {} {} {}", event.level, event.message, field("outcome"), field("code"))
}

fn check_told(row: &Row, task: &Value, end: &Event) {
    let reference = match &row.told {
        Told::Said(said) => {
            for (pointer, value) in said {
                assert_eq!(task.pointer(pointer), Some(value), "'{}': {task}", row.ends);
            }
            return;
        }
        Told::Fixed => {
            let cause = end.field("cause").unwrap_or_default();
            assert!(cause.contains(row.text), "'{}': the cause is missing: {end:?}", row.ends);
            end.field("call_id")
        }
        Told::FixedApart => {
            assert_eq!(end.field("cause"), None, "'{}': {end:?}", row.ends);
            end.field("reference")
        }
    };
    let reference = reference.expect("a reference");
    let message = task["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("was fine, but the server could not"), "'{}': {task}", row.ends);
    assert!(message.contains(reference), "'{}': no {reference}: {task}", row.ends);
    assert_eq!(task["error"]["code"], -32603, "'{}': {task}", row.ends);
}

/// What is a secret stays one, and each request has one end, besides a task's.
fn check_whole(client: &Client) {
    let received = String::from_utf8_lossy(&client.bytes()).into_owned();
    for row in rows() {
        let is_secret = !matches!(row.told, Told::Said(_));
        assert!(
            !is_secret || !received.contains(row.text),
            "the client received {}: {}",
            row.text,
            received.lines().find(|l| l.contains(row.text)).unwrap()
        );
        let events = client.logs().of_target("tower_outcome");
        let tell = events.iter().filter(|event| format!("{event:?}").contains(row.text)).count();
        assert_eq!(tell, usize::from(row.ends != "ok"), "events that say {}", row.text);
    }
    for id in client.sent() {
        let ends = client.logs().terminal(&id);
        for (at, end) in ends.iter().enumerate() {
            let is_new = ends[..at].iter().all(|earlier| earlier.message != end.message);
            assert!(is_new, "request {id} ends twice: {end:?}");
        }
    }
}
