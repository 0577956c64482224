//! Every way a call can end in rmcp's server, as it is seen from outside: by layers round the HTTP
//! service alone, and by those together with the ones round the handler.

use serde_json::{Value, json};

use crate::{
    check, leaving,
    row::{Row, Wire},
    rows,
    support::{Answer, Client, Event, Layers, Transport},
};

const OVER_HTTP: [Transport; 5] = [
    Transport::Stateful,
    Transport::Stateless,
    Transport::Json,
    Transport::Http2026,
    Transport::Json2026,
];

fn report(transport: Transport, wrong: &[String]) {
    let count = wrong.len();
    assert!(wrong.is_empty(), "{transport:?}: {count} wrong:\n- {}\n", wrong.join("\n- "));
}

/// The facts that only a layer round the HTTP service has, and those that only one round the
/// handler has, are in one line.
fn check_facts(client: &Client, transport: Transport, wrong: &mut Vec<String>) {
    let events = client.logs().of_target("tower_outcome");
    for event in events.iter().filter(|event| event.is_terminal()) {
        let number = |name: &str| event.fields.get(name).and_then(Value::as_u64).unwrap_or(0);
        for name in ["request_bytes", "result_bytes"] {
            if number(name) == 0 {
                wrong.push(format!("no {name}: {event:?}"));
            }
        }
        for (name, expected) in [("route", "/mcp"), ("transport", "http"), ("client_name", "raw")] {
            let is_unknown = name == "client_name" && !knows_client(transport);
            if event.field(name) != Some(expected) && !is_unknown {
                wrong.push(format!("{name} is not {expected}: {event:?}"));
            }
        }
    }
    for id in client.sent() {
        let starts = events
            .iter()
            .filter(|event| event.is_about(&id) && event.message.ends_with("_started"));
        let starts = starts.count();
        if starts != 1 {
            wrong.push(format!("request {id} has {starts} starts"));
        }
    }
}

/// Whether each request says whose it is, or its session does.
fn knows_client(transport: Transport) -> bool {
    matches!(transport, Transport::Stateful | Transport::Http2026 | Transport::Json2026)
}

async fn with_both(transport: Transport) {
    let flags = ["--panic-hook"];
    let client = Client::open_with(transport, Layers::Both, &flags).await;
    if !client.is_2026() {
        assert!(client.initialize("raw").await.result().is_some());
    }
    let mut wrong = Vec::new();
    for row in rows::all().iter().filter(|row| row.impossible_over(transport).is_none()) {
        wrong.extend(check::row(&client, row).await);
    }
    check_facts(&client, transport, &mut wrong);
    wrong.extend(leaving::cancelled_calls(&client, transport).await);
    wrong.extend(leaving::a_call_whose_client_leaves(&client, transport).await);
    wrong.extend(check::whole_session(&client, &rows::all()));
    // What is known of a panic from further in; one in a task of its own is nobody's.
    let events = client.logs().of_target("tower_outcome");
    let panics = events.iter().filter(|event| event.field("code") == Some("panic"));
    let unknown: Vec<_> = panics.filter(|event| event.field("location").is_none()).collect();
    if unknown.len() != 1 || !unknown[0].field("cause").unwrap_or_default().contains("spawned") {
        wrong.push(format!("panics without a location: {unknown:?}"));
    }
    report(transport, &wrong);
}

/// The rows whose end can be told from what goes over the wire alone.
fn told_on_the_wire(row: &Row) -> bool {
    // A panic of a tool leaves rmcp's stream open for ever; `panic` in a task of its own is an error.
    let spawned = row.params.pointer("/arguments/when") == Some(&json!("spawned"));
    row.ends.code != Some("panic") && row.params["name"] != "panic" || spawned
}

async fn with_http_alone(transport: Transport) {
    let client = Client::connect(transport, Layers::Http).await;
    let mut wrong = Vec::new();
    let mut ids = Vec::new();
    for row in rows::all().into_iter().filter(told_on_the_wire) {
        let id = client.start(row.method, row.params.clone()).await;
        let answer = client.wait(&id).await;
        let event = client.logs().wait_for_end(&id).await;
        let Some(event) = event else {
            wrong.push(format!("'{}': no end", row.name));
            continue;
        };
        for found in check_row(&client, &row, &answer, &event) {
            wrong.push(format!("'{}': {found}", row.name));
        }
        ids.push(id);
    }
    for id in ids {
        if client.logs().terminal(&id).len() != 1 || client.inbox().answers(&id).len() != 1 {
            wrong.push(format!("request {id} has more than one end or answer"));
        }
    }
    // The tool's own cause is a line of its own, since no layer round the handler carries it.
    check_facts(&client, transport, &mut wrong);
    wrong.extend(leaving::cancelled_calls(&client, transport).await);
    wrong.extend(leaving::a_call_whose_client_leaves(&client, transport).await);
    report(transport, &wrong);
}

