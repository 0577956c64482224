//! Calls that do not end with the first answer to their request: cancelled, left, taken up again.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use crate::{
    GUARD,
    answers::{answer_to, assert_same, has, has_event, last_event, messages},
    bench::{Bench, Caller, Gate, named_alike},
    events::{assert_facts, of_tool, summary},
    upstream::Kind,
    wire::Answer,
};

/// How long the slow tool takes where it is disturbed meanwhile.
const SLOW_MS: u64 = 1200;

pub(crate) async fn each_ending(bench: &Bench) {
    let gate = bench.gate(None).await;
    let mut done = Vec::new();
    for revision in bench.revisions() {
        done.push(in_revision(bench, &gate, revision));
    }
    futures::future::join_all(done).await;
}

async fn in_revision(bench: &Bench, gate: &Gate, revision: &'static str) {
    let caller = Caller::through(gate, revision).await;
    let name = |what| format!("{} {revision} {what}", bench.name());
    tokio::join!(
        async { cancelled(&name("cancelled"), gate, &caller).await },
        async { left(bench, &name("left"), gate, &caller).await },
        async { large(bench, &name("big"), gate, &caller).await },
        async { progress(bench, &name("progress"), gate, &caller).await },
        async {
            if bench.resumes(revision) {
                resumed(bench, &name("resumed"), gate, &caller).await;
                session_ended(&name("session ended"), gate, revision).await;
            }
        },
    );
}

/// `notifications/cancelled`, which only a session can tell whose request it means.
async fn cancelled(name: &str, gate: &Gate, caller: &Caller<'_>) {
    if caller.session.revision == "2026-07-28" {
        // There, the client cancels by leaving.
        return;
    }
    let (tool, arguments) = Bench::slow(SLOW_MS);
    let (id, request) = caller.call(tool, arguments);
    let cancel = async {
        gate.begun(&id).await;
        let params = json!({ "requestId": id, "reason": "the user pressed stop" });
        caller.notify("notifications/cancelled", params).await
    };
    let wait = async {
        if !caller.has_session() {
            return Some(caller.send(&request).await);
        }
        // Some servers then close the stream, some answer, and some leave it open for ever.
        let patience = Duration::from_millis(SLOW_MS + 300);
        tokio::time::timeout(patience, caller.send(&request)).await.ok()
    };
    let (answer, noted) = tokio::join!(wait, cancel);
    assert!(noted.response.status().is_success(), "{name}: {noted:?}");
    let end = gate.end(&id).await;
    if caller.has_session() {
        let wanted = of_tool("tool_call_cancelled", "cancelled", None, "INFO");
        assert_eq!(summary(&end), wanted, "{name}: {end:?}");
        assert_eq!(end.field("reason"), Some("client_cancelled"), "{name}: {end:?}");
    } else {
        let answer = answer.unwrap_or_else(|| panic!("{name}: no answer"));
        assert_eq!(summary(&end), completed(), "{name}: {end:?} {}", answer.text());
        assert!(answer.text().contains("slept"), "{name}: {}", answer.text());
    }
    assert_facts(name, &end, &request, caller, None);
}

/// The client hangs up, and does not come back.
async fn left(bench: &Bench, name: &str, gate: &Gate, caller: &Caller<'_>) {
    let revision = caller.session.revision;
    if bench.resumes(revision) {
        // It may come back for a minute.
        return;
    }
    let (tool, arguments) = Bench::slow(SLOW_MS);
    let (id, request) = caller.call(tool, arguments);
    tokio::select! {
        answer = caller.send(&request) => panic!("{name}: too soon: {}", answer.text()),
        () = gate.begun(&id) => {}
    }
    let end = gate.end(&id).await;
    let wanted = if revision == "2026-07-28" {
        of_tool("tool_call_cancelled", "cancelled", None, "INFO")
    } else {
        of_tool("tool_call_abandoned", "abandoned", None, "INFO")
    };
    assert_eq!(summary(&end), wanted, "{name}: {end:?}");
    let reason = if revision == "2026-07-28" { "client_cancelled" } else { "disconnected" };
    assert_eq!(end.field("reason"), Some(reason), "{name}: {end:?}");
    assert_facts(name, &end, &request, caller, None);
}

