//! What a policy changes: undeclared errors are masked, and calls are answered in time.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    answers::{answer_to, assert_fault, assert_same},
    bench::{Bench, Caller, Gate, named_alike},
    events::{SECRET, assert_facts, failed, of_tool, summary},
    upstream::Kind,
};

const PASSWORD: &str = "cannot connect to postgres://svc:hunter2@db/prod";
const DEADLINE_MS: u64 = 300;

pub(crate) async fn masks(bench: &Bench) {
    // Without the feature the gateway knows no policies.
    if !cfg!(feature = "toml") {
        return;
    }
    let gate = bench.gate(Some("undeclared = \"mask\"\n")).await;
    for revision in bench.revisions() {
        let direct = Caller::direct(bench, revision).await;
        let through = Caller::through(&gate, revision).await;
        for (tool, arguments) in masked_cases(bench.kind) {
            masked(bench, &gate, (&direct, &through), tool, &arguments).await;
        }
    }
}

/// Failures and successes, and what may come of each.
fn masked_cases(kind: Kind) -> Vec<(&'static str, Value)> {
    let is_rmcp = kind == Kind::Rmcp;
    let raise = if is_rmcp { "fail_internal" } else { "fail_raise" };
    let declared = if is_rmcp { "fail_declared" } else { "declared" };
    let with_text = if is_rmcp { json!({ "text": PASSWORD }) } else { json!({}) };
    let internal = json!({ "code": -32603, "message": PASSWORD });
    vec![
        (raise, with_text),
        ("fail_is_error", json!({ "text": PASSWORD })),
        ("fail_protocol", internal),
        (declared, json!({ "outcome": "stale", "code": "version_conflict" })),
        ("no_such_tool", json!({})),
        ("ok", json!({ "text": "größe" })),
        ("big", json!({ "bytes": 100_000 })),
    ]
}

async fn masked(
    bench: &Bench,
    gate: &Gate,
    (direct, through): (&Caller<'_>, &Caller<'_>),
    tool: &str,
    arguments: &Value,
) {
    let name = format!("{} {} masked {tool}", bench.name(), through.session.revision);
    let post =
        |caller: &Caller<'_>| caller.session.post(&caller.session.tool(tool, arguments.clone()));
    let (id, one, other) = named_alike(&post(direct), &post(through), gate);
    let (plain, answer) = tokio::join!(direct.send(&one), through.send(&other));
    let end = gate.end(&id).await;
    assert_facts(&name, &end, &other, through, None);
    assert!(!answer.text().contains(SECRET), "{name}: {}", answer.text());
    let message = answer_to(&name, &id, &plain);
    let wanted = match (tool, message["error"]["code"].as_i64()) {
        (_, Some(-32603)) => failed("fault", "internal_error", "ERROR"),
        // Not of what a server has declared, nor of what it says of a request.
        ("fail_raise" | "fail_is_error" | "fail_protocol", None) => {
            failed("undeclared", "undeclared_error", "ERROR")
        }
        _ => return assert_same(&name, &plain, &answer),
    };
    if message["result"]["_meta"].get("tower-outcome/failure").is_some() {
        return assert_same(&name, &plain, &answer);
    }
    assert_eq!(summary(&end), wanted, "{name}: {end:?}");
    // What the client was not told is in the log, without the password.
    let cause = end.field("cause").unwrap_or_default();
    let is_told = plain.text().contains(SECRET);
    assert_eq!(cause.contains("cannot connect to postgres://"), is_told, "{name}: {end:?}");
    assert_fault(&name, &id, &answer, through.session.revision, &end);
}

