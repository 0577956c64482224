//! Calls that the client does not wait for: cancelled, or left behind.

use serde_json::{Value, json};

use crate::{
    check::{check_end, start},
    support::{Client, Layers, Transport},
};

/// How a cancelled call ends in the log.
///
/// Layers round the HTTP service read `notifications/cancelled`, and log it when it comes. Round the
/// router no notification is to be seen: tower-mcp keeps it to itself, and a call is logged with what
/// its handler makes of it.
fn cancelled(layers: Layers) -> (&'static str, Option<&'static str>) {
    match layers {
        Layers::None | Layers::Typed => ("completed", None),
        Layers::Http | Layers::Both => ("cancelled", Some("client_cancelled")),
    }
}

/// Cancels calls, and leaves while some are running. Leaves the client closed.
pub(crate) async fn calls_without_a_client(
    client: &Client,
    transport: Transport,
    layers: Layers,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let calls = [
        ("a call that ignores its cancel and returns later", json!({ "ms": 1500 })),
        ("a call that stops when it is cancelled", json!({ "ms": 60_000, "watch_cancel": true })),
    ];
    let (outcome, reason) = cancelled(layers);
    for (name, arguments) in calls {
        let id = start(client, "slow", arguments).await;
        client.cancel(&id).await;
        wrong.extend(check_end(client, name, &id, outcome, reason).await);
        wrong.extend(check_answers(client, transport, name, &id).await);
    }
    let unending = start(client, "hang", json!({})).await;
    client.cancel(&unending).await;
    let left = start(client, "hang", json!({})).await;
    client.close().await;

    // tower-mcp drops what it runs, and does not say for whom. HTTP layers know of the session.
    let reason = (layers != Layers::Typed).then_some("session_ended");
    wrong.extend(check_end(client, "a call whose client leaves", &left, "abandoned", reason).await);
    let (outcome, reason) = match cancelled(layers) {
        // Its handler makes nothing of it, until the client leaves.
        ("completed", _) => ("abandoned", None),
        as_cancelled => as_cancelled,
    };
    let name = "a cancelled call that never returns";
    wrong.extend(check_end(client, name, &unending, outcome, reason).await);
    wrong
}

/// tower-mcp leaves a cancelled call unanswered on stdio. Over HTTP, where the client waits for an
/// answer to its POST, it answers.
async fn check_answers(
    client: &Client,
    transport: Transport,
    name: &str,
    id: &Value,
) -> Option<String> {
    let expected = usize::from(transport != Transport::Stdio);
    if expected == 1 {
        client.wait(id).await;
    } else {
        // An answer would come before this one's.
        client.call("ok", json!({})).await;
    }
    let answers = client.inbox().answers(id);
    (answers.len() != expected).then(|| format!("'{name}': {expected} answers, not {answers:?}"))
}
