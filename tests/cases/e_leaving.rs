//! E: clients that cancel or leave, and what takes too long.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ServiceExt as _,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::{ServiceBuilder, timeout::TimeoutLayer};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _, ToolError, only_tools};

use crate::{
    child::{self, Server},
    kit::{self, LAYERS, Tools, call, connect_bare, end, line},
    support::{Client, Logs, Revision, Transport},
};

#[tokio::test]
async fn e1_a_user_who_presses_escape_is_no_error() {
    for (transport, expected) in [
        (Transport::Duplex, "INFO tool_call_cancelled cancelled -"),
        (Transport::Stateful, "INFO tool_call_cancelled cancelled -"),
        (Transport::Http2026, "INFO tool_call_cancelled cancelled -"),
        // Before 2026-07-28, hanging up does not cancel.
        (Transport::Stateless, "INFO tool_call_abandoned abandoned -"),
    ] {
        let client = Client::connect(transport, LAYERS).await;
        let id = client.start_call("hang", json!({})).await;
        client.logs().wait_for_event(&id, "tool_call_started").await.unwrap();
        match transport {
            Transport::Stateless => client.close().await,
            _ => client.cancel(&id).await,
        }
        assert_eq!(line(&end(&client, &id).await), expected, "{transport:?}");
        let alarms: Vec<_> =
            client.logs().events().into_iter().filter(|event| event.is_alarming()).collect();
        assert_eq!(alarms, [], "{transport:?}: whoever logs");
    }
}

/// Posts a message to a server with sessions.
fn post(url: &str, session: Option<&str>, message: &Value) -> reqwest::RequestBuilder {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client
        .post(url)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(message.to_string());
    match session {
        Some(session) => request.header("Mcp-Session-Id", session),
        None => request,
    }
}

#[tokio::test]
async fn e3_a_closed_stream_of_a_session_is_not_the_end_of_its_call() {
    let (logs, _capture) = Logs::capture();
    let gate = Arc::new(Notify::new());
    let gated = Arc::clone(&gate);
    let tools = Tools::new().with("waits", move |_| {
        let gate = Arc::clone(&gated);
        async move {
            gate.notified().await;
            Err::<String, _>(ToolError::stale("version_conflict", "The note has changed."))
        }
    });
    let tools = tools.layered(OutcomeLayer::new());
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let client = json!({ "name": "cases", "version": "0" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let answer = post(&url, None, &hello).send().await.unwrap();
    let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(&url, Some(&session), &initialized).send().await.unwrap();

    let id = json!(7);
    let params = json!({ "name": "waits", "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let stream = tokio::spawn(post(&url, Some(&session), &message).send());
    logs.wait_for_event(&id, "tool_call_started").await.unwrap();
    stream.abort();
    // Time for the server to notice.
    tokio::time::sleep(Duration::from_millis(100)).await;
    gate.notify_one();
    let end = logs.wait_for_end(&id).await.unwrap();
    assert_eq!(line(&end), "INFO tool_call_failed stale version_conflict");
    assert_eq!(logs.terminal(&id).len(), 1);
}

#[test]
fn e5_a_call_that_dies_with_its_runtime_is_seen() {
    let (logs, _capture) = Logs::capture();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let id = runtime.block_on(async {
        let hang = Tools::new().with("hang", |_| std::future::pending::<String>());
        let hang = hang.layered(OutcomeLayer::new());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move { hang.serve(theirs).await.unwrap().waiting().await });
        let client = Client::over_pipe(ours, Revision::V2025, logs.clone());
        client.initialize("cases").await;
        let id = client.start_call("hang", json!({})).await;
        logs.wait_for_event(&id, "tool_call_started").await.unwrap();
        // The pipe stays open: the server cannot know that anybody is leaving.
        std::mem::forget(client);
        id
    });
    assert_eq!(logs.terminal(&id), []);
    drop(runtime);
    let ends: Vec<String> = logs.terminal(&id).iter().map(line).collect();
    assert_eq!(ends, ["INFO tool_call_abandoned abandoned -"]);
}

#[tokio::test]
async fn e5_a_call_that_dies_with_its_process_is_seen() {
    let mut server = Server::start(&[], "info,tower_outcome=debug").await;
    server.send(kit::call_line(&json!(1), "hang", &json!({})).as_bytes()).await;
    // Handlers start in the order of requests.
    server.call(2, "ok", json!({})).await;
    let ended = server.finish().await;
    let events = ended.events("tower_outcome");
    let lines = events.iter().filter(|event| event["fields"]["tool"] == "hang");
    let lines: Vec<String> = lines.map(child::line).collect();
    let expected = ["DEBUG tool_call_started - -", "INFO tool_call_abandoned abandoned -"];
    assert_eq!(lines, expected, "{}", ended.stderr);
    assert_eq!(ended.alarms(), [""; 0]);
}

#[tokio::test]
async fn e7_a_timeout_layer_that_fires_is_a_timeout_and_no_cancel() {
    let slow = || Tools::new().with("slow", |_| std::future::pending::<String>());
    let timeout = || TimeoutLayer::new(Duration::from_millis(50));
    let round_all = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(timeout());
    let round_tools = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(only_tools(timeout()));
    let deadline = OutcomeLayer::new().deadline(Duration::from_millis(50));
    check_timeout(connect_bare(slow().layered(round_all)).await).await;
    check_timeout(connect_bare(slow().layered(round_tools)).await).await;
    check_timeout(connect_bare(slow().layered(deadline)).await).await;
}

async fn check_timeout(client: Client) {
    let (answer, event) = call(&client, "slow", json!({})).await;
    assert_eq!(line(&event), "WARN tool_call_failed fault timeout");
    assert_eq!(event.field("actor"), Some("time"));
    let text = answer.text();
    assert!(answer.is_error() && text.contains("took too long"), "{answer:?}");
    assert!(text.contains("end the same call again"), "{text}");
    let record = answer.record().unwrap();
    assert_eq!((&record["code"], &record["retryable"]), (&json!("timeout"), &json!("after_delay")));
    assert!(!text.contains("cancel"), "{text}");
}