pub(crate) async fn hurries(bench: &Bench) {
    if !cfg!(feature = "toml") {
        return;
    }
    let policy = format!("deadline = \"{DEADLINE_MS}ms\"\n");
    let gate = bench.gate(Some(&policy)).await;
    for revision in bench.revisions() {
        let caller = Caller::through(&gate, revision).await;
        list(bench, &gate, &caller).await;
        tokio::join!(
            late(bench, &gate, &caller, Bench::slow(2000)),
            // A tool that never returns, where there is one.
            late(
                bench,
                &gate,
                &caller,
                if bench.kind == Kind::Rmcp { ("hang", json!({})) } else { Bench::slow(3_600_000) }
            ),
        );
    }
    if bench.kind == Kind::Rmcp {
        for revision in bench.revisions() {
            let caller = Caller::through(&gate, revision).await;
            panicked(bench, &gate, &caller).await;
        }
    }
    // What has come too late by now has found nobody.
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// Only tools have a deadline.
async fn list(bench: &Bench, gate: &Gate, through: &Caller<'_>) {
    let direct = Caller::direct(bench, through.session.revision).await;
    let name = format!("{} {} tools/list", bench.name(), through.session.revision);
    let post = |caller: &Caller<'_>| {
        let mut message = caller.session.tool("ok", json!({}));
        message["method"] = json!("tools/list");
        let params = message["params"].as_object_mut().expect("an object");
        params.retain(|key, _| key == "_meta");
        caller.session.post(&message)
    };
    let (id, one, other) = named_alike(&post(&direct), &post(through), gate);
    let (plain, answer) = tokio::join!(direct.send(&one), through.send(&other));
    assert_same(&name, &plain, &answer);
    let end = gate.end(&id).await;
    let wanted = of_tool("request_completed", "completed", None, "DEBUG");
    assert_eq!(summary(&end), wanted, "{name}: {end:?}");
    assert_facts(&name, &end, &other, through, None);
}

async fn late(bench: &Bench, gate: &Gate, caller: &Caller<'_>, (tool, arguments): (&str, Value)) {
    let revision = caller.session.revision;
    let name = format!("{} {revision} late {tool} {arguments}", bench.name());
    let (id, request) = caller.call(tool, arguments);
    let answer = caller.send(&request).await;
    let end = gate.end(&id).await;
    assert_eq!(summary(&end), failed("fault", "timeout", "WARN"), "{name}: {end:?}");
    assert_eq!(end.field("actor"), Some("time"), "{name}: {end:?}");
    assert_eq!(end.field("retryable"), Some("after_delay"), "{name}: {end:?}");
    assert_facts(&name, &end, &request, caller, None);
    assert_fault(&name, &id, &answer, revision, &end);
    let took = end.fields.get("duration_ms").and_then(Value::as_f64).unwrap_or_default();
    assert!(took >= DEADLINE_MS as f64, "{name}: {end:?}");
}

/// A panic, of which rmcp tells nobody: only a deadline ends the call, or layers inside.
async fn panicked(bench: &Bench, gate: &Gate, caller: &Caller<'_>) {
    let panic = ("panic", json!({ "text": PASSWORD, "when": "after_await" }));
    if !bench.is_layered {
        return late(bench, gate, caller, panic).await;
    }
    let name = format!("{} {} panicked", bench.name(), caller.session.revision);
    let (id, request) = caller.call(panic.0, panic.1);
    let answer = caller.send(&request).await;
    let end = gate.end(&id).await;
    assert_eq!(summary(&end), failed("fault", "internal_error", "ERROR"), "{name}: {end:?}");
    assert_facts(&name, &end, &request, caller, None);
    // The answer is that of the layers inside, who log the cause under their reference.
    let result = &answer_to(&name, &id, &answer)["result"];
    let words = result["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(result["isError"], json!(true), "{name}: {result}");
    let reference = end.field("reference").unwrap_or_default();
    assert!(words.contains(reference) && !reference.is_empty(), "{name}: {result} {end:?}");
    assert_eq!(end.field("error"), Some(words), "{name}: {end:?}");
    assert!(!answer.text().contains(SECRET), "{name}: {result}");
}
