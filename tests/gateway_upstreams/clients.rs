//! Real clients: what a program gets that uses an SDK, of a server that fails behind the gateway.

use std::{path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::{
    GUARD,
    bench::Gate,
    events::{SECRET, Summary, failed, summary},
    logs::Event,
    upstream::{Kind, Mode, Upstream, script, skip_or_fail},
};

/// One call, what the client has to read, and what the log has to say.
struct Step {
    gate: usize,
    tool: &'static str,
    arguments: Value,
    end: Summary,
}

async fn reads(kind: Kind, mode: Mode) {
    let file = if kind == Kind::TypeScript1 { "client.mjs" } else { "client.py" };
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway_upstreams/clients").join(file);
    let (upstream, client) = tokio::join!(Upstream::start(kind, mode), script(kind, file));
    let (upstream, mut client) = match (upstream, client) {
        (Ok(upstream), Ok(client)) => (upstream, client),
        (Err(unavailable), _) | (_, Err(unavailable)) => return skip_or_fail(&unavailable),
    };
    // Without the feature the gateway knows no policies.
    let policies = ["undeclared = \"mask\"\n", "deadline = \"300ms\"\n"];
    let policies = policies.iter().copied().filter(|_| cfg!(feature = "toml")).map(Some);
    let mut gates = Vec::new();
    for policy in std::iter::once(None).chain(policies) {
        gates.push(Gate::start(&upstream.url(), policy).await);
    }

    let steps = steps(gates.len());
    // The one that ends the server is last, and it is the first gateway's.
    let plan: Vec<Value> = (0..gates.len())
        .rev()
        .map(|gate| {
            let calls = steps.iter().filter(|step| step.gate == gate);
            let calls: Vec<_> = calls.map(|step| json!([step.tool, step.arguments])).collect();
            json!([format!("http://{}/mcp", gates[gate].address), calls])
        })
        .collect();
    client.arg("--plan").arg(json!(plan).to_string()).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(GUARD, client.output()).await.expect("an end in time");
    let output = output.expect("a client");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let got: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(got.len(), steps.len(), "{kind:?} {mode:?}: {stdout}\n{stderr}");
    let planned =
        (0..gates.len()).rev().flat_map(|gate| steps.iter().filter(move |step| step.gate == gate));
    for (step, got) in planned.zip(&got) {
        let name = format!("{kind:?} {mode:?} {}", step.tool);
        let end = end_of(&gates[step.gate], step.tool).await;
        assert_eq!(summary(&end), step.end, "{name}: {end:?}");
        check(&name, step, got, &end, mode);
    }
    for gate in &gates {
        assert!(!gate.logs().raw().contains(SECRET), "{kind:?} {mode:?}: {}", gate.tail());
    }
}

fn steps(gates: usize) -> Vec<Step> {
    let completed = || crate::endings::completed();
    let step = |gate, tool, arguments, end| Step { gate, tool, arguments, end };
    let mut steps = vec![
        step(0, "ok", json!({ "text": "größe" }), completed()),
        step(0, "progress", json!({ "n": 3 }), completed()),
        step(0, "fail_raise", json!({}), failed("undeclared", "undeclared_error", "ERROR")),
        step(0, "no_such_tool", json!({}), failed("protocol_error", "unknown_tool", "INFO")),
        step(0, "exit", json!({}), failed("fault", "upstream_error", "ERROR")),
        step(1, "fail_raise", json!({}), failed("undeclared", "undeclared_error", "ERROR")),
        step(2, "slow", json!({ "ms": 5000 }), failed("fault", "timeout", "WARN")),
    ];
    steps.retain(|step| step.gate < gates);
    steps
}

async fn end_of(gate: &Gate, tool: &str) -> Event {
    let is_it = |event: &&Event| event.is_terminal() && event.field("tool") == Some(tool);
    let end = gate.logs().wait_for(|events| events.iter().find(is_it).cloned()).await;
    let end = end.unwrap_or_else(|| panic!("no end of {tool}:\n{}", gate.tail()));
    let all = gate.logs().events();
    assert_eq!(all.iter().filter(is_it).count(), 1, "{tool}:\n{}", gate.tail());
    end
}

/// A fault is a result like any other, not an error of the transport.
fn check(name: &str, step: &Step, got: &Value, end: &Event, mode: Mode) {
    assert_eq!(got["raised"], Value::Null, "{name}: {got}");
    let is_error = end.message == "tool_call_failed";
    assert_eq!(got["isError"], json!(is_error), "{name}: {got}");
    let text = got["texts"][0].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "{name}: {got}");
    if step.tool == "progress" && mode != Mode::Json {
        let told = got["progress"].as_array().into_iter().flatten();
        let told: Vec<_> = told.filter_map(Value::as_f64).collect();
        assert_eq!(told, [1.0, 2.0, 3.0], "{name}: {got}");
    }
    // Of ours, or the server's own.
    let is_fault = step.gate > 0 || end.field("outcome") == Some("fault");
    let reference = end.field("call_id").unwrap_or_default();
    assert_eq!(text.contains(reference), is_fault, "{name}: {got}");
    assert!(!is_fault || !text.contains(SECRET), "{name}: {got}");
    if end.fields.contains_key("session") || end.field("protocol_version") == Some("2026-07-28") {
        assert_eq!(end.field("client_name"), Some("real-client"), "{name}: {end:?}");
    }
}

macro_rules! each {
    ($($name:ident: $kind:ident $mode:ident,)*) => {$(
        #[tokio::test]
        async fn $name() {
            reads(Kind::$kind, Mode::$mode).await;
        }
    )*};
}

each! {
    python1_of_events: FastMcp1 Stateful,
    python1_of_json: FastMcp1 Json,
    python2_of_events: FastMcp2 Stateful,
    python2_of_json: Python2 Json,
    typescript1_of_events: TypeScript1 Stateful,
    typescript1_of_json: TypeScript1 Json,
}
