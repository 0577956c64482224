//! A: panics, and what they leave behind.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use rmcp::{ServerHandler as _, model::CallToolRequestParams};
use serde_json::json;
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _, ToolError};

use crate::{
    child::{self, Server},
    kit::{self, Asked, LAYERS, Tools, assert_fixed, boom, call, connect, connect_bare, end, line},
    support::{Client, Transport, alone},
};

#[tokio::test]
async fn a1_a_panicking_tool_answers_at_once() {
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateful, Transport::Json] {
        let client = Client::connect(transport, LAYERS).await;
        let id = json!(7);
        let arguments = json!({ "text": "boom", "when": "first_poll" });
        let params = json!({ "name": "panic", "arguments": arguments });
        client.start_as(&id, "tools/call", params).await;
        let answer = client.wait(&id).await;
        let event = end(&client, &id).await;
        assert_fixed(&answer, &event);
        assert!(!answer.text().contains("boom"), "{transport:?}");
        assert_eq!(line(&event), "ERROR tool_call_failed fault panic", "{transport:?}");
        assert_eq!(kit::our_alarms(&client).len(), 1, "{transport:?}");
        assert_eq!(client.call("ok", json!({})).await.text(), "ok", "{transport:?}");
    }
}

#[tokio::test]
async fn a3_a_panics_text_stays_on_the_server() {
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateless] {
        let client = Client::connect(transport, LAYERS).await;
        for when in ["sync", "first_poll", "after_await", "spawned"] {
            let arguments = json!({ "text": "cannot open /srv/board/x.lib: R1:A", "when": when });
            let (answer, event) = call(&client, "panic", arguments).await;
            assert_fixed(&answer, &event);
            let cause = event.field("cause").unwrap();
            assert!(cause.contains("/srv/board/x.lib: R1:A"), "{transport:?}, {when}: {cause}");
        }
        let received = String::from_utf8_lossy(&client.bytes()).into_owned();
        assert!(!received.contains("/srv/"), "{transport:?}: {received}");
        let rmcp = client.logs().of_target("rmcp");
        let leak = rmcp.iter().find(|event| format!("{event:?}").contains("/srv/board"));
        // What the client itself sent is in rmcp's own lines at INFO; here it is not.
        assert_eq!(leak, None, "{transport:?}");
    }
}

#[tokio::test]
async fn a7_stdout_is_only_protocol_while_panics_print() {
    let mut server = Server::start(&[], "info").await;
    for (id, when) in [(1, "first_poll"), (2, "spawned")] {
        let arguments = json!({ "text": "boom\nboom", "when": when });
        let answer = server.call(id, "panic", arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    assert_eq!(server.call(3, "ok", json!({})).await["result"]["content"][0]["text"], "ok");
    let ended = server.finish().await;
    ended.assert_only_protocol();
    assert_eq!(ended.stdout.len(), 4, "{:?}", ended.stdout);
    // The standard hook did print, to stderr, where it cannot hurt.
    assert_eq!(ended.stderr.matches("panicked at").count(), 2, "{}", ended.stderr);
    let lines: Vec<String> = ended.events("tower_outcome").iter().map(child::line).collect();
    assert_eq!(lines[..2], ["ERROR tool_call_failed fault panic"; 2]);
    assert!(ended.status.success());
}

#[tokio::test]
async fn a9_a_service_dropped_with_a_call_in_flight_does_not_panic() {
    let hang = Tools::new().with("hang", |_| std::future::pending::<String>());
    let layer = OutcomeLayer::new().deadline(Duration::from_secs(3600)).abort_on_cancel(true);
    let hang = hang.layered(layer);
    // Its own call is contained by nothing: a panic in here would cost the answer.
    let probe = Tools::new().with("probe", move |Asked { context, .. }| {
        let hang = hang.clone();
        async move {
            let mut call = Box::pin(hang.call_tool(CallToolRequestParams::new("hang"), context));
            let is_pending = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending())).await;
            drop(call);
            drop(hang);
            format!("pending: {is_pending}")
        }
    });
    let client = connect_bare(probe).await;
    let id = client.start_call("probe", json!({})).await;
    assert_eq!(client.wait(&id).await.text(), "pending: true");
    assert_eq!(line(&end(&client, &id).await), "INFO tool_call_abandoned abandoned -");
}

/// Its destructor asks for a runtime where there is none.
struct AsksForARuntime;

impl Drop for AsksForARuntime {
    fn drop(&mut self) {
        std::thread::spawn(tokio::runtime::Handle::current).join().unwrap();
    }
}

