//! What an operator says in a file counts for the calls that pass.

use serde_json::json;

use crate::{
    logs::Event,
    process::Gateway,
    wire::{CALL, Server, ok, post},
};

/// The line about a call of `tool` that the server answers with this result.
async fn line(server: &Server, gateway: &Gateway, id: u32, tool: &str, result: &str) -> Event {
    let call = CALL.replace("\"id\":7", &format!("\"id\":{id}")).replace("add", tool);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let mut client = gateway.connect().await;
    client.send(post(&call)).await;
    let mut at_server = server.accept().await;
    assert_eq!(at_server.message().await.1, call);
    // The gateway does not use the connection again: each call has one of its own.
    let answered =
        ok("application/json", &answer).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    at_server.send(answered).await;
    assert_eq!(client.message().await.1, answer);
    let end = gateway.logs.wait_for_end(&json!(id)).await;
    assert_eq!(gateway.logs.terminal(&json!(id)).len(), 1);
    end.unwrap_or_else(|| panic!("no end:\n{}", gateway.logs.raw()))
}

#[tokio::test]
async fn a_tool_whose_subject_failed_did_not() {
    let file = std::env::temp_dir().join(format!("gateway-soft-{}.toml", std::process::id()));
    let policy = "[soft_errors]\nextra_statuses = [\"crashed\"]\n\
                  [tools.get_build]\nsoft_errors = false\n";
    std::fs::write(&file, policy).expect("a file");
    let path = file.to_str().expect("a plain path");
    let server = Server::bind().await;
    let gateway = Gateway::start_with(&server.url(), &["--policy", path]).await;
    std::fs::remove_file(&file).expect("the file");
    let results = [
        r#"{"content":[],"structuredContent":{"build":41,"status":"failed"}}"#,
        r#"{"content":[{"type":"text","text":"{\"build\":41,\"status\":\"failed\"}"}]}"#,
        r#"{"content":[],"structuredContent":{"build":41,"status":"crashed"}}"#,
    ];
    for (id, result) in (0..).step_by(2).zip(results) {
        let end = line(&server, &gateway, id, "get_build", result).await;
        assert_eq!(end.message, "tool_call_completed", "{result}: {end:?}");
        assert_eq!(end.field("outcome"), Some("completed"), "{result}: {end:?}");
        let end = line(&server, &gateway, id + 1, "start_build", result).await;
        assert_eq!(end.message, "tool_call_failed", "{result}: {end:?}");
        assert_eq!(end.field("outcome"), Some("soft_error"), "{result}: {end:?}");
        assert_eq!(end.field("code"), Some("soft_error"), "{result}: {end:?}");
    }
}
