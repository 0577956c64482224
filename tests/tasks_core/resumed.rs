//! Answers about a task on streams that are taken up again: on another connection, and once more.

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, OutcomeService, Policy, Undeclared};

use crate::{
    bench::{COMPLETED, DEFERRED, FAULT, UNDECLARED},
    kit::{Fake, Script, data, event, fake, line, post, send, sse_response},
    server::{Server, fresh_id},
    support::Logs,
    work::SECRET,
};

const PRIMED: &str = "id: 1\nretry: 3000\ndata:\n\n";

/// A server whose streams end before their answers, which then come on a stream that is asked for.
fn resumable(server: &Server) -> Fake {
    let server = server.clone();
    let last = std::sync::Arc::new(tokio::sync::Mutex::new(String::new()));
    fake(move |request| {
        let (server, last) = (server.clone(), std::sync::Arc::clone(&last));
        async move {
            let (parts, body) = request.into_parts();
            if parts.method == http::Method::GET {
                return Ok(stream(last.lock().await.clone()));
            }
            let message: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            let reply = server.handle("one", &message).await;
            let text = reply.into_message(&message["id"]).unwrap().to_string();
            *last.lock().await = format!("id: 2\n{}", event(&text));
            Ok(stream(PRIMED.to_owned()))
        }
    })
}

fn stream(text: String) -> Response<Script> {
    sse_response(Script::of([data(text)]))
}

fn of(session: &str, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    request
}

/// Asks, and takes up the stream of the answer twice. Gives what came.
async fn ask(
    service: &OutcomeService<Fake>,
    session: &str,
    id: u32,
    method: &str,
    params: Value,
) -> [Value; 2] {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let got = send(service.clone(), of(session, post(message.to_string()))).await;
    assert_eq!(got.text(), PRIMED);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let get = Request::get("/mcp")
            .header(header::ACCEPT, "text/event-stream")
            .header("last-event-id", "1")
            .body(Full::default());
        let got = send(service.clone(), of(session, get.unwrap())).await;
        assert!(got.text().starts_with("id: 2\n"), "{got:?}");
        answers.push(got.message());
    }
    answers.try_into().unwrap()
}

async fn check(at: &str, ends: &str, expected: &str, policy: Policy) {
    let server = Server::default();
    let (logs, _capture) = Logs::capture();
    let service = OutcomeLayer::new().policy(policy).layer(resumable(&server));
    let id = fresh_id();
    let session = format!("resumed-{at}");
    let arguments = json!({ "ends": ends, "id": id });
    let params = json!({ "name": "task", "arguments": arguments, "task": {} });
    ask(&service, &session, 1, "tools/call", params).await;
    let told = || -> Vec<String> {
        let ours = logs.of_target("tower_outcome").into_iter();
        ours.filter(|it| it.message.starts_with("tool_") && it.field("task_id") == Some(&id))
            .map(|it| line(&it))
            .collect()
    };
    assert_eq!(told(), [DEFERRED], "{at}");
    server.ended(&id).await;
    let asked = json!({ "taskId": id });
    ask(&service, &session, 2, "tasks/get", asked.clone()).await;
    assert_eq!(told(), [DEFERRED], "{at}");
    for request in 3..5 {
        let answers = ask(&service, &session, request, "tasks/result", asked.clone()).await;
        assert_eq!(answers[0], answers[1], "{at}: a replay is the same");
        assert!(!answers[0].to_string().contains(SECRET), "{at}: {}", answers[0]);
        assert_eq!(told(), [DEFERRED, expected], "{at}");
        let end = logs.of_target("tower_outcome");
        let end = end.iter().find(|it| line(it) == expected).unwrap();
        let is_hidden = end.field("cause").is_some();
        let reference = end.field("call_id").unwrap();
        assert_eq!(answers[0].to_string().contains(reference), is_hidden, "{at}: {}", answers[0]);
    }
}

#[tokio::test]
async fn an_answer_that_comes_on_another_stream_and_again_is_told_once() {
    for (ends, expected) in [
        ("ok", COMPLETED),
        ("is_error", UNDECLARED),
        ("soft", "ERROR tool_call_failed soft_error soft_error"),
        ("error", UNDECLARED),
    ] {
        check(ends, ends, expected, Policy::new()).await;
    }
}

#[tokio::test]
async fn an_internal_error_that_comes_again_is_replaced_under_the_same_reference() {
    check("leak", "leak", FAULT, Policy::new()).await;
}

#[tokio::test]
async fn a_masked_result_that_comes_again_is_replaced_under_the_same_reference() {
    let mask = Policy::new().undeclared(Undeclared::Mask);
    check("mask", "secret_is_error", UNDECLARED, mask).await;
}
