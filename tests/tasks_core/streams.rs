//! What a server says by itself, on streams of HTTP, and real connections.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{OutcomeLayer, Policy, Undeclared};

use crate::{
    bench::{ANSWERED, Bench, COMPLETED, DEFERRED, FAULT, Stack, UNDECLARED, Way, http_service},
    binding::Request,
    kit::{Script, data, event, fake, guarded, line, lines, sse_response, until},
    server::Server,
    support::{Event, Logs},
    work::SECRET,
};

/// Reads until the stream says `said`.
pub(crate) async fn read_until<B>(body: &mut B, said: &str) -> String
where
    B: Body<Data = Bytes, Error: std::fmt::Debug> + Unpin,
{
    let mut text = String::new();
    while !text.contains(said) {
        let frame = guarded(body.frame()).await.unwrap_or_else(|| panic!("it ended after {text}"));
        text.push_str(&String::from_utf8_lossy(&frame.unwrap().into_data().unwrap()));
    }
    text
}

/// A notification has a status, and so what `tasks/result` says is still to come.
#[tokio::test]
async fn a_status_that_is_sent_is_no_end() {
    for way in Way::HTTP {
        for (ends, expected) in [
            ("ok", COMPLETED),
            ("soft", "ERROR tool_call_failed soft_error soft_error"),
            ("error", UNDECLARED),
            ("invalid", "INFO tool_call_failed protocol_error invalid_params"),
        ] {
            let bench = Bench::new(way);
            let mut one = bench.listen(0).await.into_body();
            let mut other = bench.listen(1).await.into_body();
            let id = bench.create(json!({ "ends": ends, "ms": 10 }), None).await;
            for stream in [&mut one, &mut other] {
                read_until(stream, "notifications/tasks/status").await;
            }
            bench.assert_open(&id);
            bench.result(1, &id).await;
            bench.get(0, &id).await;
            // One that is known to have failed may end in -32602.
            assert_eq!(line(&bench.end_of(&id)), expected, "{way:?}, {ends}");
            let mut said = lines(&bench.logs);
            said.sort_unstable();
            let mut expected = vec![DEFERRED, expected, ANSWERED, ANSWERED];
            expected.sort_unstable();
            assert_eq!(said, expected, "{way:?}, {ends}: the streams make no event");
        }
    }
}

/// Nobody has asked for it, and so nobody knows why.
#[tokio::test]
async fn a_cancelled_status_that_is_sent_is_the_end() {
    for way in Way::HTTP {
        let bench = Bench::new(way);
        let mut one = bench.listen(0).await.into_body();
        let mut other = bench.listen(1).await.into_body();
        let id = bench.create(json!({ "ends": "never" }), None).await;
        bench.assert_open(&id);
        bench.server.stop(&id);
        read_until(&mut one, "cancelled").await;
        let end = bench.end_of(&id);
        let cancelled = "INFO tool_call_cancelled cancelled -";
        assert_eq!((line(&end).as_str(), end.field("reason")), (cancelled, None), "{way:?}");
        read_until(&mut other, "cancelled").await;
        bench.get(1, &id).await;
        bench.end_of(&id);
    }
}

/// The client's own cancel is told to it on the other stream before it is answered.
#[tokio::test]
async fn a_cancel_is_the_clients_whichever_way_it_comes_back() {
    for way in Way::HTTP {
        let bench = Bench::new(way);
        let mut stream = bench.listen(0).await.into_body();
        let id = bench.create(json!({ "ends": "never" }), None).await;
        bench.cancel(1, &id).await;
        read_until(&mut stream, "cancelled").await;
        let end = bench.end_of(&id);
        assert_eq!(line(&end), "INFO tool_call_cancelled cancelled -", "{way:?}");
        assert_eq!(end.field("reason"), Some("client_cancelled"), "{way:?}: {end:?}");
    }
}

#[tokio::test]
async fn a_masked_status_message_is_replaced_in_what_is_sent() {
    for way in Way::HTTP {
        let policy = Policy::new().undeclared(Undeclared::Mask);
        let bench = Bench::with(way, &OutcomeLayer::new().policy(policy));
        let mut stream = bench.listen(1).await.into_body();
        let id = bench.create(json!({ "ends": "secret_is_error", "ms": 10 }), None).await;
        let text = read_until(&mut stream, "\n\n").await;
        let told = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let told: Value = serde_json::from_str(told).unwrap();
        assert_eq!(told["method"], "notifications/tasks/status", "{way:?}: {told}");
        let state = &told["params"];
        let said = json!([state["taskId"], state["status"], state["createdAt"]]);
        assert_eq!(said, json!([id, "failed", "2025-11-25T10:30:00Z"]), "{way:?}: {told}");
        let message = state["statusMessage"].as_str().unwrap();
        assert!(message.contains("could not complete it"), "{way:?}: {message}");
        bench.result(0, &id).await;
        let end = bench.end_of(&id);
        assert!(message.contains(end.field("call_id").unwrap()), "{way:?}: {message}");
        assert!(!text.contains(SECRET) && !bench.received().contains(SECRET), "{way:?}: {text}");
    }
}