#[tokio::test]
async fn a11_a_destructor_that_panics_while_unwinding_ends_the_process_as_documented() {
    const TEST: &str =
        "a_panics::a11_a_destructor_that_panics_while_unwinding_ends_the_process_as_documented";
    if alone::is_child(TEST) {
        let client = connect(Tools::new().with("panic", |_| async {
            let _held = AsksForARuntime;
            boom("the first of two")
        }));
        client.await.call("panic", json!({})).await;
        return;
    }
    let output = alone::again(TEST, &[]);
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        const SIGABRT: i32 = 6;
        assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
    }
    assert!(!output.status.success());
    let documented = "a destructor that panics while its thread already unwinds";
    assert!(kit::prose(include_str!("../../src/lib.rs")).contains(documented));
}

#[tokio::test]
async fn a15_a_poisoned_lock_stays_a_fault_for_the_operator() {
    let lock = Arc::new(Mutex::new(0_u32));
    let unwraps = Arc::clone(&lock);
    let tools = Tools::new().with("unwraps", move |_| {
        let lock = Arc::clone(&unwraps);
        async move {
            let mut held = lock.lock().unwrap();
            *held += 1;
            boom("with the lock held")
        }
    });
    let tools = tools.with("asks", move |_| {
        let lock = Arc::clone(&lock);
        async move {
            let held = lock.lock().map_err(|error| ToolError::fault().source(error.to_string()))?;
            Ok::<_, ToolError>(held.to_string())
        }
    });
    let client = connect(tools).await;
    for cause in ["with the lock held", "PoisonError", "PoisonError"] {
        let (answer, event) = call(&client, "unwraps", json!({})).await;
        assert_fixed(&answer, &event);
        assert_eq!(line(&event), "ERROR tool_call_failed fault panic");
        assert!(event.field("cause").unwrap().contains(cause), "{event:?}");
    }
    let (_, event) = call(&client, "asks", json!({})).await;
    assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error");
    let (answer, event) = call(&client, "ok", json!({})).await;
    assert_eq!((answer.text().as_str(), event.level.as_str()), ("fine", "INFO"));
}

#[cfg(feature = "anyhow")]
#[tokio::test]
async fn a17_a_join_error_is_a_panic_or_a_fault_but_no_cancel() {
    use tower_outcome::ResultExt as _;

    async fn panics() -> anyhow::Result<String> {
        Ok(tokio::task::spawn_blocking(|| boom("in the pool")).await?)
    }
    async fn aborted() -> anyhow::Result<String> {
        let task = tokio::spawn(std::future::pending::<String>());
        task.abort();
        Ok(task.await?)
    }
    let tools = Tools::new()
        .with("panics", |_| async { panics().await.or_fault() })
        .with("in_context", |_| async {
            use anyhow::Context as _;
            panics().await.context("while indexing").or_fault()
        })
        .with("aborted", |_| async { aborted().await.or_fault() })
        .with("plain", |_| async {
            Ok::<_, ToolError>(tokio::task::spawn_blocking(|| boom("in the pool")).await?)
        });
    let client = connect(tools).await;
    for tool in ["panics", "in_context", "plain"] {
        let (answer, event) = call(&client, tool, json!({})).await;
        assert_fixed(&answer, &event);
        assert_eq!(line(&event), "ERROR tool_call_failed fault panic", "{tool}");
        assert!(event.field("cause").unwrap().contains("in the pool"), "{tool}: {event:?}");
        assert_eq!(event.field("error_type"), Some("panic"), "{tool}");
    }
    // No client asked for it: somebody in the server did, and the operator has to know who.
    let (answer, event) = call(&client, "aborted", json!({})).await;
    assert_fixed(&answer, &event);
    assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error");
}

#[tokio::test]
async fn a19_texts_are_cut_between_characters() {
    let tools = Tools::new()
        .with("panic", |asked| async move { boom(&asked.text("text")) })
        .with("unknown", |asked| async move {
            Err::<String, ToolError>(std::io::Error::other(asked.text("text")).into())
        })
        .with("declared", |asked| async move {
            let text = asked.text("text");
            Err::<String, _>(ToolError::rejected(text.clone(), text.clone()).received(text))
        })
        .with("noted", |asked| async move {
            tower_outcome::Call::current().unwrap().note("text", asked.text("text"));
            "noted".to_owned()
        });
    let client = connect(tools).await;
    // Characters of 3, 4 and 2 bytes across each bound there is, from each side.
    for limit in [64, 128, 200, 256, 400, 512, 1500, 2000, 2048, 4096, 8192] {
        for before in limit - 4..=limit {
            let text = format!("{}{}", "a".repeat(before), "—😀é".repeat(1500));
            for tool in ["panic", "unknown", "declared", "noted", &text] {
                let (answer, event) = call(&client, tool, json!({ "text": text })).await;
                assert!(!answer.is_none(), "{tool} with {before} before: {event:?}");
                for name in ["error", "cause", "notes", "tool", "code"] {
                    let field = event.field(name).unwrap_or_default();
                    assert!(field.len() <= 4096, "{name} of {tool} has {} bytes", field.len());
                    assert!(!field.contains('\u{fffd}'), "{name} of {tool}: {field}");
                }
            }
        }
    }
}
