//! A table of layer × ending: each layer alone, all in each order, each twice, and wrapped twice:
//! what the client is answered, and what is logged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult as _,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
    service::RequestContext,
};
use serde_json::json;
use tower::ServiceBuilder;
use tower_outcome::{
    ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, ServerHandlerExt as _, ToolError,
};

use crate::support::{Client, Event, Revision};

const SECRET: &str = "postgres://u:hunter2@db.internal";

#[derive(Clone)]
struct Endings;

impl ServerHandler for Endings {
    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result: Result<CallToolResult, ToolError> = match &*params.name {
            "ok" => Ok(CallToolResult::success(vec![ContentBlock::text("fine")])),
            "declared" => Err(ToolError::rejected("unknown_note", "No note at 'x'.")),
            "unknown" => Err(std::io::Error::other(SECRET).into()),
            "internal" => return Err(ErrorData::internal_error(SECRET, None)),
            "protocol" => return Err(ErrorData::invalid_params("no such thing", None)),
            "is_error" => Ok(CallToolResult::error(vec![ContentBlock::text("mine")])),
            "panic" => panic!("{SECRET}"),
            other => panic!("no ending {other}"),
        };
        match result {
            Ok(result) => Ok(result.into()),
            Err(error) => error.into_call_tool_result(),
        }
    }
}

/// What a stack of layers can do.
#[derive(Clone, Copy, Debug)]
struct Stack {
    logs: bool,
    contains: bool,
}

/// What the client reads of an ending.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    /// This text.
    Text(&'static str),
    /// The fixed text, which has nothing of the secret.
    Fixed,
    /// The author's JSON-RPC error, secret and all.
    Raw,
    /// Nothing, ever.
    Nothing,
}

/// The ending; what the client reads with and without containment; what is logged.
type Row = (&'static str, Reads, Reads, &'static str);

const ROWS: [Row; 7] = [
    ("ok", Reads::Text("fine"), Reads::Text("fine"), "INFO tool_call_completed completed -"),
    (
        "declared",
        Reads::Text("No note at 'x'."),
        Reads::Text("No note at 'x'."),
        "INFO tool_call_failed rejected unknown_note",
    ),
    ("unknown", Reads::Fixed, Reads::Fixed, "ERROR tool_call_failed fault internal_error"),
    ("internal", Reads::Fixed, Reads::Raw, "ERROR tool_call_failed fault internal_error"),
    ("protocol", Reads::Raw, Reads::Raw, "INFO tool_call_failed protocol_error invalid_params"),
    (
        "is_error",
        Reads::Text("mine"),
        Reads::Text("mine"),
        "ERROR tool_call_failed undeclared undeclared_error",
    ),
    ("panic", Reads::Fixed, Reads::Nothing, "ERROR tool_call_failed fault panic"),
];

/// What a cause is logged as where nothing logs calls.
const CAUSES_WITHOUT_LOG: [(&str, &str); 3] = [
    ("unknown", "ERROR tool_failed fault internal_error"),
    ("internal", "ERROR tool_failed fault internal_error"),
    ("panic", "ERROR tool_failed fault panic"),
];

async fn check(name: &str, handler: impl ServerHandler, stack: Stack) {
    let client = Client::in_process(handler, Revision::V2025);
    assert!(client.initialize("layers").await.result().is_some(), "{name}");
    for (ending, contained, bare, line) in ROWS {
        let what = format!("{name}, {ending}");
        let reads = if stack.contains { contained } else { bare };
        let id = client.start_call(ending, json!({})).await;
        if reads == Reads::Nothing {
            // A later call is answered, this one is not: handlers start in the order of requests.
            assert_eq!(client.call("ok", json!({})).await.text(), "fine", "{what}");
            assert!(client.inbox().answers(&id).is_empty(), "{what}");
        } else {
            check_answer(&what, &client, &id, reads).await;
        }
        check_log(&what, &client, &id, ending, stack, line).await;
    }
}

async fn check_answer(what: &str, client: &Client, id: &serde_json::Value, reads: Reads) {
    let answer = client.wait(id).await;
    let message = format!("{answer:?}");
    match reads {
        Reads::Text(text) => assert!(answer.text().starts_with(text), "{what}: {message}"),
        Reads::Fixed => {
            assert!(
                answer.text().contains("the server could not complete it"),
                "{what}: {message}"
            );
            assert!(answer.is_error() && !message.contains("hunter2"), "{what}: {message}");
        }
        Reads::Raw => assert!(answer.error().is_some(), "{what}: {message}"),
        Reads::Nothing => unreachable!(),
    }
}

