//! What a policy, a hook and the tool itself say of a task's end.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tower_outcome::{Level, OutcomeLayer, Policy, Record, SoftErrors, Undeclared};

use crate::{
    kit::{Created, Tasks, assert_fixed, line, serve, status},
    support::{Answer, Client, Event, Layers, Logs, Revision, Transport, server},
};

/// Where the layers are.
#[derive(Clone, Copy, Debug)]
enum Round {
    Handler,
    Http,
}

const BOTH: [Round; 2] = [Round::Handler, Round::Http];

/// A task that ends like this in these layers, and what is said of it.
async fn ended(round: Round, layer: OutcomeLayer, ends: &str) -> (Created, Answer, Event) {
    let server = server::Misbehaving::new();
    let (logs, _capture) = Logs::capture();
    let tasks = match round {
        Round::Handler => Tasks::serve(server::layered(server, &layer)).await,
        Round::Http => {
            let client = Client::at(&serve(server, layer).await, Revision::V2025, logs);
            Tasks::of(vec![client], false).await
        }
    };
    let created = tasks.create(json!({ "ends": ends, "ms": 5, "text": "SECRET" })).await;
    let answer = tasks.polled(&created).await;
    let end = tasks.end(&created).await;
    assert_eq!(end.field("tool"), Some("task"), "{end:?}");
    (created, answer, end)
}

async fn line_under(round: Round, policy: Policy, ends: &str) -> String {
    line(&ended(round, OutcomeLayer::new().policy(policy), ends).await.2)
}

#[tokio::test]
async fn a_tasks_result_is_judged_by_its_tools_own_classifier() {
    const SOFT: &str = "ERROR tool_call_failed soft_error soft_error";
    const FINE: &str = "INFO tool_call_completed completed -";
    let own = |tool: &'static str| {
        Policy::new().soft_errors_of(tool, |tool: &str, payload: &Value| {
            Some(format!("{tool} says {}", payload["error"].as_str()?))
        })
    };
    for round in BOTH {
        let off = || Policy::new();
        for (policy, expected) in [
            (off(), SOFT),
            (off().no_soft_errors_of("task"), FINE),
            (off().no_soft_errors_of("tasks/get"), SOFT),
            (off().no_soft_errors(), FINE),
            (off().no_soft_errors().soft_errors_of("task", SoftErrors::new()), SOFT),
            // Which looks at other members than anybody else does.
            (
                off()
                    .soft_errors_of("task", SoftErrors::new().error_keys(["fault"]).statuses([""])),
                FINE,
            ),
        ] {
            let shown = format!("{policy:?}");
            assert_eq!(line_under(round, policy, "soft").await, expected, "{round:?}, {shown}");
        }
        let (_, answer, end) = ended(round, OutcomeLayer::new().policy(own("task")), "soft").await;
        assert_eq!(line(&end), SOFT, "{round:?}");
        assert_eq!(end.field("error"), Some("task says SECRET"), "{round:?}: {end:?}");
        // It goes out as it is.
        let payload = &answer.result().unwrap()["result"]["structuredContent"];
        assert_eq!(*payload, json!({ "status": "failed", "error": "SECRET" }), "{round:?}");
        let layer = OutcomeLayer::new().policy(own("tasks/get"));
        let (_, _, end) = ended(round, layer, "soft").await;
        assert_eq!(end.field("error"), Some("SECRET"), "{round:?}: {end:?}");
    }
}

#[tokio::test]
async fn levels_are_those_of_any_other_call() {
    for round in BOTH {
        let undeclared = Policy::new().undeclared_level(Level::Warn);
        let expected = "WARN tool_call_failed undeclared undeclared_error";
        assert_eq!(line_under(round, undeclared, "is_error").await, expected, "{round:?}");
        let internal = Policy::new().level("internal_error", Level::Warn);
        let expected = "WARN tool_call_failed fault internal_error";
        assert_eq!(line_under(round, internal.clone(), "error").await, expected, "{round:?}");
        let expected = "ERROR tool_call_failed soft_error soft_error";
        assert_eq!(line_under(round, internal, "soft").await, expected, "{round:?}");
    }
    let of_panics = Policy::new().level("panic", Level::Warn);
    let expected = "WARN tool_call_failed fault panic";
    assert_eq!(line_under(Round::Handler, of_panics, "panic").await, expected);
}

