//! Successes that have in them what elsewhere is a failure.

use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, Policy, Undeclared};

use crate::{
    bench::{
        ANSWERED, COMPLETED, Carrier, DEFERRED, Form, ask, ask_for, fresh_id, result, server, state,
    },
    kit::{lines, send},
    support::Logs,
};

fn masking() -> OutcomeLayer {
    OutcomeLayer::new().policy(Policy::new().undeclared(Undeclared::Mask))
}

/// Results of tools, short and too long to be held, with members that say something about a task.
fn results() -> Vec<Value> {
    let content = |length| json!([{ "type": "text", "text": "y".repeat(length) }]);
    let mut results = Vec::new();
    for length in [10, 90_000] {
        for more in [
            json!({ "error": { "code": -32603, "message": "a line of the report" } }),
            json!({ "error": "none", "aaa": 1 }),
            json!({ "result": { "isError": true, "content": [] } }),
            json!({ "status": "failed", "statusMessage": "a line of the report" }),
        ] {
            let content = json!({ "content": content(length) });
            for parts in [[&content, &more], [&more, &content]] {
                let members = parts.into_iter().flat_map(|part| part.as_object().unwrap().clone());
                results.push(members.collect());
            }
        }
    }
    results
}

/// Sends a request that is answered with this, and checks that the answer arrives as it was.
async fn check(layer: &OutcomeLayer, carrier: Carrier, method: &str, of: &Value) -> Option<String> {
    let (logs, _capture) = Logs::capture();
    let (id, of) = (fresh_id(), of.clone());
    let task = id.clone();
    let answer = match method {
        "tasks/get" => state(&id, "completed", json!({ "result": of })),
        _ => of,
    };
    let form = if method == "tasks/get" { Form::Extension } else { Form::Core };
    let said = result(&json!(9), &answer);
    let sent = said.clone();
    let service = layer.layer(server(move |_, message| match message["id"] == 1 {
        true => carrier.carry(&form.created(message, &task)),
        false => carrier.carry(&sent),
    }));
    let call = json!({ "name": "ok", "arguments": {} });
    let (got, expected) = if method == "tools/call" {
        (send(service, ask(9, method, &call)).await, vec![COMPLETED])
    } else {
        send(service.clone(), ask(1, "tools/call", &call)).await;
        let got = send(service, ask_for(9, method, &id)).await;
        (got, vec![DEFERRED, COMPLETED, ANSWERED])
    };
    let members: Vec<_> = answer.as_object().unwrap().keys().collect();
    let what = format!("{method}, {carrier:?}, {} bytes with {members:?}", said.len());
    if !got.text().contains(&said) {
        return Some(format!("{what}: harmed: {:.300}", got.text()));
    }
    let told = lines(&logs);
    (told != expected).then(|| format!("{what}: {told:?}"))
}

async fn check_all(layer: &OutcomeLayer, method: &str) {
    let mut wrong = Vec::new();
    for carrier in Carrier::ALL {
        for of in results() {
            wrong.extend(check(layer, carrier, method, &of).await);
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
}

#[tokio::test]
async fn the_result_of_a_call_is_not_touched() {
    check_all(&OutcomeLayer::new(), "tools/call").await;
}

#[tokio::test]
async fn the_result_of_a_call_is_not_touched_under_a_mask() {
    check_all(&masking(), "tools/call").await;
}

#[tokio::test]
async fn the_result_in_a_task_is_not_touched() {
    check_all(&OutcomeLayer::new(), "tasks/get").await;
}

#[tokio::test]
async fn the_result_in_a_task_is_not_touched_under_a_mask() {
    check_all(&masking(), "tasks/get").await;
}

/// It is the tool's, and so its members are.
#[tokio::test]
async fn the_result_of_a_task_is_not_touched() {
    check_all(&OutcomeLayer::new(), "tasks/result").await;
}
