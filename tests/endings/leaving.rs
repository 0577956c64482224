//! Calls that the client does not wait for: cancelled, or left behind.

use serde_json::json;

use crate::{
    check::{check_end, start},
    support::{Client, Transport},
};

/// How a transport's client can stop a call.
enum Stop {
    Cancel,
    /// It cannot, and why.
    Impossible(&'static str),
}

fn stop(transport: Transport) -> Stop {
    match transport {
        Transport::Stateless | Transport::Json => Stop::Impossible(
            "rmcp ignores all notifications without sessions, and before 2026-07-28 hanging up is \
             no cancel",
        ),
        _ => Stop::Cancel,
    }
}

/// A cancel is logged when it comes, once, whatever the tool does afterwards.
pub(crate) async fn cancelled_calls(client: &Client, transport: Transport) -> Vec<String> {
    if let Stop::Impossible(reason) = stop(transport) {
        eprintln!("{transport:?}: cancelled calls are left out: {reason}");
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let calls = [
        ("a call that ignores its cancel and returns later", "slow", json!({ "ms": 1500 })),
        (
            "a call that stops when it is cancelled",
            "slow",
            json!({ "ms": 60_000, "watch_cancel": true }),
        ),
        ("a call that never returns", "hang", json!({})),
    ];
    for (name, tool, arguments) in calls {
        let id = start(client, tool, arguments).await;
        client.cancel(&id).await;
        wrong.extend(check_end(client, name, &id, "cancelled", Some("client_cancelled")).await);
    }
    // Sleeps for longer than the call above that ignored its cancel, which has returned by then:
    // `whole_session` finds a second end, if it made one.
    let healthy = client.call("slow", json!({ "ms": 1600 })).await;
    if healthy.text() != "slept 1600 ms" {
        wrong.push(format!("a call after cancelled ones is answered with {healthy:?}"));
    }
    wrong
}

/// A call in flight when the client goes. Leaves the client closed.
pub(crate) async fn a_call_whose_client_leaves(
    client: &Client,
    transport: Transport,
) -> Vec<String> {
    let id = start(client, "hang", json!({})).await;
    client.close().await;
    let (outcome, reason) = match transport {
        // From 2026-07-28 on, closing the stream of an answer is how a client cancels.
        Transport::Http2026 | Transport::Json2026 => ("cancelled", Some("client_cancelled")),
        Transport::Stateless | Transport::Json => ("abandoned", Some("disconnected")),
        Transport::Stateful => ("abandoned", Some("session_ended")),
        // Whether client or server ended the one stream between them, rmcp does not tell.
        _ => ("abandoned", None),
    };
    check_end(client, "a call whose client leaves", &id, outcome, reason).await
}