#[tokio::test]
async fn an_undeclared_failure_inside_a_task_is_masked_where_that_is_asked_for() {
    let layer = || OutcomeLayer::new().policy(Policy::new().undeclared(Undeclared::Mask));
    for round in BOTH {
        let (created, answer, end) = ended(round, layer(), "is_error").await;
        assert_eq!(line(&end), "ERROR tool_call_failed undeclared undeclared_error", "{round:?}");
        assert_eq!(end.field("cause"), Some("SECRET"), "{round:?}: {end:?}");
        let task = answer.result().unwrap();
        // A result still, of a task that is otherwise what it was.
        assert_eq!(status(&answer), "completed", "{round:?}: {answer:?}");
        assert_eq!(task["result"]["isError"], true, "{round:?}: {answer:?}");
        assert_eq!(task["createdAt"], created.answer.result().unwrap()["createdAt"], "{round:?}");
        let text = task["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&created.call_id), "{round:?}: no reference in: {text}");
        let record = &task["result"]["_meta"]["tower-outcome/failure"];
        assert_eq!(record["reference"], created.call_id.as_str(), "{round:?}: {answer:?}");
        assert!(!task.to_string().contains("SECRET"), "{round:?}: {answer:?}");
        // What the flag does not say is nobody's to mask.
        let (_, answer, _) = ended(round, layer(), "soft").await;
        assert!(answer.result().unwrap().to_string().contains("SECRET"), "{round:?}: {answer:?}");
        let (_, answer, end) = ended(round, layer(), "error").await;
        assert_fixed(&answer, &end);
    }
}

/// What counts, counts both ends, and knows them for the same call's.
#[tokio::test]
async fn a_hook_hears_of_both_ends() {
    for round in BOTH {
        let records: Arc<Mutex<Vec<Record>>> = Arc::default();
        let heard = Arc::clone(&records);
        let layer = OutcomeLayer::new().hook(move |record: &Record| {
            if record.tool.as_deref() == Some("task") {
                heard.lock().unwrap().push(record.clone());
            }
        });
        let (created, ..) = ended(round, layer, "is_error").await;
        let records = records.lock().unwrap();
        let outcomes: Vec<_> = records.iter().map(|record| record.outcome.as_str()).collect();
        assert_eq!(outcomes, ["deferred", "undeclared"], "{round:?}");
        for record in records.iter() {
            assert_eq!(record.call_id.to_string(), created.call_id, "{round:?}");
            assert_eq!(record.task_id.as_deref(), Some(&*created.task), "{round:?}");
        }
        assert!(records[0].duration < records[1].duration, "{round:?}: {records:?}");
    }
}

/// A client that could not poll is told so, instead of being given what it cannot read.
#[tokio::test]
async fn a_client_that_has_not_declared_the_extension_is_told_what_to_declare() {
    for (transport, layers) in [
        (Transport::Duplex, Layers::Typed),
        (Transport::Stateful, Layers::Both),
        (Transport::Http2026, Layers::Http),
    ] {
        let client = Client::connect(transport, layers).await;
        let id = client.start_call("task", json!({ "ends": "ok", "ms": 0 })).await;
        let answer = client.wait(&id).await;
        assert!(answer.is_error(), "{transport:?}: {answer:?}");
        for part in ["io.modelcontextprotocol/tasks", "initialize", "_meta", "fail_is_error"] {
            assert!(answer.text().contains(part), "{transport:?}: no {part} in {answer:?}");
        }
        let end = client.logs().wait_for_end(&id).await.unwrap();
        let expected = "INFO tool_call_failed rejected tasks_not_declared";
        assert_eq!(line(&end), expected, "{transport:?}");
        assert_eq!(end.field("task_id"), None, "{transport:?}: {end:?}");
    }
}
