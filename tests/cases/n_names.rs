//! N: tool names, and answers that start retry loops.

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult as _,
    model::{
        CallToolRequestParams, CallToolResponse, ReadResourceRequestParams, ReadResourceResponse,
    },
    service::RequestContext,
};
use serde_json::json;
use tower_outcome::ToolError;

use crate::{
    kit::{Tools, assert_fixed, call, connect, end, line},
    support::Logs,
};

const NAMES: [&str; 6] = [
    "x\n2026-11-30T20:00:00Z ERROR tower_outcome: fake",
    "\u{1b}[31mred\u{1b}[2J",
    "a\r\nb",
    "tab\tnul\0del\u{7f}",
    "\u{202e}gnp.exe\u{2066}",
    "line\u{2028}paragraph\u{2029}nel\u{85}bom\u{feff}",
];

#[tokio::test]
async fn n1_a_name_cannot_forge_a_line_or_steer_a_terminal() {
    let client = connect(Tools::new()).await;
    for name in NAMES {
        let (answer, event) = call(&client, name, json!({})).await;
        assert_eq!(answer.error_code(), Some(-32602), "{answer:?}");
        assert_eq!(line(&event), "INFO tool_call_failed protocol_error unknown_tool");
        let tool = event.field("tool").unwrap();
        assert!(!tool.chars().any(|c| c.is_control() || "\u{202e}\u{2066}\u{2028}".contains(c)));
        assert!(tool.contains('\\'), "{tool}");
    }
}

/// The same, written as text instead of JSON.
#[tokio::test]
async fn n1_a_name_is_one_line_in_the_plain_log_too() {
    let client = connect(Tools::new()).await;
    let plain = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_env_filter("off,tower_outcome=info")
        .with_writer(plain.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    for name in NAMES {
        client.call(name, json!({})).await;
    }
    drop(guard);
    let text = plain.raw();
    assert_eq!(text.lines().count(), NAMES.len(), "{text}");
    for line in text.lines() {
        assert!(line.contains(" INFO tower_outcome: tool_call_failed tool="), "{line}");
        assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}

#[tokio::test]
async fn n3_a_name_reaches_the_tool_as_it_was_sent() {
    let long = "n".repeat(5000);
    for name in ["greet/tool", "größe", "a b", "..", "", &long, NAMES[0]] {
        let tools = Tools::default().with(name, |asked| {
            let length = asked.params.name.len();
            async move { length.to_string() }
        });
        let client = connect(tools).await;
        let (answer, event) = call(&client, name, json!({})).await;
        assert_eq!(answer.text(), name.len().to_string(), "{name}");
        assert_eq!(line(&event), "INFO tool_call_completed completed -");
        let label = event.field("tool").unwrap();
        if name == long {
            assert_eq!(label, format!("{}…", "n".repeat(127)));
        } else if name != NAMES[0] {
            assert_eq!(label, name);
        }
    }
}

/// A server whose disk is broken.
struct Broken;

impl ServerHandler for Broken {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        ToolError::from(std::io::Error::other("disk")).into_call_tool_result()
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(ToolError::from(std::io::Error::other("disk")).into())
    }
}

#[tokio::test]
async fn n5_a_contained_error_is_a_result_where_a_model_reads_it() {
    let client = connect(Broken).await;
    let (answer, event) = call(&client, "any", json!({})).await;
    assert_fixed(&answer, &event);
    assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error");

    let id = client.start("resources/read", json!({ "uri": "test://any" })).await;
    let answer = client.wait(&id).await;
    let event = end(&client, &id).await;
    assert_eq!(answer.error_code(), Some(-32603), "{answer:?}");
    assert!(answer.text().contains(event.field("call_id").unwrap()), "{answer:?}");
    assert_eq!(line(&event), "ERROR request_failed fault internal_error");
}
