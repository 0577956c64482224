//! Bodies as they stream: what one side sends next, it sends only once the other has what it sent
//! before.

use crate::{
    process::Gateway,
    wire::{CALL, CALLED, LIST, LISTED, Server, arrived, chunk, ok, post},
};

const SSE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                   Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test]
async fn each_event_of_a_post_is_read_before_the_server_sends_the_next() {
    let (_server, _gateway, mut client, mut at_server) = arrived(post(CALL)).await;
    at_server.send(SSE).await;
    let head = client.head().await;
    assert_eq!(head.get("content-type"), Some("text/event-stream"));
    assert_eq!(head.get("content-length"), None);
    let progress = |number| {
        let params = format!(r#"{{"progressToken":1,"progress":{number}}}"#);
        let method = r#""method":"notifications/progress""#;
        format!(
            "event: message\r\ndata: {{\"jsonrpc\":\"2.0\",{method},\"params\":{params}}}\r\n\r\n"
        )
    };
    for event in ["id: 1\ndata:\n\n".to_owned(), ":\n\n".to_owned(), progress(1), progress(2)] {
        at_server.send(chunk(&event)).await;
        assert_eq!(client.chunks_to(&event).await, event);
    }
    let answer = format!("data: {CALLED}\n\n");
    at_server.send(chunk(&answer)).await;
    assert_eq!(client.chunks_to(&answer).await, answer);
    at_server.send("0\r\n\r\n").await;
    assert_eq!(client.chunks().await, (String::new(), vec![]));
}

#[tokio::test]
async fn each_event_of_a_get_is_read_before_the_server_sends_the_next() {
    let (_server, _gateway, mut client, mut at_server) =
        arrived("GET /mcp HTTP/1.1\r\nHost: g\r\nAccept: text/event-stream\r\n\r\n").await;
    at_server.send(SSE).await;
    assert_eq!(client.head().await.status(), "200");
    for number in 0..20 {
        let event = format!(
            "id: {number}\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":\
             {{\"number\":{number}}}}}\n\n"
        );
        at_server.send(chunk(&event)).await;
        assert_eq!(client.chunks_to(&event).await, event);
    }
    // The client leaves, and the server learns of it.
    drop(client);
    at_server.rest().await;
}

#[tokio::test]
async fn a_request_body_streams_too() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    // No message of the protocol: that of a POST is read before it is sent on.
    client
        .send(
            "PUT /mcp HTTP/1.1\r\nHost: g\r\nContent-Type: application/octet-stream\r\n\
             Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n",
        )
        .await;
    client.send(chunk("first")).await;
    let mut at_server = server.accept().await;
    let head = at_server.head().await;
    assert_eq!(head.get("transfer-encoding"), Some("chunked"));
    assert_eq!(head.get("trailer"), Some("X-Sum"));
    assert_eq!(at_server.chunks_to("first").await, "first");
    client.send(chunk("second")).await;
    assert_eq!(at_server.chunks_to("second").await, "second");
    client.send("0\r\nX-Sum: 3\r\n\r\n").await;
    let (rest, trailers) = at_server.chunks().await;
    assert_eq!((&*rest, trailers.join("\n").to_ascii_lowercase()), ("", "x-sum: 3".into()));
}

#[tokio::test]
async fn a_message_in_chunks_arrives_as_it_was() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client
        .send(
            "POST /mcp HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        )
        .await;
    let (first, second) = LIST.split_at(20);
    client.send(format!("{}{}0\r\n\r\n", chunk(first), chunk(second))).await;
    let mut at_server = server.accept().await;
    assert_eq!(at_server.message().await.1, LIST);
    at_server.send(ok("application/json", LISTED)).await;
    assert_eq!(client.message().await.1, LISTED);
}

#[tokio::test]
async fn trailers_of_an_answer_pass() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send("GET /mcp HTTP/1.1\r\nHost: g\r\nTE: trailers\r\nConnection: te\r\n\r\n").await;
    let mut at_server = server.accept().await;
    assert_eq!(at_server.head().await.get("te"), Some("trailers"));
    at_server
        .send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\
             Trailer: X-Sum\r\n\r\n",
        )
        .await;
    at_server.send(format!("{}0\r\nX-Sum: 3\r\n\r\n", chunk("body"))).await;
    assert_eq!(client.head().await.get("trailer"), Some("X-Sum"));
    let (body, trailers) = client.chunks().await;
    assert_eq!((&*body, trailers.join("\n").to_ascii_lowercase()), ("body", "x-sum: 3".into()));
}

#[tokio::test]
async fn large_bodies_pass_unchanged() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    let text: String = ('a'..='z').cycle().take(8 << 20).collect();
    let request = CALL.replace("{\"a\":1}", &format!("{{\"a\":\"{text}\"}}"));
    let answer = CALLED.replace("\"2\"", &format!("\"{text}\""));
    let exchange = async {
        let mut at_server = server.accept().await;
        let received = at_server.message().await.1;
        at_server.send(ok("application/json", &answer)).await;
        received
    };
    let (request_sent, answer_sent) = (request.clone(), answer.clone());
    let ask = async {
        client.send(post(&request_sent)).await;
        client.message().await.1
    };
    let (received, answered) = tokio::join!(exchange, ask);
    assert!(received == request, "another request: {} bytes", received.len());
    assert!(answered == answer_sent, "another answer: {} bytes", answered.len());
}

#[tokio::test]
async fn a_connection_to_the_server_is_used_again_and_replaced_when_it_is_gone() {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    let mut at_server = None;
    for _ in 0..3 {
        client.send(post(LIST)).await;
        let mut connection = match at_server.take() {
            Some(connection) => connection,
            None => server.accept().await,
        };
        assert_eq!(connection.message().await.1, LIST);
        connection.send(ok("application/json", LISTED)).await;
        assert_eq!(client.message().await.1, LISTED);
        at_server = Some(connection);
    }
    // The server hangs up on an idle connection, and the gateway sees it.
    drop(at_server);
    client.send(post(CALL)).await;
    let mut connection = server.accept().await;
    assert_eq!(connection.message().await.1, CALL);
    connection.send(ok("application/json", CALLED)).await;
    assert_eq!(client.message().await.1, CALLED);
}

#[cfg(unix)]
#[tokio::test]
async fn a_call_in_flight_is_answered_before_the_gateway_ends() {
    let server = Server::bind().await;
    let mut gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send(post(CALL)).await;
    let mut at_server = server.accept().await;
    at_server.message().await;
    gateway.terminate();
    at_server.send(ok("application/json", CALLED)).await;
    assert_eq!(client.message().await.1, CALLED);
    assert_eq!(gateway.ended().await.code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn an_open_stream_does_not_keep_the_gateway_alive() {
    let (_server, mut gateway, mut client, mut at_server) =
        arrived("GET /mcp HTTP/1.1\r\nHost: g\r\nAccept: text/event-stream\r\n\r\n").await;
    at_server.send(SSE).await;
    client.head().await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
}