fn check_row(client: &Client, row: &Row, answer: &Answer, event: &Event) -> Vec<String> {
    let mut wrong = Vec::new();
    let ends = &row.ends;
    let mut code = ends.code;
    if code == Some("panic") {
        code = Some("internal_error");
    }
    let is_tool = row.method == "tools/call";
    let mut wire = row.wire;
    if row.wire == Wire::Error(-32002) && client.is_2026() && !is_tool {
        // rmcp 3.11 says it so to peers of 2026-07-28.
        (wire, code) = (Wire::Error(-32602), Some("invalid_params"));
    }
    let facts = [
        ("level", Some(event.level.as_str()), Some(ends.level)),
        ("outcome", event.field("outcome"), Some(ends.outcome)),
        ("code", event.field("code"), code),
        ("actor", event.field("actor"), ends.actor),
        ("retryable", event.field("retryable"), ends.retryable),
    ];
    for (fact, logged, expected) in facts {
        if logged != expected {
            wrong.push(format!("the log has {fact} {logged:?} instead of {expected:?}: {event:?}"));
        }
    }
    let got = match answer {
        Answer::Result { .. } if answer.is_error() => Wire::ToolError,
        Answer::Result { .. } => Wire::Result,
        Answer::Error { .. } => Wire::Error(answer.error_code().unwrap_or_default()),
        Answer::None | Answer::Http { .. } => {
            wrong.push(format!("no JSON-RPC answer, but {answer:?}"));
            return wrong;
        }
    };
    if got != wire {
        wrong.push(format!("answered with {got:?}: {answer:?}"));
    }
    let text = answer.text();
    for expected in row.says.iter().filter(|expected| !text.contains(**expected)) {
        wrong.push(format!("the text does not say {expected:.60}: {text:.200}"));
    }
    if let Some(secret) = row.secret
        && format!("{answer:?}").contains(secret)
    {
        wrong.push(format!("the client was told {secret}"));
    }
    wrong
}

macro_rules! one_test_a_transport {
    ($($transport:ident => $both:ident, $alone:ident;)+) => {
        $(
            #[tokio::test]
            async fn $both() {
                with_both(Transport::$transport).await;
            }

            #[tokio::test]
            async fn $alone() {
                with_http_alone(Transport::$transport).await;
            }
        )+
    };
}

one_test_a_transport! {
    Stateful => both_with_sessions, http_alone_with_sessions;
    Stateless => both_without_sessions, http_alone_without_sessions;
    Json => both_with_json_answers, http_alone_with_json_answers;
    Http2026 => both_in_2026_07_28, http_alone_in_2026_07_28;
    Json2026 => both_with_json_answers_in_2026_07_28, http_alone_with_json_answers_in_2026_07_28;
}

/// A panic of a tool, of which rmcp tells nobody: only a deadline answers it from outside.
#[tokio::test]
async fn a_deadline_answers_what_hangs_without_layers_round_the_handler() {
    for transport in OVER_HTTP {
        let flags = ["--deadline", "300"];
        let client = Client::open_with(transport, Layers::Http, &flags).await;
        if !client.is_2026() {
            assert!(client.initialize("raw").await.result().is_some());
        }
        for (tool, arguments) in [
            ("panic", json!({ "text": "SECRET", "when": "first_poll" })),
            ("panic", json!({ "text": "SECRET", "when": "after_await" })),
            ("hang", json!({})),
        ] {
            let id = client.start_call(tool, arguments).await;
            let answer = client.wait(&id).await;
            let end = client.logs().wait_for_end(&id).await.unwrap();
            let facts = (end.level.as_str(), end.field("outcome"), end.field("code"));
            assert_eq!(facts, ("WARN", Some("fault"), Some("timeout")), "{transport:?}: {end:?}");
            assert!(answer.is_error() && answer.text().contains("took too long"), "{answer:?}");
            assert!(answer.text().contains(end.field("call_id").unwrap()), "{answer:?}");
            assert_eq!(client.call("ok", json!({})).await.text(), "ok", "{transport:?}");
            assert_eq!(client.logs().terminal(&id).len(), 1, "{transport:?}");
        }
    }
}
