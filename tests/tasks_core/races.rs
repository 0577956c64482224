//! Many clients at once, on threads of their own.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures::future::join_all;
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{Outcome, OutcomeLayer, Record};

use crate::{
    bench::{Way, http_service},
    binding::{Leaf, Request},
    kit::{guarded, post, send},
    server::{Server, fresh_id},
};

const TASKS: usize = 40;
const CLIENTS: usize = 6;

/// The outcomes by task, apart from those of its questions.
type Seen = Arc<Mutex<BTreeMap<String, Vec<Outcome>>>>;

fn counting(seen: &Seen) -> OutcomeLayer {
    let seen = Arc::clone(seen);
    OutcomeLayer::new().events(false).hook(move |record: &Record| {
        if let (true, Some(id)) = (record.kind.is_tool(), &record.task_id) {
            seen.lock().unwrap().entry(id.to_string()).or_default().push(record.outcome);
        }
    })
}

fn ends(at: usize) -> (&'static str, Outcome) {
    match at % 4 {
        0 => ("ok", Outcome::Completed),
        1 => ("is_error", Outcome::Undeclared),
        2 => ("soft", Outcome::SoftError),
        _ => ("leak", Outcome::Fault),
    }
}

/// Has tasks created, and each asked for by many at once.
async fn check<A>(seen: Seen, ask: impl Fn(Value) -> A + Clone + Send + 'static)
where
    A: Future<Output = Value> + Send + 'static,
{
    let tasks: Vec<String> = (0..TASKS).map(|_| fresh_id()).collect();
    for (at, id) in tasks.iter().enumerate() {
        let arguments = json!({ "ends": ends(at).0, "ms": at % 7, "id": id });
        let params = json!({ "name": "task", "arguments": arguments, "task": {} });
        ask(json!({ "jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params })).await;
    }
    let clients = (0..CLIENTS).map(|client| {
        let (tasks, ask) = (tasks.clone(), ask.clone());
        tokio::spawn(async move {
            for id in tasks {
                for method in ["tasks/get", "tasks/result", "tasks/get"] {
                    let params = json!({ "taskId": id });
                    let id = 1000 + client;
                    ask(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
                        .await;
                }
            }
        })
    });
    for client in guarded(join_all(clients)).await {
        client.unwrap();
    }
    let seen = seen.lock().unwrap();
    for (at, id) in tasks.iter().enumerate() {
        assert_eq!(seen[id], [Outcome::Deferred, ends(at).1], "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_task_is_told_once_however_many_ask_at_once() {
    let seen = Seen::default();
    let service = counting(&seen).layer(Leaf(Server::default()));
    check(seen, move |message| {
        let answer = service.clone().oneshot(Request::new(message, "any", None));
        async move { answer.await.unwrap().into_message(&json!(1)).unwrap() }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_task_is_told_once_over_http_too() {
    for way in Way::HTTP {
        let seen = Seen::default();
        let layers = counting(&seen);
        let service = layers.layer(http_service(way, &layers, &Server::default()));
        check(seen, move |message| {
            let answer = send(service.clone(), post(message.to_string()));
            async move { answer.await.message() }
        })
        .await;
    }
}
