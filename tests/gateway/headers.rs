//! Which headers pass, in both directions.

use crate::{
    process::Gateway,
    wire::{Connection, Head, LIST, LISTED, Server, ok},
};

/// A request with these header lines, as the server gets it.
async fn received(server: &Server, gateway: &Gateway, lines: &str) -> Head {
    exchange(server, gateway, lines, &ok("application/json", LISTED)).await.0
}

/// What the server gets, and what the client gets of its answer.
async fn exchange(server: &Server, gateway: &Gateway, lines: &str, answer: &str) -> (Head, Head) {
    let mut client = gateway.connect().await;
    let length = LIST.len();
    let fixed = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    client.send(format!("POST /mcp HTTP/1.1\r\n{fixed}{lines}\r\n{LIST}")).await;
    let mut at_server = server.accept().await;
    let (head, body) = at_server.message().await;
    assert_eq!(body, LIST);
    at_server.send(answer).await;
    // It is read to its end before the connection goes: that would end the gateway's, too.
    let answer = client.head().await;
    (head, answer)
}

#[tokio::test]
async fn what_a_client_says_to_the_server_passes() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let lines = "Host: gateway.test:1\r\nMcp-Session-Id: s-1\r\n\
                 MCP-Protocol-Version: 2025-11-25\r\n\
                 Mcp-Method: tools/list\r\nMcp-Name: =?base64?w6Q=?=\r\nLast-Event-ID: 17_3\r\n\
                 Authorization: Bearer abc==\r\nOrigin: http://app.test\r\nCookie: a=1\r\n\
                 Cookie: b=2; c=3\r\nAccept: application/json, text/event-stream\r\n\
                 User-Agent: raw/1\r\n\
                 Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
                 X-Two: one\r\nX-Two: two, three\r\nX-Empty:\r\nCache-Control: no-cache\r\n";
    let head = received(&server, &gateway, lines).await;
    for line in lines.trim_end().split("\r\n").filter(|line| !line.starts_with("Host")) {
        let (name, value) = line.split_once(':').unwrap();
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        assert!(head.all(&name).contains(&value), "no {line} in {head:?}");
    }
    assert_eq!(head.all("x-two"), ["one", "two, three"]);
    assert_eq!(head.all("cookie"), ["a=1", "b=2; c=3"]);
    assert_eq!(head.get("content-type"), Some("application/json"));
    assert_eq!(head.get("content-length"), Some(&*LIST.len().to_string()));
    assert_eq!(head.get("transfer-encoding"), None);
}

#[tokio::test]
async fn the_server_is_told_who_asked_and_under_which_name() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let head = received(&server, &gateway, "Host: gateway.test:1\r\n").await;
    assert_eq!(head.get("host"), Some(&*server.address()));
    assert_eq!(head.get("via"), Some("1.1 tower-outcome-gateway"));
    assert_eq!(head.get("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(head.get("x-forwarded-host"), Some("gateway.test:1"));
    assert_eq!(head.get("x-forwarded-proto"), Some("http"));

    let head = received(
        &server,
        &gateway,
        "Host: g\r\nVia: 1.1 edge\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\
         X-Forwarded-Host: mcp.example\r\nForwarded: for=192.0.2.7\r\n",
    )
    .await;
    assert_eq!(head.all("via"), ["1.1 edge", "1.1 tower-outcome-gateway"]);
    assert_eq!(head.all("x-forwarded-for"), ["192.0.2.7", "127.0.0.1"]);
    assert_eq!(head.get("x-forwarded-host"), Some("mcp.example"));
    assert_eq!(head.get("x-forwarded-proto"), Some("https"));
    assert_eq!(head.get("forwarded"), Some("for=192.0.2.7"));
}

#[tokio::test]
async fn what_is_about_the_clients_connection_stays_there() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let lines = "Host: g\r\nConnection: keep-alive, X-Mine\r\nConnection: x-too\r\nX-Mine: 1\r\n\
                 X-Too: 1\r\nX-Kept: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n\
                 Proxy-Authorization: Basic eA==\r\nProxy-Authenticate: Basic\r\nTE: gzip\r\n\
                 Upgrade: h2c\r\n";
    let head = received(&server, &gateway, lines).await;
    for gone in [
        "connection",
        "x-mine",
        "x-too",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "proxy-authenticate",
        "te",
        "upgrade",
        "transfer-encoding",
    ] {
        assert_eq!(head.all(gone), [""; 0], "{gone}");
    }
    assert_eq!(head.get("x-kept"), Some("1"));

    // Not even to hide what the gateway says itself.
    let head =
        received(&server, &gateway, "Host: g\r\nConnection: host, via, x-forwarded-for\r\n").await;
    assert_eq!(head.get("x-forwarded-host"), Some("g"));
    assert_eq!(head.get("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(head.get("via"), Some("1.1 tower-outcome-gateway"));

    let head = received(&server, &gateway, "Host: g\r\nTE: gzip;q=0.5, Trailers\r\n").await;
    assert_eq!(head.get("te"), Some("trailers"));
    assert_eq!(head.get("connection"), Some("te"));
}

#[tokio::test]
async fn no_answer_is_asked_for_that_could_not_be_read() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    for lines in
        ["Host: g\r\n", "Host: g\r\nAccept-Encoding: gzip, br\r\nAccept-Encoding: zstd\r\n"]
    {
        let head = received(&server, &gateway, lines).await;
        assert_eq!(head.get("accept-encoding"), Some("identity"), "{lines}");
    }
}

#[tokio::test]
async fn what_the_server_says_to_a_client_passes_and_no_more() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Mcp-Session-Id: s-1\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nServer: own/1\r\n\
         Date: Tue, 01 Dec 2026 00:00:00 GMT\r\nWWW-Authenticate: Bearer\r\nX-Kept: 1\r\n\
         Connection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\n\
         Proxy-Connection: close\r\nProxy-Authenticate: Basic\r\nTE: trailers\r\n\r\n{LISTED}",
        LISTED.len()
    );
    let (_, head) = exchange(&server, &gateway, "Host: g\r\n", &answer).await;
    assert_eq!(head.status(), "200");
    for (name, value) in [
        ("content-type", "application/json"),
        ("mcp-session-id", "s-1"),
        ("server", "own/1"),
        ("date", "Tue, 01 Dec 2026 00:00:00 GMT"),
        ("www-authenticate", "Bearer"),
        ("x-kept", "1"),
    ] {
        assert_eq!(head.get(name), Some(value), "{head:?}");
    }
    assert_eq!(head.all("set-cookie"), ["a=1; Path=/", "b=2"]);
    for gone in [
        "connection",
        "x-mine",
        "keep-alive",
        "upgrade",
        "proxy-connection",
        "proxy-authenticate",
        "te",
    ] {
        assert_eq!(head.all(gone), [""; 0], "{gone}");
    }
}

