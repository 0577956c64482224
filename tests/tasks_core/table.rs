//! Every end of a task, in every place that the layers can be in.

use serde_json::{Value, json};
use tower_outcome::{Level, LogLayer, OutcomeLayer, Policy};

use crate::{
    bench::{ANSWERED, Bench, COMPLETED, DEFERRED, FAULT, Stack, UNDECLARED, Way, duration},
    binding::Leaf,
    kit::{line, lines},
    server::Server,
    support::Event,
    work::SECRET,
};

/// What the client is told of it.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// Nothing is wrong.
    Nothing,
    /// What the author says.
    This(&'static str),
    /// The fixed text, and what it does not say is the line's cause.
    Fixed,
}

/// What a task ends in; how it is told; and what of that is told by a server that has the layers
/// round its HTTP service alone, where the line about the cause is one of its own.
type Row = (&'static str, &'static str, Told, Option<[&'static str; 2]>);

const ROWS: [Row; 9] = [
    ("ok", COMPLETED, Told::Nothing, None),
    ("is_error", UNDECLARED, Told::This("no such table"), None),
    ("soft", "ERROR tool_call_failed soft_error soft_error", Told::This("quota"), None),
    ("error", UNDECLARED, Told::This("quota of 5 exceeded"), None),
    ("leak", FAULT, Told::Fixed, None),
    (
        "rejected",
        "INFO tool_call_failed rejected unknown_note",
        Told::This("No note at 'x'."),
        None,
    ),
    ("unknown", FAULT, Told::Fixed, Some([FAULT, "ERROR tool_failed fault internal_error"])),
    (
        "panic",
        "ERROR tool_call_failed fault panic",
        Told::Fixed,
        Some([FAULT, "ERROR tool_failed fault panic"]),
    ),
    (
        "panic_sync",
        "ERROR tool_call_failed fault panic",
        Told::Fixed,
        Some([FAULT, "ERROR tool_failed fault panic"]),
    ),
];

/// How long each call takes, and then the task, in milliseconds.
const MS: u64 = 40;

async fn check(way: Way, (ends, near, told, outside): Row) {
    let what = format!("{way:?}, {ends}");
    let bench = Bench::new(way);
    let id = bench.create(json!({ "ends": ends, "before_ms": MS, "ms": MS }), None).await;
    bench.server.ended(&id).await;
    // A status is not the end.
    let first = bench.get(1, &id).await;
    bench.assert_open(&id);
    bench.result(0, &id).await;
    let end = bench.end_of(&id);
    let last = bench.get(1, &id).await;
    // What is said of a status counts as told until it is known to be what must not be.
    if ends != "leak" {
        assert_eq!(first["result"], last["result"], "{what}");
    } else {
        assert_ne!(first["result"]["statusMessage"], last["result"]["statusMessage"], "{what}");
    }

    let outside = outside.filter(|_| way.is_outside());
    let terminal = outside.map_or(near, |[terminal, _]| terminal);
    assert_eq!(line(&end), terminal, "{what}: {end:?}");
    // Since the call began, not the task, nor the question.
    let worked = if ends == "panic_sync" { MS } else { 2 * MS };
    assert!(duration(&end) >= worked as f64, "{what}: {end:?}");
    check_texts(&what, &bench, &end, told, outside.is_some());

    // Nothing else is said, by whomever.
    let mut expected = vec![DEFERRED, terminal, ANSWERED, ANSWERED, ANSWERED];
    expected.extend(outside.map(|[_, cause]| cause));
    expected.sort_unstable();
    let mut said = lines(&bench.logs);
    said.sort_unstable();
    assert_eq!(said, expected, "{what}: {}", bench.logs.raw());
    check_requests(&what, &bench, &id);
}

fn check_texts(what: &str, bench: &Bench, end: &Event, told: Told, is_outside: bool) {
    let received = bench.received();
    assert!(!received.contains(SECRET), "{what}: {received}");
    let error = end.field("error").unwrap_or_default();
    let cause = end.field("cause").unwrap_or_default();
    match told {
        Told::Nothing => assert_eq!((error, cause), ("", ""), "{what}"),
        Told::This(text) => {
            assert_eq!(cause, "", "{what}: {end:?}");
            assert!(error.starts_with(text) && received.contains(text), "{what}: {end:?}");
        }
        Told::Fixed if is_outside => {
            let failed = bench.logs.of_target("tower_outcome");
            let failed = failed.iter().find(|event| event.message == "tool_failed").unwrap();
            assert!(failed.field("cause").unwrap().contains(SECRET), "{what}: {failed:?}");
            let reference = failed.field("reference").unwrap();
            assert_eq!(end.field("reference"), Some(reference), "{what}: {end:?}");
            assert!(received.contains(reference), "{what}: {received}");
        }
        Told::Fixed => {
            assert!(cause.contains(SECRET), "{what}: {end:?}");
            let reference = end.field("call_id").unwrap();
            assert!(error.contains("could not complete it"), "{what}: {end:?}");
            assert!(error.contains(reference) && received.contains(reference), "{what}: {end:?}");
        }
    }
}

/// Each request is one of its own, in however many layers: begun once, and with the task's id.
fn check_requests(what: &str, bench: &Bench, id: &str) {
    let ours = bench.logs.of_target("tower_outcome");
    let begun = |name: &str| ours.iter().filter(|event| event.message == name).count();
    let begun = (begun("tool_call_started"), begun("request_started"));
    assert_eq!(begun, (1, 3), "{what}: {ours:#?}");
    let answered: Vec<&Event> = ours.iter().filter(|it| line(it) == ANSWERED).collect();
    for (event, method) in answered.iter().zip(["tasks/get", "tasks/result", "tasks/get"]) {
        assert_eq!(event.field("method"), Some(method), "{what}: {event:?}");
        assert_eq!(event.field("task_id"), Some(id), "{what}: {event:?}");
    }
}

macro_rules! ways {
    ($($name:ident: $way:ident;)+) => { $(
        #[tokio::test]
        async fn $name() {
            for row in ROWS {
                check(Way::$way, row).await;
            }
        }
    )+ };
}

ways! {
    every_end_typed: Typed;
    every_end_http_json: Json;
    every_end_http_sse: Sse;
    every_end_both_json: Both;
    every_end_both_sse: BothSse;
}

/// Whoever asks first, on whichever connection, and however often.
#[tokio::test]
async fn what_is_asked_for_again_and_again_is_told_once() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "is_error", "ms": 20 }), None).await;
        // Both wait for the end, as the server has it.
        let (one, other) = tokio::join!(bench.result(0, &id), bench.result(1, &id));
        assert_eq!(one["result"], other["result"], "{way:?}");
        for session in [0, 1, 0, 1] {
            bench.result(session, &id).await;
            bench.get(session, &id).await;
        }
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

