//! A server that ends, in a call and between two.

use std::time::Duration;

use serde_json::json;

use crate::{
    answers::assert_fault,
    bench::{Bench, Caller, Gate},
    events::{assert_facts, failed, summary},
    upstream::{Kind, Upstream},
};

/// Nothing can be asked of the server afterwards.
pub(crate) async fn in_a_call_and_between_calls(bench: &mut Bench) {
    let (whose, kind) = (bench.name(), bench.kind);
    let revisions = bench.revisions();
    let in_a_call = bench.gate(None).await;
    let between = bench.gate(None).await;
    let mut callers = Vec::new();
    for revision in revisions {
        let disturbed = Caller::through(&in_a_call, revision).await;
        // A call that works, so that there is a connection to be lost.
        let surprised = Caller::through(&between, revision).await;
        let (id, request) = surprised.call("ok", json!({}));
        surprised.send(&request).await;
        between.end(&id).await;
        callers.push((disturbed, surprised));
    }
    let (first, others) = callers.split_first().expect("a revision");
    let upstream = &mut bench.upstream;
    in_a_call_of(&whose, kind, upstream, &in_a_call, others.last().map_or(&first.0, |it| &it.0))
        .await;
    for (disturbed, surprised) in &callers {
        let revision = disturbed.session.revision;
        down(&format!("{whose} {revision} killed between calls"), &between, surprised).await;
        down(&format!("{whose} {revision} still down"), &in_a_call, disturbed).await;
    }
    nobody_to_tell(&whose, &in_a_call, &first.0).await;
}

async fn in_a_call_of(
    whose: &str,
    kind: Kind,
    upstream: &mut Upstream,
    gate: &Gate,
    caller: &Caller<'_>,
) {
    let revision = caller.session.revision;
    let name = format!("{whose} {revision} ends in a call");
    let (id, request, answer) = if kind == Kind::Rmcp {
        let (id, request) = caller.call("hang", json!({}));
        let kill = async {
            gate.begun(&id).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            upstream.kill().await;
        };
        let (answer, ()) = tokio::join!(caller.send(&request), kill);
        (id, request, answer)
    } else {
        let (id, request) = caller.call("exit", json!({}));
        let answer = caller.send(&request).await;
        (id, request, answer)
    };
    let end = gate.end(&id).await;
    assert_eq!(summary(&end), failed("fault", "upstream_error", "ERROR"), "{name}: {end:?}");
    assert_facts(&name, &end, &request, caller, None);
    assert_fault(&name, &id, &answer, revision, &end);
}

async fn down(name: &str, gate: &Gate, caller: &Caller<'_>) {
    let (id, request) = caller.call("ok", json!({}));
    let answer = caller.send(&request).await;
    let end = gate.end(&id).await;
    assert_eq!(summary(&end), failed("fault", "upstream_error", "ERROR"), "{name}: {end:?}");
    assert_facts(name, &end, &request, caller, None);
    assert_fault(name, &id, &answer, caller.session.revision, &end);
    assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
}

/// What carries no request has no answer, but an event all the same.
async fn nobody_to_tell(whose: &str, gate: &Gate, caller: &Caller<'_>) {
    let answer = caller.send(&caller.session.resume("1")).await;
    assert_eq!(answer.response.status(), 500, "{whose}: {answer:?}");
    assert_eq!(answer.text(), "", "{whose}");
    let is_it = |event: &&crate::logs::Event| {
        event.message == "request_failed" && event.field("method") == Some("GET")
    };
    let end = gate.logs().wait_for(|events| events.iter().find(is_it).cloned()).await;
    let end = end.unwrap_or_else(|| panic!("{whose}: no event:\n{}", gate.tail()));
    assert_eq!(end.level, "ERROR", "{whose}: {end:?}");
    assert_eq!(end.field("outcome"), Some("fault"), "{whose}: {end:?}");
    gate.count_nameless();
}