#[tokio::test]
async fn a_redirect_to_the_server_does_not_lead_past_the_gateway() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    for (location, told) in [
        (format!("http://{}/mcp/?a=1", server.address()), "/mcp/?a=1"),
        ("/mcp/".to_owned(), "/mcp/"),
        ("http://login.test/".to_owned(), "http://login.test/"),
        (
            format!("http://{}.test/", server.address()),
            &format!("http://{}.test/", server.address()),
        ),
        (format!("http://{}//x", server.address()), &format!("http://{}//x", server.address())),
    ] {
        let answer = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        );
        let (_, head) = exchange(&server, &gateway, "Host: g\r\n", &answer).await;
        assert_eq!(head.status(), "307");
        assert_eq!(head.get("location"), Some(told));
    }
}

#[tokio::test]
async fn answers_without_a_body_keep_their_form() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send("HEAD /mcp HTTP/1.1\r\nHost: g\r\n\r\n").await;
    let mut at_server = server.accept().await;
    assert_eq!(at_server.head().await.first, "HEAD /mcp HTTP/1.1");
    at_server.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n").await;
    assert_eq!(client.head().await.get("content-length"), Some("1234"));

    // The same two connections go on.
    client.send("DELETE /mcp HTTP/1.1\r\nHost: g\r\nMcp-Session-Id: s-1\r\n\r\n").await;
    let head = at_server.head().await;
    assert_eq!(head.get("mcp-session-id"), Some("s-1"));
    assert_eq!((head.get("content-length"), head.get("transfer-encoding")), (None, None));
    at_server.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    let head = client.head().await;
    assert_eq!(head.status(), "204");
    assert_eq!((head.get("content-length"), head.get("transfer-encoding")), (None, None));

    client.send("GET /mcp HTTP/1.1\r\nHost: g\r\n\r\n").await;
    at_server.head().await;
    at_server.send("HTTP/1.1 405 Nope\r\nAllow: POST\r\nContent-Length: 2\r\n\r\nno").await;
    let (head, body) = client.message().await;
    assert_eq!((head.status(), head.get("allow"), &*body), ("405", Some("POST"), "no"));
}

#[tokio::test]
async fn a_body_is_sent_on_once_the_client_is_told_to_continue() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client: Connection = gateway.connect().await;
    let head = format!(
        "PUT /mcp HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        LIST.len()
    );
    client.send(head).await;
    assert_eq!(client.head().await.status(), "100");
    client.send(LIST).await;
    let mut at_server = server.accept().await;
    assert_eq!(at_server.message().await.1, LIST);
    at_server.send("HTTP/1.1 100 Continue\r\n\r\n").await;
    at_server.send(ok("text/plain", "done")).await;
    let (head, body) = client.message().await;
    assert_eq!((head.status(), &*body), ("200", "done"));
}

#[tokio::test]
async fn a_client_of_http_1_0_is_served_without_chunks() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send("GET /mcp HTTP/1.0\r\n\r\n").await;
    let mut at_server = server.accept().await;
    let head = at_server.head().await;
    assert_eq!(head.first, "GET /mcp HTTP/1.1");
    assert_eq!(head.get("via"), Some("1.0 tower-outcome-gateway"));
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    at_server.send(answer).await;
    let head = client.head().await;
    assert_eq!((head.status(), head.get("transfer-encoding")), ("200", None));
    assert_eq!(client.rest().await, "hi");
}
