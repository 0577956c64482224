//! Each case of the corpus, once with the gateway and once without it.

use std::sync::OnceLock;

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::{
    answers::{assert_fault, assert_same},
    bench::{Bench, Caller, Gate, named_alike},
    cases,
    corpus::{self, Client, Exchange, Expected},
    events::{assert_facts, expected, summary},
    logs::Event,
    upstream::Mode,
};

pub(crate) async fn each_case(bench: &Bench) {
    for revision in bench.revisions() {
        let gate = bench.gate(None).await;
        let direct = Caller::direct(bench, revision).await;
        let through = Caller::through(&gate, revision).await;
        let all = |caller: &Caller<'_>| cases::all(bench.kind, bench.mode, &caller.session);
        for ((case, one), (_, other)) in all(&direct).into_iter().zip(all(&through)) {
            if case != "exit" {
                let (id, one, other) = named_alike(&one, &other, &gate);
                let name = format!("{} {revision} {case}", bench.name());
                let expected = expectation(bench, revision, case);
                compare(&name, &expected, &id, (&direct, &one), (&through, &other), &gate).await;
            }
        }
    }
}

/// What the corpus says of the case. Answers as SSE mean the same with a session and without.
fn expectation(bench: &Bench, revision: &str, case: &str) -> Expected {
    static CORPUS: OnceLock<Vec<Exchange>> = OnceLock::new();
    let json = match (bench.mode, revision) {
        (Mode::Stateless | Mode::Json, "2025-11-25") => "json-",
        _ => "",
    };
    let name = format!("{}/{revision}-{json}{case}", bench.kind.name());
    let corpus = CORPUS.get_or_init(corpus::all);
    let recorded = corpus.iter().find(|exchange| exchange.name == name);
    let mut expected = recorded.unwrap_or_else(|| panic!("{name} is not there")).expected.clone();
    if bench.is_layered {
        // What must not go out is replaced by the layers inside.
        expected.client = Client::Unchanged;
    }
    expected
}

async fn compare(
    name: &str,
    wanted: &Expected,
    id: &Value,
    (direct, one): (&Caller<'_>, &Request<Bytes>),
    (through, other): (&Caller<'_>, &Request<Bytes>),
    gate: &Gate,
) {
    let before = gate.logs().events().len();
    let (one, answer) = tokio::join!(direct.send(one), through.send(other));
    let ends = ends_after(name, gate, before, wanted.events.len()).await;
    let wanted_events: Vec<_> = wanted.events.iter().map(expected).collect();
    assert_eq!(ends.iter().map(summary).collect::<Vec<_>>(), wanted_events, "{name}: {ends:#?}");
    for end in ends.iter().filter(|end| end.is_terminal()) {
        assert_facts(name, end, other, through, answer.header("mcp-session-id"));
        if !end.fields.contains_key("request_id") {
            gate.count_nameless();
        }
    }
    if !ends.iter().any(|end| end.is_about(id)) {
        let named = wanted.events.iter().any(|event| event.id.as_deref() == Some("7"));
        assert!(!named, "{name}: no event about {id}: {ends:#?}");
        gate.forget(id);
    }
    if wanted.client == Client::Unchanged {
        assert_same(name, &one, &answer);
    } else {
        assert_fault(name, id, &answer, through.session.revision, &ends[0]);
    }
}

/// The events that say how messages ended, since then.
async fn ends_after(name: &str, gate: &Gate, before: usize, wanted: usize) -> Vec<Event> {
    let is_end = |event: &&Event| event.is_terminal() || event.message.starts_with("notification_");
    let ends = gate.logs().wait_for(|events| {
        let ends: Vec<_> = events[before..].iter().filter(is_end).cloned().collect();
        (ends.len() >= wanted).then_some(ends)
    });
    ends.await.unwrap_or_else(|| panic!("{name}: no {wanted} events:\n{}", gate.tail()))
}