async fn check_log(
    what: &str,
    client: &Client,
    id: &serde_json::Value,
    ending: &str,
    stack: Stack,
    line: &str,
) {
    if stack.logs {
        let end = client.logs().wait_for_end(id).await;
        assert_eq!(end.as_ref().map(summary).as_deref(), Some(line), "{what}");
    }
    let about_it = |event: &Event| {
        event.target == "tower_outcome" && event.is_about(id) && !event.message.ends_with("started")
    };
    let events: Vec<Event> = client.logs().events().into_iter().filter(about_it).collect();
    let lines: Vec<String> = events.iter().map(summary).collect();
    let expected: Vec<&str> = if stack.logs {
        vec![line]
    } else {
        // A panic that nothing contains leaves no cause behind.
        let cause = CAUSES_WITHOUT_LOG.iter().find(|(cause, _)| *cause == ending);
        cause
            .filter(|_| stack.contains || ending != "panic")
            .map(|(_, line)| *line)
            .into_iter()
            .collect()
    };
    assert_eq!(lines, expected, "{what}");
    assert!(!client.logs().of_target("tower_outcome").iter().any(leaks), "{what}: not redacted");
}

fn leaks(event: &Event) -> bool {
    format!("{:?}", event.fields).contains("hunter2")
}

fn summary(event: &Event) -> String {
    let field = |name| event.field(name).unwrap_or("-");
    format!("{} {} {} {}", event.level, event.message, field("outcome"), field("code"))
}

macro_rules! stacks {
    ($($name:ident: $method:ident($layer:expr), logs: $logs:literal, contains: $contains:literal;)+) => { $(
        #[tokio::test]
        async fn $name() {
            let stack = Stack { logs: $logs, contains: $contains };
            check(stringify!($name), Endings.$method($layer), stack).await;
        }
    )+ };
}

macro_rules! of {
    ($($layer:expr),+) => { ServiceBuilder::new()$(.layer($layer))+ };
}

fn log() -> LogLayer {
    LogLayer::new()
}

fn classify() -> ClassifyLayer {
    ClassifyLayer::new()
}

fn contain() -> ContainLayer {
    ContainLayer::new()
}

stacks! {
    log_alone: layered_uncontained(log()), logs: true, contains: false;
    classify_alone: layered_uncontained(classify()), logs: false, contains: false;
    contain_alone: layered(contain()), logs: false, contains: true;

    log_twice: layered_uncontained(of!(log(), log())), logs: true, contains: false;
    classify_twice: layered_uncontained(of!(classify(), classify())), logs: false, contains: false;
    contain_twice: layered(of!(contain(), contain())), logs: false, contains: true;

    log_classify: layered_uncontained(of!(log(), classify())), logs: true, contains: false;
    log_contain: layered(of!(log(), contain())), logs: true, contains: true;
    contain_log: layered(of!(contain(), log())), logs: true, contains: true;
    classify_contain: layered(of!(classify(), contain())), logs: false, contains: true;

    log_classify_contain: layered(of!(log(), classify(), contain())), logs: true, contains: true;
    log_contain_classify: layered(of!(log(), contain(), classify())), logs: true, contains: true;
    classify_log_contain: layered(of!(classify(), log(), contain())), logs: true, contains: true;
    classify_contain_log: layered(of!(classify(), contain(), log())), logs: true, contains: true;
    contain_log_classify: layered(of!(contain(), log(), classify())), logs: true, contains: true;
    contain_classify_log: layered(of!(contain(), classify(), log())), logs: true, contains: true;

    all_in_one: layered(OutcomeLayer::new()), logs: true, contains: true;
    all_in_one_twice: layered(of!(OutcomeLayer::new(), OutcomeLayer::new())), logs: true, contains: true;
}

#[tokio::test]
async fn a_layered_handler_layered_again() {
    let handler = Endings.layered(OutcomeLayer::new()).layered(OutcomeLayer::new());
    check("layered twice", handler, Stack { logs: true, contains: true }).await;
}

#[tokio::test]
async fn masked_undeclared_errors_are_replaced_and_their_text_is_logged() {
    use tower_outcome::{Policy, Undeclared};
    let policy = Policy::new().undeclared(Undeclared::Mask);
    let masking = || contain().policy(policy.clone());
    check_mask(Endings.layered(of!(log(), masking(), classify()))).await;
    check_mask(Endings.layered(of!(log(), classify(), masking()))).await;
    check_mask(Endings.layered(OutcomeLayer::new().policy(policy.clone()))).await;
}

async fn check_mask(handler: impl ServerHandler) {
    let client = Client::in_process(handler, Revision::V2025);
    client.initialize("layers").await;
    let id = client.start_call("is_error", json!({})).await;
    check_answer("mask", &client, &id, Reads::Fixed).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!(summary(&end), "ERROR tool_call_failed undeclared undeclared_error");
    assert_eq!(end.field("cause"), Some("mine"));
    // What the author declared passes.
    assert!(client.call("declared", json!({})).await.text().starts_with("No note"));
}
