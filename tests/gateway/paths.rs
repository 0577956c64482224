//! Which paths are served, and what the server is asked for.

use crate::{
    process::Gateway,
    wire::{Connection, Head, LISTED, Server, ok},
};

/// What the server is asked for, or the status where it is not.
async fn asked(server: &Server, gateway: &Gateway, line: &str) -> Result<String, String> {
    let mut client = gateway.connect().await;
    client.send(format!("{line} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")).await;
    let at_server = async {
        let mut at_server = server.accept().await;
        let Head { first, .. } = at_server.head().await;
        // It ends here, so that no later request is sent on it while it closes.
        let answer = ok("application/json", LISTED);
        at_server.send(answer.replacen("\r\n", "\r\nConnection: close\r\n", 1)).await;
        first
    };
    // One of the two comes: a request at the server, or an answer without it.
    tokio::select! {
        first = at_server => {
            let target = first.strip_suffix(" HTTP/1.1").expect("its version");
            Ok(target.to_owned())
        }
        head = answered(&mut client) => Err(head.status().to_owned()),
    }
}

async fn answered(client: &mut Connection) -> Head {
    client.head().await
}

#[tokio::test]
async fn with_a_path_in_the_url_that_path_is_served_and_nothing_else() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    for (line, target) in [
        ("GET /mcp", "GET /mcp"),
        ("DELETE /mcp", "DELETE /mcp"),
        ("GET /mcp?a=1&b=%20%2F&c", "GET /mcp?a=1&b=%20%2F&c"),
        ("GET /mcp?", "GET /mcp?"),
        ("GET /mcp/", "GET /mcp/"),
        ("GET /mcp/tools/a%2Fb?x=../y", "GET /mcp/tools/a%2Fb?x=../y"),
        ("GET /", "GET /mcp"),
        ("GET /?a=1", "GET /mcp?a=1"),
        ("GET http://other/mcp?a=1", "GET /mcp?a=1"),
        (
            "GET /.well-known/oauth-protected-resource/mcp",
            "GET /.well-known/oauth-protected-resource/mcp",
        ),
    ] {
        assert_eq!(asked(&server, &gateway, line).await.as_deref(), Ok(target), "{line}");
    }
    for line in [
        "GET /admin",
        "GET /mcps",
        "GET /MCP",
        "GET //mcp",
        "GET /mcp/../admin",
        "GET /mcp/%2e%2E/admin",
        "GET /mcp/..%2fadmin",
        "GET /mcp/..%5Cadmin",
        "GET /.well-known/../admin",
        "OPTIONS *",
        "CONNECT other:80",
    ] {
        assert_eq!(asked(&server, &gateway, line).await, Err("404".to_owned()), "{line}");
    }
}

#[tokio::test]
async fn without_a_path_in_the_url_every_path_is_served() {
    let server = Server::bind().await;
    for url in [format!("http://{}", server.address()), format!("http://{}/", server.address())] {
        // It is the same URL, and the log writes it as one.
        let gateway =
            Gateway::start_logged_as(&url, &format!("http://{}/", server.address()), &[]).await;
        for line in ["GET /mcp", "GET /", "GET /a/b?c", "GET /?a=1"] {
            assert_eq!(asked(&server, &gateway, line).await.as_deref(), Ok(line), "{url}");
        }
        assert_eq!(asked(&server, &gateway, "GET /a/../b").await, Err("404".to_owned()), "{url}");
    }
}

#[tokio::test]
async fn a_request_that_may_go_no_further_does_not() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send("OPTIONS /mcp HTTP/1.1\r\nHost: g\r\nMax-Forwards: 0\r\n\r\n").await;
    assert_eq!(client.head().await.status(), "204");
    client.send("OPTIONS /mcp HTTP/1.1\r\nHost: g\r\nMax-Forwards: 3\r\n\r\n").await;
    let mut at_server = server.accept().await;
    assert_eq!(at_server.head().await.get("max-forwards"), Some("2"));
    at_server.send("HTTP/1.1 204 No Content\r\nAllow: GET, POST\r\n\r\n").await;
    assert_eq!(client.head().await.get("allow"), Some("GET, POST"));
    client.send("GET /mcp HTTP/1.1\r\nHost: g\r\nMax-Forwards: 0\r\n\r\n").await;
    assert_eq!(at_server.head().await.get("max-forwards"), Some("0"));
}
