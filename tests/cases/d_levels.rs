//! D: levels, and noise for operators.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tower_outcome::{Declare, OutcomeLayer, Record, ResultExt as _, ToolError};

use crate::{
    child::{self, Server},
    kit::{self, LAYERS, Tools, call, connect, connect_in, line},
    support::{Client, Transport},
};

/// What a store can run into.
#[derive(Debug)]
enum StoreError {
    Unknown,
    Busy,
    Broken,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for StoreError {}

impl Declare for StoreError {
    fn declare(self) -> ToolError {
        match self {
            Self::Unknown => ToolError::rejected("unknown_note", "There is no such note."),
            Self::Busy => ToolError::transient("store_busy", "The store is busy."),
            Self::Broken => self.into(),
        }
    }
}

#[tokio::test]
async fn d1_the_level_is_that_of_the_errors_own_declaration() {
    fn raises(error: fn() -> StoreError) -> Result<String, ToolError> {
        Err(error()).declared()
    }
    let tools = Tools::new()
        .with("fix_your_call", |_| async { raises(|| StoreError::Unknown) })
        .with("heals", |_| async { raises(|| StoreError::Busy) })
        .with("operator", |_| async { raises(|| StoreError::Broken) });
    let client = connect(tools).await;
    for (tool, expected) in [
        ("fix_your_call", "INFO tool_call_failed rejected unknown_note"),
        ("heals", "WARN tool_call_failed fault store_busy"),
        ("operator", "ERROR tool_call_failed fault internal_error"),
    ] {
        let (answer, event) = call(&client, tool, json!({})).await;
        assert!(answer.is_error(), "{tool}: {answer:?}");
        assert_eq!(line(&event), expected, "{tool}");
    }
}

#[tokio::test]
async fn d3_what_rmcp_logs_of_the_same_failure_can_be_silenced_as_documented() {
    let raise = json!({ "code": -32602, "message": "no such thing" });
    for (filter, of_rmcp) in [("info", 1), ("info,rmcp::service=error", 0)] {
        let mut server = Server::start(&[], filter).await;
        server.call(1, "fail_protocol", raise.clone()).await;
        server.call(2, "fail_unknown", json!({ "text": "SECRET" })).await;
        let ended = server.finish().await;
        let lines: Vec<String> = ended.events("tower_outcome").iter().map(child::line).collect();
        let ours = [
            "INFO tool_call_failed protocol_error invalid_params",
            "ERROR tool_call_failed fault internal_error",
        ];
        assert_eq!(lines, ours, "{filter}");
        let theirs = ended.events("rmcp::service");
        let warns = theirs.iter().filter(|event| event["level"] == "WARN").count();
        assert_eq!(warns, of_rmcp, "{filter}: {theirs:?}");
    }
    for document in [include_str!("../../README.md"), include_str!("../../src/binding/rmcp/mod.rs")]
    {
        assert!(document.contains("info,rmcp::service=error"));
    }
}

#[tokio::test]
async fn d5_scanners_alarm_nobody() {
    for transport in [Transport::Duplex, Transport::Stateless] {
        let client = Client::connect(transport, LAYERS).await;
        for _ in 0..50 {
            let (answer, event) = call(&client, ".env", json!({ "path": "../../.env" })).await;
            assert_eq!(answer.error_code(), Some(-32602), "{answer:?}");
            assert_eq!(line(&event), "INFO tool_call_failed protocol_error unknown_tool");
        }
        let (_, event) = call(&client, "read_note", json!({ "path": ["../../.env"] })).await;
        assert_eq!(line(&event), "INFO tool_call_failed rejected invalid_arguments");
        assert_eq!(kit::our_alarms(&client), [], "{transport:?}");
    }
}

#[tokio::test]
async fn d7_a_call_that_is_repeated_is_logged_each_time_with_what_was_wrong() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let mut calls = std::collections::BTreeSet::new();
    for _ in 0..13 {
        let (_, event) = call(&client, "read_note", json!({ "path": "travel/japn.md" })).await;
        assert_eq!(line(&event), "INFO tool_call_failed rejected unknown_note");
        let error = event.field("error").unwrap();
        for part in ["path", "travel/japn.md", "travel/japan.md", "search_notes"] {
            assert!(error.contains(part), "no {part} in: {error}");
        }
        calls.insert(event.field("call_id").unwrap().to_owned());
    }
    assert_eq!(calls.len(), 13);
}

#[tokio::test]
async fn d9_no_failure_is_suppressed() {
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    let mut sent = Vec::new();
    for _ in 0..30 {
        sent.push(client.start_call("fail_is_error", json!({ "text": "quota" })).await);
    }
    for id in &sent {
        let event = kit::end(&client, id).await;
        assert_eq!(line(&event), "ERROR tool_call_failed undeclared undeclared_error");
    }
    assert_eq!(kit::our_lines(&client).len(), 30);
}

#[tokio::test]
async fn d11_a_count_tells_failures_apart_that_are_all_is_error() {
    type Counts = BTreeMap<(String, String, String, String), u32>;
    let counts: Arc<Mutex<Counts>> = Arc::default();
    let count = Arc::clone(&counts);
    let layer = OutcomeLayer::new().hook(move |record: &Record| {
        let Some(failure) = &record.failure else { return };
        let key = (
            record.outcome.to_string(),
            failure.code.to_string(),
            failure.level.to_string(),
            failure.actor.map_or_else(String::new, |actor| actor.to_string()),
        );
        *count.lock().unwrap().entry(key).or_default() += 1;
    });
    // What an upstream server said, as a tool passes it on.
    let tools = Tools::new().with("fetch", |asked| async move {
        Err::<String, _>(match asked.text("status").as_str() {
            "404" => ToolError::rejected("unknown_page", "There is no such page."),
            "503" => ToolError::transient("upstream_unavailable", "The site is not available."),
            _ => std::io::Error::other("the site answered nonsense").into(),
        })
    });
    let client = connect_in(tools, layer).await;
    for status in ["404", "404", "503", "200"] {
        let (answer, _) = call(&client, "fetch", json!({ "status": status })).await;
        assert!(answer.is_error(), "{answer:?}");
    }
    let (_, _) = call(&client, "ok", json!({})).await;
    let counted = serde_json::to_value(counts.lock().unwrap().iter().collect::<Vec<_>>()).unwrap();
    let expected: Value = json!([
        [["fault", "internal_error", "error", "operator"], 1],
        [["fault", "upstream_unavailable", "warn", "time"], 1],
        [["rejected", "unknown_page", "info", "model"], 2],
    ]);
    assert_eq!(counted, expected);
}