/// The stream ends, or is lost, before the answer, which comes on the next one.
async fn resumed(bench: &Bench, name: &str, gate: &Gate, caller: &Caller<'_>) {
    let by_client = Bench::slow(SLOW_MS);
    let by_server = ("answer_later", json!({ "ms": 300 }));
    let ways = if bench.kind == Kind::Rmcp { vec![by_client] } else { vec![by_client, by_server] };
    for (tool, arguments) in ways {
        let (id, request) = caller.call(tool, arguments);
        let leaves = tool == "slow";
        let lost = caller.send_until(&request, |body| leaves && has_event(body)).await;
        assert_eq!(messages(&lost), Vec::<Value>::new(), "{name} {tool}: {}", lost.text());
        // What has come so far has come before the call's end.
        assert!(gate.logs().terminal(&id).is_empty(), "{name} {tool}: {}", gate.tail());
        let resume = caller.session.resume(&last_event(&lost));
        let answer = taken_up(caller, &resume).await;
        assert_eq!(answer_to(name, &id, &answer)["error"], Value::Null, "{name} {tool}");
        let words = if leaves { "slept" } else { "the answer came later" };
        assert!(answer.text().contains(words), "{name} {tool}: {}", answer.text());
        let end = gate.end(&id).await;
        assert_eq!(summary(&end), completed(), "{name} {tool}: {end:?}");
        assert_facts(name, &end, &request, caller, None);
        // A replay, where the server has one: it makes no event.
        caller.send_until(&resume, is_complete).await;
    }
}

/// The stream from where it was lost. Servers give an empty one, or refuse, for as long as they have
/// not noticed that it was.
async fn taken_up(caller: &Caller<'_>, resume: &Request<Bytes>) -> Answer {
    let start = Instant::now();
    loop {
        let answer = caller.send_until(resume, is_complete).await;
        let is_early = answer.response.status() == 409 || messages(&answer).is_empty();
        if !is_early || start.elapsed() > GUARD {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_complete(body: &[u8]) -> bool {
    has("\"result\"")(body) && (body.ends_with(b"\n\n") || body.ends_with(b"\r\n\r\n"))
}

/// The client leaves, and ends the session that it could have taken its stream up again in.
async fn session_ended(name: &str, gate: &Gate, revision: &'static str) {
    let caller = Caller::through(gate, revision).await;
    let (tool, arguments) = Bench::slow(SLOW_MS);
    let (id, request) = caller.call(tool, arguments);
    caller.send_until(&request, has_event).await;
    let deleted = caller.send(&crate::cases::delete(&caller.session)).await;
    assert!(deleted.response.status().is_success(), "{name}: {deleted:?}");
    let end = gate.end(&id).await;
    let wanted = of_tool("tool_call_abandoned", "abandoned", None, "INFO");
    assert_eq!(summary(&end), wanted, "{name}: {end:?}");
    assert_eq!(end.field("reason"), Some("session_ended"), "{name}: {end:?}");
    assert_facts(name, &end, &request, &caller, None);
}

/// An answer that is far too large to be held.
async fn large(bench: &Bench, name: &str, gate: &Gate, caller: &Caller<'_>) {
    const BYTES: u64 = 1 << 20;
    let direct = Caller::direct(bench, caller.session.revision).await;
    let post = |caller: &Caller<'_>| {
        let big = caller.session.tool("big", json!({ "bytes": BYTES }));
        caller.session.post(&big)
    };
    let (id, one, other) = named_alike(&post(&direct), &post(caller), gate);
    let (one, answer) = tokio::join!(direct.send(&one), caller.send(&other));
    assert!(answer.response.body().len() as u64 > BYTES, "{name}");
    assert_same(name, &one, &answer);
    let end = gate.end(&id).await;
    assert_eq!(summary(&end), completed(), "{name}: {end:?}");
    let counted = end.fields.get("result_bytes").and_then(Value::as_u64);
    assert!(counted.is_some_and(|bytes| bytes > BYTES), "{name}: {end:?}");
}

/// Notifications in their order, before the answer.
async fn progress(bench: &Bench, name: &str, gate: &Gate, caller: &Caller<'_>) {
    const TIMES: u64 = 20;
    let direct = Caller::direct(bench, caller.session.revision).await;
    let arguments = match bench.kind {
        Kind::Rmcp => json!({ "n": TIMES, "then": "ok" }),
        _ => json!({ "n": TIMES }),
    };
    let post = |caller: &Caller<'_>| {
        let mut message = caller.session.tool("progress", arguments.clone());
        message["params"]["_meta"]["progressToken"] = json!("token");
        caller.session.post(&message)
    };
    let (id, one, other) = named_alike(&post(&direct), &post(caller), gate);
    let (one, answer) = tokio::join!(direct.send(&one), caller.send(&other));
    assert_same(name, &one, &answer);
    let sent = messages(&answer);
    let steps: Vec<_> =
        sent.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
    assert!(steps.is_sorted(), "{name}: {steps:?}");
    assert_eq!(sent.last().map(|last| &last["id"]), Some(&id), "{name}: {}", answer.text());
    let end = gate.end(&id).await;
    assert_eq!(summary(&end), completed(), "{name}: {end:?}");
}

pub(crate) fn completed() -> (String, Option<String>, Option<String>, String) {
    of_tool("tool_call_completed", "completed", None, "INFO")
}
