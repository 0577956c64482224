//! A tool that works on many items, in the layers: what the model reads, what stands in the record,
//! and what the operator's line says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::time::Duration;

use rmcp::{
    ServerHandler,
    handler::server::wrapper::{Json, Parameters},
    schemars, tool, tool_handler, tool_router,
};
use serde_json::{Value, json};
use tower_outcome::{
    Actor, Batch, BatchStatus, Done, OutcomeLayer, ServerHandlerExt as _, ToolError,
};

use crate::support::{Answer, Client, Event, Revision};

struct Labels;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    project_ids: Vec<String>,
    /// What the tool reports of each of them, and then of the batch.
    report: Vec<String>,
    #[serde(default)]
    end: String,
}

#[tool_router]
impl Labels {
    #[tool(description = "Labels projects.")]
    async fn label_projects(
        &self,
        Parameters(args): Parameters<Args>,
    ) -> Result<Json<Done>, ToolError> {
        let mut batch = Batch::requested("project_ids", &args.project_ids)?;
        for report in &args.report {
            let (what, item) = report.split_once(' ').unwrap();
            match what {
                "confirm" => batch.confirm(item),
                "reject" => batch.reject(item, "It is archived."),
                _ => batch.lost(item),
            };
        }
        match args.end.as_str() {
            "stopped" => Err(batch.stopped(std::io::Error::other("10.0.0.7: broken pipe"))),
            "rejected" => Err(batch.rejected("label_too_long", "The label is too long.")),
            "succeeded" => Ok(Json(batch.outcome_as(BatchStatus::Succeeded)?.into_result()?)),
            "heals" => {
                let heals = |_, error: ToolError| {
                    error.actor(Actor::Time).retry_after(Duration::from_secs(5))
                };
                Ok(Json(batch.finish_with(heals)?))
            }
            _ => Ok(Json(batch.finish()?)),
        }
    }
}

#[tool_handler]
impl ServerHandler for Labels {}

async fn call(arguments: Value) -> (Answer, Event) {
    let client = Client::in_process(Labels.layered(OutcomeLayer::new()), Revision::V2025);
    client.initialize("batch").await;
    let id = client.start_call("label_projects", arguments).await;
    let answer = client.wait(&id).await;
    let end = client.logs().wait_for_end(&id).await.expect("an event");
    let terminal = client.logs().events().iter().filter(|event| event.is_terminal()).count();
    // The handshake's, and the call's.
    assert_eq!(terminal, 2);
    (answer, end)
}

fn args(report: &[&str], end: &str) -> Value {
    json!({ "project_ids": ["p1", "p2"], "report": report, "end": end })
}

#[tokio::test]
async fn a_success_is_structured_and_fits_the_output_schema() {
    let (answer, end) = call(args(&["confirm p2", "confirm p1"], "succeeded")).await;
    let expected = json!({ "status": "succeeded", "confirmed": ["p1", "p2"], "unresolved": [] });
    assert_eq!(answer.structured(), Some(&expected));
    assert!(!answer.is_error());
    assert_eq!((end.message.as_str(), end.level.as_str()), ("tool_call_completed", "INFO"));

    let client = Client::in_process(Labels.layered(OutcomeLayer::new()), Revision::V2025);
    client.initialize("batch").await;
    let listed = client.request("tools/list", json!({})).await;
    let schema = &listed.result().unwrap()["tools"][0]["outputSchema"];
    assert_eq!(schema["properties"]["status"]["const"], "succeeded");
    assert_eq!(schema["required"], json!(["status", "confirmed", "unresolved"]));
}

/// What is expected of a failure.
struct Row {
    report: &'static [&'static str],
    end: &'static str,
    line: [&'static str; 4],
    effects: Value,
    says: &'static str,
    cause: Option<&'static str>,
}

