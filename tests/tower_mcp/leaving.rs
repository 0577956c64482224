//! Calls that the client does not wait for: cancelled, or left behind.

use serde_json::{Value, json};

use crate::{
    check::{check_end, start},
    support::{Client, Layers, Transport},
};

/// How a cancelled call ends in the log, wherever the layers are.
const CANCELLED: (&str, Option<&str>) = ("cancelled", Some("client_cancelled"));

/// From 2026-07-28 on, closing the stream of an answer is how a client over HTTP cancels.
fn hangs_up(transport: Transport) -> bool {
    matches!(transport, Transport::Http2026 | Transport::Json2026)
}

/// How a call ends in the log whose client leaves.
fn left(transport: Transport, layers: Layers) -> (&'static str, Option<&'static str>) {
    match (transport, layers) {
        _ if hangs_up(transport) => CANCELLED,
        // Layers round the HTTP service see the session end.
        (_, Layers::Http | Layers::Both) => ("abandoned", Some("session_ended")),
        // tower-mcp drops what it runs, which over stdio it does for more than one reason.
        (Transport::Stdio | Transport::Stdio2026, _) => ("abandoned", None),
        _ => ("abandoned", Some("disconnected")),
    }
}

/// Cancels calls, and leaves while some are running. Leaves the client closed.
pub(crate) async fn calls_without_a_client(
    client: &Client,
    transport: Transport,
    layers: Layers,
) -> Vec<String> {
    if transport == Transport::WebSocket {
        return cancelled_in_vain(client).await;
    }
    let mut wrong = Vec::new();
    let calls = [
        ("a call that ignores its cancel and returns later", json!({ "ms": 1500 })),
        ("a call that stops when it is cancelled", json!({ "ms": 60_000, "watch_cancel": true })),
    ];
    let (outcome, reason) = CANCELLED;
    for (name, arguments) in calls {
        let id = start(client, "slow", arguments).await;
        client.cancel(&id).await;
        wrong.extend(check_end(client, name, &id, outcome, reason).await);
        wrong.extend(check_answers(client, transport, name, &id).await);
    }
    let unending = start(client, "hang", json!({})).await;
    client.cancel(&unending).await;
    let abandoned = start(client, "hang", json!({})).await;
    client.close().await;

    let (outcome, reason) = left(transport, layers);
    let name = "a call whose client leaves";
    wrong.extend(check_end(client, name, &abandoned, outcome, reason).await);
    let (outcome, reason) = CANCELLED;
    let name = "a cancelled call that never returns";
    wrong.extend(check_end(client, name, &unending, outcome, reason).await);
    wrong
}

/// Over a WebSocket tower-mcp reads no message before it has answered the last one, the end of the
/// connection included: what is cancelled has ended, and what never ends is never left.
async fn cancelled_in_vain(client: &Client) -> Vec<String> {
    let name = "a call that is cancelled in vain";
    let id = start(client, "slow", json!({ "ms": 200 })).await;
    client.cancel(&id).await;
    let mut wrong = check_end(client, name, &id, "completed", None).await;
    if client.wait(&id).await.text() != "slept 200 ms" {
        wrong.push(format!("'{name}': it is not answered"));
    }
    client.close().await;
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
    let expected = match transport {
        Transport::Stdio | Transport::Stdio2026 => 0,
        _ if hangs_up(transport) => return None,
        _ => 1,
    };
    if expected == 1 {
        client.wait(id).await;
    } else {
        // An answer would come before this one's.
        client.call("ok", json!({})).await;
    }
    let answers = client.inbox().answers(id);
    (answers.len() != expected).then(|| format!("'{name}': {expected} answers, not {answers:?}"))
}