/// A server that has said what it has to say need not close the stream: the client has read it, and
/// asks on another connection.
#[tokio::test]
async fn a_task_is_known_before_the_stream_of_its_creation_ends() {
    let server = Server::default();
    let handler = server.clone();
    let pens = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&pens);
    let service = fake(move |request| {
        let (handler, kept) = (handler.clone(), Arc::clone(&kept));
        async move {
            let (parts, body) = request.into_parts();
            let message: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            let id = message["id"].clone();
            let request = Request::new(message, "one", Some(parts.extensions));
            let reply = handler.handle(&request.session, &request.message).await;
            let (pen, body) = Script::new();
            let text = event(&reply.into_message(&id).unwrap().to_string());
            pen.send(data(text)).unwrap();
            kept.lock().unwrap().push(pen);
            Ok(sse_response(body))
        }
    });
    let (logs, _capture) = Logs::capture();
    let service = OutcomeLayer::new().layer(service);
    let mut open = Vec::new();
    let ask = |id: u32, method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        service.clone().oneshot(crate::kit::post(message.to_string()))
    };
    let id = crate::server::fresh_id();
    let arguments = json!({ "ends": "soft", "ms": 10, "id": id });
    let params = json!({ "name": "task", "arguments": arguments, "task": {} });
    let mut body = guarded(ask(1, "tools/call", params)).await.unwrap().into_body();
    read_until(&mut body, "\n\n").await;
    open.push(body);
    for at in 2..5 {
        let answer = ask(at, "tasks/result", json!({ "taskId": id }));
        let mut body = guarded(answer).await.unwrap().into_body();
        read_until(&mut body, "\n\n").await;
        open.push(body);
    }
    let is_told = |it: &Event| it.message.starts_with("tool_") && it.field("task_id") == Some(&id);
    let told: Vec<String> =
        logs.of_target("tower_outcome").iter().filter(|it| is_told(it)).map(line).collect();
    assert_eq!(told, [DEFERRED, "ERROR tool_call_failed soft_error soft_error"]);
    drop(open);
    assert_eq!(lines(&logs).iter().filter(|line| !line.starts_with("DEBUG")).count(), 2);
}

/// Two clients of one server on sockets, each with connections of its own.
#[tokio::test]
async fn two_clients_on_sockets_share_a_task() {
    for way in Way::HTTP {
        for (ends, expected) in [("ok", COMPLETED), ("is_error", UNDECLARED), ("leak", FAULT)] {
            let server = Server::default();
            let layers = OutcomeLayer::new().route("/mcp");
            let service = layers.layer(http_service(way, &layers, &server));
            let app = axum::Router::new().route_service("/mcp", service);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // The bench is there for its log: the clients are others.
            let bench = Bench::of(way, server.clone(), Stack::of(way, &layers, &server));
            let serving = tokio::spawn(async move { axum::serve(listener, app).await });
            let clients = [
                SocketClient::new(address, "socket-one"),
                SocketClient::new(address, "socket-two"),
            ];
            let mut stream = clients[1].listen().await;
            guarded(until("it listens", || server.listeners() == 1)).await;

            let arguments = json!({ "ends": ends, "ms": 20 });
            let params = json!({ "name": "task", "arguments": arguments, "task": {} });
            let answer = clients[0].ask("tools/call", params).await;
            let id = answer["result"]["task"]["taskId"].as_str().unwrap().to_owned();
            let mut told = String::new();
            while !told.contains("notifications/tasks/status") {
                let chunk = guarded(stream.chunk()).await.unwrap().unwrap();
                told.push_str(&String::from_utf8_lossy(&chunk));
            }
            assert!(told.contains(&id), "{way:?}: {told}");
            let asked = json!({ "taskId": id });
            for (client, method) in
                [(0, "tasks/get"), (1, "tasks/result"), (0, "tasks/result"), (1, "tasks/get")]
            {
                let answer = clients[client].ask(method, asked.clone()).await;
                assert!(!answer.to_string().contains(SECRET), "{way:?}: {answer}");
            }
            // A server may write its line after the client has read the answer.
            let end = bench.wait_for_end_of(&id).await;
            assert_eq!(line(&end), expected, "{way:?}, {ends}");
            assert_eq!(end.field("route"), Some("/mcp"), "{way:?}: {end:?}");
            assert_eq!(end.field("transport"), Some("http"), "{way:?}: {end:?}");
            serving.abort();
        }
    }
}

struct SocketClient {
    http: reqwest::Client,
    url: String,
    session: &'static str,
}

impl SocketClient {
    fn new(address: std::net::SocketAddr, session: &'static str) -> Self {
        Self { http: reqwest::Client::new(), url: format!("http://{address}/mcp"), session }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        // No two requests of a session have one id: it might be asked for again.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.http.post(&self.url).header("content-type", "application/json");
        let answer = answer
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", self.session)
            .header("mcp-protocol-version", "2025-11-25")
            .body(message.to_string())
            .send();
        let text = guarded(guarded(answer).await.unwrap().text()).await.unwrap();
        let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
        let answer: Value = serde_json::from_str(data).unwrap_or_else(|_| panic!("{text}"));
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    async fn listen(&self) -> reqwest::Response {
        let stream = self.http.get(&self.url).header("accept", "text/event-stream");
        let stream = stream
            .header("mcp-session-id", self.session)
            .header("mcp-protocol-version", "2025-11-25")
            .send();
        guarded(stream).await.unwrap()
    }
}