#[tokio::test]
async fn each_failure_is_one_line_with_its_effects() {
    let partial = json!({ "confirmed": ["p1"], "unresolved": ["p2"], "unknown": false });
    let unknown = json!({ "confirmed": [], "unresolved": ["p1", "p2"], "unknown": true });
    let nothing = json!({ "confirmed": [], "unresolved": [], "unknown": false });
    let rows = [
        Row {
            report: &["confirm p1", "reject p2"],
            end: "",
            line: ["fault", "partial_failure", "ERROR", "operator"],
            effects: partial.clone(),
            says: "p2 was not done: It is archived. Done: p1. Not done: p2.",
            cause: None,
        },
        Row {
            report: &["confirm p1", "lost p2"],
            end: "stopped",
            line: ["fault", "partial_failure", "ERROR", "operator"],
            effects: partial.clone(),
            says: "1 of 2 items is confirmed. Done: p1. Not confirmed: p2.",
            cause: Some("10.0.0.7: broken pipe"),
        },
        Row {
            report: &["confirm p1", "lost p2"],
            end: "heals",
            line: ["fault", "partial_failure", "WARN", "time"],
            effects: partial,
            says: "in 5 seconds send it only if it did not",
            cause: None,
        },
        Row {
            report: &["reject p1", "reject p2"],
            end: "",
            line: ["rejected", "rejected", "INFO", "model"],
            effects: nothing.clone(),
            says: "p1, p2 were not done: It is archived. Nothing was changed.",
            cause: None,
        },
        Row {
            report: &[],
            end: "rejected",
            line: ["rejected", "label_too_long", "INFO", "model"],
            effects: nothing,
            says: "The label is too long. Nothing was changed.",
            cause: None,
        },
        Row {
            report: &["lost p1", "lost p2"],
            end: "",
            line: ["fault", "outcome_unknown", "ERROR", "operator"],
            effects: unknown.clone(),
            says: "Not confirmed: p1, p2. What took effect is unknown.",
            cause: None,
        },
        Row {
            report: &[],
            end: "stopped",
            line: ["fault", "outcome_unknown", "ERROR", "operator"],
            effects: unknown,
            says: "It is not known which of 2 items took effect, if any did.",
            cause: Some("10.0.0.7: broken pipe"),
        },
        Row {
            report: &["confirm p1"],
            end: "succeeded",
            line: ["fault", "contract_violation", "ERROR", "operator"],
            effects: json!({ "confirmed": ["p1"], "unresolved": ["p2"], "unknown": true }),
            says: "This call was fine, but the server could not complete it. Done: p1.",
            cause: Some("said to have succeeded, but item 'p2' is not confirmed"),
        },
        Row {
            report: &["confirm p1"],
            end: "rejected",
            line: ["fault", "contract_violation", "ERROR", "operator"],
            effects: json!({ "confirmed": ["p1"], "unresolved": ["p2"], "unknown": true }),
            says: "This call was fine, but the server could not complete it. Done: p1.",
            cause: Some("said to be rejected, but item 'p1' is confirmed"),
        },
        Row {
            report: &["confirm p1", "confirm p2", "confirm p9"],
            end: "heals",
            line: ["fault", "contract_violation", "ERROR", "operator"],
            effects: json!({ "confirmed": ["p1", "p2"], "unresolved": [], "unknown": true }),
            says: "Done: p1, p2. What else took effect is unknown.",
            cause: Some("item 'p9' was reported but never was in the batch"),
        },
    ];
    for Row { report, end, line, effects, says, cause } in rows {
        let (answer, event) = call(args(report, end)).await;
        let name = format!("{report:?} {end}: {answer:?} {event:?}");
        assert!(answer.is_error(), "{name}");
        assert_eq!(event.message, "tool_call_failed", "{name}");
        let field = |field| event.field(field).unwrap_or_default();
        let found = [field("outcome"), field("code"), &event.level, field("actor")];
        assert_eq!(found, line, "{name}");
        let text = answer.text();
        assert!(text.contains(says), "{name}");
        assert!(field("error").starts_with(text.get(..60).unwrap_or(&text)), "{name}");
        assert_eq!(answer.record().unwrap()["effects"], effects, "{name}");
        match cause {
            Some(cause) => {
                assert!(field("cause").contains(cause), "{name}");
                assert!(!text.contains(cause), "{name}");
            }
            None => assert_eq!(event.field("cause"), None, "{name}"),
        }
    }
}

#[tokio::test]
async fn duplicates_that_the_model_sent_are_the_models() {
    let sent = json!({ "project_ids": ["p1", "p1"], "report": [] });
    let (answer, end) = call(sent).await;
    assert_eq!(
        answer.text(),
        "The same item was sent twice. The value of project_ids was \"p1\". Send each item once in \
         project_ids."
    );
    assert_eq!((end.field("code"), end.level.as_str()), (Some("duplicate_item"), "INFO"));
}