/// Where the result is asked for while the task goes on, nothing is said before its end.
#[tokio::test]
async fn a_task_that_goes_on_has_no_end() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "never" }), None).await;
        for session in [0, 1, 0] {
            let answer = bench.get(session, &id).await;
            assert_eq!(answer["result"]["status"], "working", "{way:?}: {answer}");
        }
        let list = bench.ask(1, "tasks/list", json!({})).await;
        assert_eq!(list["result"]["tasks"][0]["taskId"], json!(id), "{way:?}: {list}");
        bench.assert_open(&id);
    }
}

/// A list shows how tasks have ended, and is asked for by people who look around.
#[tokio::test]
async fn a_list_of_tasks_is_no_end() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "error" }), None).await;
        bench.server.ended(&id).await;
        let list = bench.ask(1, "tasks/list", json!({})).await;
        assert_eq!(list["result"]["tasks"][0]["status"], "failed", "{way:?}: {list}");
        bench.assert_open(&id);
        bench.result(0, &id).await;
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

/// It is the result of a tool, whatever the method is called.
#[tokio::test]
async fn a_result_is_judged_as_that_of_its_tool() {
    let policy = Policy::new()
        .no_soft_errors_of("build")
        .soft_errors_of("task", |_: &str, payload: &Value| {
            payload.get("error").map(|error| format!("own: {error}"))
        })
        .level("soft_error", Level::Warn);
    for way in Way::ALL {
        let server = Server::default();
        let stack = Stack::of(way, &OutcomeLayer::new().policy(policy.clone()), &server);
        let bench = Bench::of(way, server, stack.clone());
        for (tool, expected) in
            [("task", "WARN tool_call_failed soft_error soft_error"), ("build", COMPLETED)]
        {
            let id = bench.create_of(&stack, tool, json!({ "ends": "soft" }), None).await;
            bench.result(1, &id).await;
            let end = bench.end_of(&id);
            assert_eq!((line(&end).as_str(), end.field("tool")), (expected, Some(tool)), "{way:?}");
            let error = end.field("error");
            assert_eq!(error.is_some_and(|it| it.contains("own: ")), tool == "task", "{end:?}");
        }
    }
}

/// Without containment the answers pass as they are, and the lines are the same.
#[tokio::test]
async fn a_layer_that_only_logs_tells_the_same() {
    let typed =
        |server: &Server| Stack::typed(tower::Layer::layer(&LogLayer::new(), Leaf(server.clone())));
    let http = |way: Way, server: &Server| {
        let service = crate::bench::http_service(way, &OutcomeLayer::new(), server);
        Stack::http(tower::Layer::layer(&LogLayer::new(), service))
    };
    for way in [Way::Typed, Way::Json, Way::Sse] {
        for (ends, expected) in [("ok", COMPLETED), ("error", UNDECLARED), ("leak", FAULT)] {
            let server = Server::default();
            let stack = match way {
                Way::Typed => typed(&server),
                _ => http(way, &server),
            };
            let bench = Bench::of(way, server, stack);
            let id = bench.create(json!({ "ends": ends }), None).await;
            for session in [0, 1] {
                let answer = bench.result(session, &id).await;
                let is_told = answer["error"]["message"] == SECRET;
                assert_eq!(is_told, ends == "leak", "{way:?}, {ends}: {answer}");
            }
            assert_eq!(line(&bench.end_of(&id)), expected, "{way:?}, {ends}");
        }
    }
}
