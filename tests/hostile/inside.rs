//! What a tool does with its call: hands its context on, leaves notes, logs, spawns.

use rmcp::{ServerHandler as _, handler::server::tool::IntoCallToolResult as _, model::*};
use serde_json::{Value, json};
use tower_outcome::{Call, OutcomeLayer, ServerHandlerExt as _, ToolError};

use crate::{
    fields::assert_fit_to_print,
    kit::{Asked, Tools, assert_fixed, boom, call, connect, connect_in, end, line},
    support::{Client, Event, alone::is_alone},
};

/// A tool that asks another layered server, with its own context.
fn nested() -> Tools {
    let inner = Tools::new()
        .with("inner", |_| async { "from inside".to_owned() })
        .with("broken", |_| async {
            Err::<String, ToolError>(std::io::Error::other("disk").into())
        })
        .layered(OutcomeLayer::new());
    Tools::new().with("outer", move |Asked { params, context }| {
        let inner = inner.clone();
        async move {
            let tool = params.arguments.unwrap()["tool"].as_str().unwrap().to_owned();
            let (first, second) = (CallToolRequestParams::new(tool.clone()), context.clone());
            let own = Call::current().unwrap().id();
            let answer = inner.call_tool(first, second).await?;
            assert_eq!(Call::current().unwrap().id(), own, "the tool's own call is back in scope");
            inner.call_tool(CallToolRequestParams::new(tool), context).await?;
            Ok::<_, ErrorData>(answer)
        }
    })
}

#[tokio::test]
async fn a_tool_that_calls_another_server_makes_calls_of_their_own() {
    let client = connect(nested()).await;
    let id = client.start_call("outer", json!({ "tool": "inner" })).await;
    assert_eq!(client.wait(&id).await.text(), "from inside");
    let ends = client.logs().terminal(&id);
    let tools: Vec<_> = ends.iter().map(|event| event.field("tool").unwrap()).collect();
    assert_eq!(tools, ["inner", "inner", "outer"], "{ends:?}");
    let calls: std::collections::BTreeSet<_> =
        ends.iter().map(|event| event.field("call_id").unwrap()).collect();
    assert_eq!(calls.len(), 3, "{ends:?}");
    assert!(ends.iter().all(|event| line(event) == "INFO tool_call_completed completed -"));
}

#[tokio::test]
async fn the_cause_of_an_inner_call_stands_on_its_own_line() {
    let client = connect(nested()).await;
    let id = client.start_call("outer", json!({ "tool": "broken" })).await;
    let answer = client.wait(&id).await;
    let ends = client.logs().terminal(&id);
    let lines: Vec<_> = ends.iter().map(line).collect();
    // The outer tool passes the inner fault on, declaration and all.
    assert_eq!(lines, ["ERROR tool_call_failed fault internal_error"; 3]);
    let causes: Vec<_> = ends.iter().map(|event| event.field("cause")).collect();
    assert_eq!(causes, [Some("disk"), Some("disk"), None]);
    assert_eq!(ends[2].field("reference"), ends[0].field("call_id"), "{ends:?}");
    assert!(answer.text().contains(ends[0].field("call_id").unwrap()), "{answer:?}");
}

#[tokio::test]
async fn notes_stand_in_the_line() {
    let tools = Tools::new()
        .with("notes", |_| async {
            let call = Call::current().unwrap();
            call.note("rows", "2");
            call.note("rows", "3");
            call.note("table", "notes");
            "noted".to_owned()
        })
        .with("secret", |_| async {
            Call::current().unwrap().note("url", "postgres://u:hunter2@db/notes");
            Err::<String, ToolError>(std::io::Error::other("disk").into())
        })
        .with("many", |_| async {
            const NAMES: [&str; 20] = [
                "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n12",
                "n13", "n14", "n15", "n16", "n17", "n18", "n19",
            ];
            let call = Call::current().unwrap();
            for name in NAMES {
                call.note(name, "\u{1b}é\n".repeat(5000));
            }
            "noted".to_owned()
        })
        .with("spawned", |_| async {
            let work = Call::current().unwrap().scope(async {
                Call::current().unwrap().note("from", "a task");
            });
            tokio::spawn(work).await.unwrap();
            assert!(tokio::spawn(async { Call::current().is_none() }).await.unwrap());
            "noted".to_owned()
        });
    let client = connect(tools).await;
    let notes = |event: &Event| -> Value {
        let notes = event.field("notes").map(serde_json::from_str);
        notes.transpose().unwrap().unwrap_or_default()
    };
    let (_, event) = call(&client, "notes", json!({})).await;
    assert_eq!(notes(&event), json!({ "rows": "3", "table": "notes" }));
    let (_, event) = call(&client, "secret", json!({})).await;
    assert_eq!(notes(&event), json!({ "url": "postgres://[redacted]@db/notes" }));
    let (_, event) = call(&client, "many", json!({})).await;
    let many = notes(&event);
    assert_eq!(many.as_object().unwrap().len(), 16, "{many}");
    assert!(many["n0"].as_str().unwrap().ends_with('…') && many["n16"].is_null(), "{many}");
    let (_, event) = call(&client, "spawned", json!({})).await;
    assert_eq!(notes(&event), json!({ "from": "a task" }));
    let (_, event) = call(&client, "ok", json!({})).await;
    assert_eq!(notes(&event), Value::Null);
    assert_fit_to_print(client.logs());
}

