//! A server that is down, breaks off or talks nonsense: the client has an answer, the log a line.

use serde_json::{Value, json};

use crate::{
    logs::Event,
    process::Gateway,
    wire::{CALL, Connection, Server, arrived, chunk, post},
};

/// What the client reads of a call that the server did not answer, and the one line about it.
async fn fault(gateway: &Gateway, client: &mut Connection) -> Event {
    let (head, body) = client.message().await;
    assert_eq!(head.status(), "200", "{head:?} {body}");
    assert_eq!(head.get("content-type"), Some("application/json"), "{head:?}");
    let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}"));
    failed(gateway, &answer, &body).await
}

async fn failed(gateway: &Gateway, answer: &Value, body: &str) -> Event {
    assert_eq!(answer["id"], json!(7), "{body}");
    assert_eq!(answer["result"]["isError"], json!(true), "{body}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "{body}");
    for internal in ["127.0.0.1", "refused", "connect", "hyper"] {
        assert!(!body.to_lowercase().contains(internal), "{internal} in {body}");
    }
    let end = gateway.logs.wait_for_end(&json!(7)).await;
    let end = end.unwrap_or_else(|| panic!("no end:\n{}", gateway.logs.raw()));
    assert_eq!(end.message, "tool_call_failed", "{end:?}");
    assert_eq!(end.field("outcome"), Some("fault"), "{end:?}");
    assert_eq!(end.field("tool"), Some("add"), "{end:?}");
    assert_eq!(gateway.logs.terminal(&json!(7)).len(), 1);
    end
}

#[tokio::test]
async fn a_server_that_is_down() {
    let server = Server::bind().await;
    let url = server.url();
    drop(server);
    let gateway = Gateway::start(&url).await;
    let mut client = gateway.connect().await;
    client.send(post(CALL)).await;
    let end = fault(&gateway, &mut client).await;
    let cause = end.field("cause").unwrap_or_default();
    assert!(cause.contains(&format!("no answer from {url}")), "{cause}");
    assert!(cause.contains("onnection refused"), "{cause}");
}

#[tokio::test]
async fn a_server_that_hangs_up_without_a_word() {
    let (_server, gateway, mut client, at_server) = arrived(post(CALL)).await;
    drop(at_server);
    let end = fault(&gateway, &mut client).await;
    assert!(end.field("cause").unwrap_or_default().contains("no answer from"), "{end:?}");
}

#[tokio::test]
async fn a_server_that_resets_the_connection() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send(post(CALL)).await;
    server.accept().await.reset().await;
    fault(&gateway, &mut client).await;
}

#[tokio::test]
async fn a_server_that_does_not_speak_http() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    for nonsense in [
        "SSH-2.0-OpenSSH_9.9\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "{}",
    ] {
        let mut client = gateway.connect().await;
        let call = CALL.replace("\"id\":7", "\"id\":8");
        client.send(post(&call)).await;
        let mut at_server = server.accept().await;
        at_server.message().await;
        at_server.send(nonsense).await;
        drop(at_server);
        let (head, body) = client.message().await;
        assert_eq!(head.status(), "200", "{nonsense:?}: {body}");
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(answer["result"]["isError"], json!(true), "{nonsense:?}: {body}");
    }
}

#[tokio::test]
async fn a_server_that_breaks_off_before_its_answer_says_anything() {
    for start in [
        // Of a length that never comes, and in chunks.
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"json",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let (_server, gateway, mut client, mut at_server) = arrived(post(CALL)).await;
        at_server.send(start).await;
        drop(at_server);
        fault(&gateway, &mut client).await;
    }
}

#[tokio::test]
async fn a_server_that_breaks_off_in_a_stream_of_events() {
    let (_server, gateway, mut client, mut at_server) = arrived(post(CALL)).await;
    at_server
        .send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        )
        .await;
    let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n";
    at_server.send(chunk(progress)).await;
    assert_eq!(client.head().await.status(), "200");
    assert_eq!(client.chunks_to(progress).await, progress);
    at_server.send("7\r\ndata: {").await;
    drop(at_server);
    // One more event, and a clean end.
    let (rest, _) = client.chunks().await;
    let data =
        rest.lines().rev().find_map(|line| line.strip_prefix("data: {\"")).expect("an event");
    let body = format!("{{\"{data}");
    failed(&gateway, &serde_json::from_str(&body).expect("JSON"), &body).await;
}

#[tokio::test]
async fn a_page_for_people_is_no_answer() {
    let (_server, gateway, mut client, mut at_server) = arrived(post(CALL)).await;
    at_server
        .send(
            "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n\
             <h1>502</h1>",
        )
        .await;
    let end = fault(&gateway, &mut client).await;
    assert_eq!(end.field("code"), Some("upstream_error"), "{end:?}");
}

/// Five minutes are too long for a test; that a deadline is kept is the next one's.
#[tokio::test]
async fn a_server_that_stalls_is_not_waited_for_for_ever() {
    let gateway = Gateway::start("http://127.0.0.1:9/mcp").await;
    assert_eq!(gateway.deadline, "300s");
}

#[cfg(feature = "toml")]
#[tokio::test]
async fn a_server_that_stalls_is_waited_for_as_long_as_the_policy_says() {
    let file = std::env::temp_dir().join(format!("gateway-deadline-{}.toml", std::process::id()));
    std::fs::write(&file, "deadline = \"50ms\"\n").expect("a file");
    let path = file.to_str().expect("a plain path");
    let server = Server::bind().await;
    let gateway = Gateway::start_with(&server.url(), &["--policy", path]).await;
    std::fs::remove_file(&file).expect("the file");
    assert_eq!(gateway.deadline, "50ms");
    let mut client = gateway.connect().await;
    client.send(post(CALL)).await;
    let mut at_server = server.accept().await;
    at_server.message().await;
    let end = fault(&gateway, &mut client).await;
    assert_eq!(end.field("code"), Some("timeout"), "{end:?}");
    assert_eq!(end.level, "WARN", "{end:?}");
    // The gateway no longer waits for it.
    at_server.rest().await;
}

/// Where no layer could answer any more, a broken body is broken for the client too.
#[tokio::test]
async fn an_answer_that_breaks_off_is_not_ended_cleanly() {
    let (_server, _gateway, mut client, mut at_server) =
        arrived("GET /.well-known/x HTTP/1.1\r\nHost: g\r\n\r\n").await;
    at_server
        .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf")
        .await;
    assert_eq!(client.head().await.get("content-length"), Some("100"));
    drop(at_server);
    assert!(client.rest().await.len() < 100);
}