fn logging() -> Tools {
    Tools::new().with("logs", |asked| async move {
        let call = Call::current().unwrap().id();
        tracing::info!(target: "a_tool", %call, "before");
        tokio::task::yield_now().await;
        tracing::info!(target: "a_tool", %call, "after");
        asked.text("text")
    })
}

/// The lines of the tool itself, with the span that they were written in.
async fn lines_of_tool(client: &Client, calls: usize) -> Vec<Value> {
    let mut sent = Vec::new();
    for _ in 0..calls {
        sent.push(client.start_call("logs", json!({})).await);
    }
    for id in &sent {
        end(client, id).await;
    }
    let raw = client.logs().raw();
    let lines = raw.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["target"] == "a_tool").collect()
}

#[tokio::test]
async fn with_a_span_the_tools_own_lines_are_found_by_the_calls() {
    let client = connect_in(logging(), OutcomeLayer::new().span(true)).await;
    let lines = lines_of_tool(&client, 5).await;
    assert_eq!(lines.len(), 10);
    for line in lines {
        let span = &line["span"];
        assert_eq!(span["name"], "tool_call", "{line}");
        assert_eq!(span["tool"], "logs", "{line}");
        assert_eq!(span["call_id"], line["fields"]["call"], "{line}");
        let around = line["spans"].as_array().unwrap();
        let ours = around.iter().filter(|span| span["name"] == "tool_call").count();
        assert_eq!(ours, 1, "calls are not inside one another: {line}");
    }
    // The tool's name is as fit to print there as in an event.
    let client = connect_in(Tools::new(), OutcomeLayer::new().span(true)).await;
    client.call("x\n\u{1b}\u{202e}", json!({})).await;
    assert!(!client.logs().raw().contains(['\u{1b}', '\u{202e}']), "{}", client.logs().raw());
}

#[tokio::test]
async fn without_one_there_is_none() {
    let client = connect(logging()).await;
    for line in lines_of_tool(&client, 2).await {
        assert_ne!(line["span"]["name"], "tool_call", "{line}");
    }
}

/// With no call in reach a cause is logged at once, and the line of the call says where.
#[tokio::test]
async fn a_cause_from_a_task_of_its_own_is_found_by_its_reference() {
    let tools = Tools::new().with("spawns", |_| async {
        let work = async { ToolError::from(std::io::Error::other("disk")).into_call_tool_result() };
        tokio::spawn(work).await.unwrap()
    });
    let client = connect(tools).await;
    let (answer, event) = call(&client, "spawns", json!({})).await;
    assert!(answer.is_error(), "{answer:?}");
    assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error");
    let reference = event.field("reference").unwrap();
    assert_ne!(event.field("call_id"), Some(reference));
    assert!(answer.text().contains(reference), "{answer:?}");
    let events = client.logs().of_target("tower_outcome");
    let lost: Vec<_> = events.iter().filter(|event| event.message == "tool_failed").collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(lost[0].field("reference"), Some(reference));
    assert_eq!(lost[0].field("cause"), Some("disk"));
    // In scope, it all is one line.
    let tools = Tools::new().with("spawns", |_| async {
        let work = async { ToolError::from(std::io::Error::other("disk")).into_call_tool_result() };
        tokio::spawn(Call::current().unwrap().scope(work)).await.unwrap()
    });
    let client = connect(tools).await;
    let (answer, event) = call(&client, "spawns", json!({})).await;
    assert_fixed(&answer, &event);
    assert_eq!(event.field("cause"), Some("disk"));
}

/// Where a panic happened is known from the hook, which not every panic passes.
#[tokio::test]
async fn a_place_is_that_of_the_panic_that_was_caught() {
    if !is_alone("inside::a_place_is_that_of_the_panic_that_was_caught") {
        return;
    }
    tower_outcome::install_panic_hook();
    let tools = Tools::new()
        .with("swallows", |_| async {
            let caught = std::panic::catch_unwind(|| boom("its own business"));
            caught.unwrap_or_else(|_| "caught".to_owned())
        })
        .with("resumes", |_| async {
            let joined = tokio::spawn(async { panic!("in a task") }).await;
            joined.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            String::new()
        })
        .with("panics", |_| async { boom("here") });
    let client = connect(tools).await;
    let (_, event) = call(&client, "panics", json!({})).await;
    assert!(event.field("location").unwrap().contains("kit.rs:"), "{event:?}");
    let (answer, _) = call(&client, "swallows", json!({})).await;
    assert_eq!(answer.text(), "caught");
    let (_, event) = call(&client, "resumes", json!({})).await;
    assert_eq!(line(&event), "ERROR tool_call_failed fault panic");
    assert!(event.field("cause").unwrap().contains("in a task"), "{event:?}");
    // No hook saw it resume: that of the panic before it is not its place.
    let location = event.field("location").unwrap_or_default();
    assert!(!location.contains("kit.rs"), "{event:?}");
}
