//! Questions about tasks that fail themselves: what became of the task is another matter.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, OutcomeService};

use crate::{
    bench::{Bench, COMPLETED, Stack, UNDECLARED, Way},
    binding::Leaf,
    kit::{Fake, Script, fake, is_pending, json_response, line, lines, send, status},
    server::{Server, fresh_id},
    support::Logs,
};

/// Whoever waits for the end may leave before it.
#[tokio::test]
async fn a_client_that_does_not_wait_for_a_result_ends_nothing() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "never" }), None).await;
        let mut asking = Box::pin(bench.result(0, &id));
        assert!(is_pending(&mut asking).await, "{way:?}");
        drop(asking);
        bench.assert_open(&id);
        let left = "DEBUG request_abandoned abandoned -";
        assert!(lines(&bench.logs).contains(&left.to_owned()), "{:?}", lines(&bench.logs));
        bench.server.finish(&id);
        bench.result(1, &id).await;
        assert_eq!(line(&bench.end_of(&id)), COMPLETED, "{way:?}");
    }
}

#[tokio::test]
async fn a_handler_that_panics_at_a_question_is_not_the_end_of_the_task() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "is_error" }), None).await;
        bench.server.ended(&id).await;
        for method in ["tasks/get", "tasks/result"] {
            let answer = bench.ask(0, method, json!({ "taskId": id, "panic": true })).await;
            assert_eq!(answer["error"]["code"], -32603, "{way:?}, {method}: {answer}");
        }
        bench.assert_open(&id);
        let failed = "ERROR request_failed fault panic";
        let failures = lines(&bench.logs).into_iter().filter(|line| line == failed).count();
        assert_eq!(failures, 2, "{way:?}: {:?}", lines(&bench.logs));
        bench.result(1, &id).await;
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

/// A server that does what it is told, or else this.
fn flaky(server: &Server, or: fn(&Value) -> Option<Response<Script>>) -> Fake {
    let server = server.clone();
    fake(move |request| {
        let server = server.clone();
        async move {
            let body = http_body_util::BodyExt::collect(request.into_body()).await?.to_bytes();
            let message: Value = serde_json::from_slice(&body)?;
            if let Some(answer) = or(&message["params"]["broken"]) {
                return Ok(answer);
            }
            let reply = server.handle("one", &message).await;
            Ok(json_response(reply.into_message(&message["id"]).unwrap().to_string()))
        }
    })
}

fn broken(how: &Value) -> Option<Response<Script>> {
    let refused = |status: u16, code: i64, message: &str| {
        let error = json!({ "code": code, "message": message });
        let text = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
        let mut response = json_response(Bytes::from(text));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
    };
    Some(match how.as_str()? {
        "page" => status(502, "<p>a page"),
        "unavailable" => status(503, "later"),
        "no session" => status(404, "no such session"),
        // As TypeScript's SDK says it.
        "session not found" => refused(404, -32001, "Session not found"),
        "unauthorized" => refused(401, -32001, "Unauthorized"),
        "bad request" => refused(400, -32000, "Bad Request: Server not initialized"),
        "nonsense" => json_response("<html>"),
        "nothing" => json_response(""),
        "broken off" => crate::kit::sse_response(Script::of([crate::kit::Piece::Error("gone")])),
        other => panic!("no way {other}"),
    })
}

/// How HTTP itself fails, and what the line about the request says of it.
const FAILURES: [(&str, &str); 9] = [
    ("page", "ERROR request_failed fault upstream_error"),
    ("unavailable", "WARN request_failed fault upstream_error"),
    ("no session", "INFO request_failed protocol_error http_404"),
    ("session not found", "INFO request_failed protocol_error http_404"),
    ("unauthorized", "INFO request_failed protocol_error http_401"),
    ("bad request", "INFO request_failed protocol_error http_400"),
    ("nonsense", "ERROR request_failed fault upstream_error"),
    ("nothing", "ERROR request_failed fault upstream_error"),
    ("broken off", "ERROR request_failed fault upstream_error"),
];

/// The answer to a question is none: the task may still have ended in anything.
#[tokio::test]
async fn a_transport_that_fails_is_not_the_end_of_a_task() {
    async fn check<S>(layer: impl Fn(Fake) -> S)
    where
        S: tower::Service<http::Request<http_body_util::Full<Bytes>>> + Clone,
        S: tower::Service<
                http::Request<http_body_util::Full<Bytes>>,
                Response = Response<tower_outcome::binding::http::ResponseBody<Script>>,
            >,
        S::Error: std::fmt::Debug,
    {
        for (how, expected) in FAILURES {
            for method in ["tasks/get", "tasks/result"] {
                let server = Server::default();
                let (logs, _capture) = Logs::capture();
                let service = layer(flaky(&server, broken));
                let ask = |method: &str, params: Value| {
                    let message =
                        json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
                    send(service.clone(), crate::kit::post(message.to_string()))
                };
                let id = fresh_id();
                let arguments = json!({ "ends": "ok", "id": id });
                let params = json!({ "name": "task", "arguments": arguments, "task": {} });
                ask("tools/call", params).await;
                server.ended(&id).await;
                ask(method, json!({ "taskId": id, "broken": how })).await;
                let said = lines(&logs);
                assert_eq!(said[1..], [expected], "{how}, {method}: {said:?}");
                ask("tasks/result", json!({ "taskId": id })).await;
                let said = lines(&logs);
                assert!(said.contains(&COMPLETED.to_owned()), "{how}, {method}: {said:?}");
            }
        }
    }
    check(|inner| -> OutcomeService<Fake> { OutcomeLayer::new().layer(inner) }).await;
}

/// In two stacks the inner one answers in the server's place, which the outer one must not take
/// for what the task ended in.
#[tokio::test]
async fn an_answer_in_the_place_of_one_is_not_the_end_of_a_task() {
    for how in ["page", "nonsense", "nothing", "broken off"] {
        let server = Server::default();
        let layers = OutcomeLayer::new();
        let service = layers.layer(layers.layer(flaky(&server, broken)));
        let bench = Bench::of(Way::Json, server, Stack::http(service));
        let id = bench.create(json!({ "ends": "ok" }), None).await;
        bench.server.ended(&id).await;
        let answer = bench.ask(0, "tasks/result", json!({ "taskId": id, "broken": how })).await;
        assert_eq!(answer["error"]["code"], -32603, "{how}: {answer}");
        bench.assert_open(&id);
        bench.result(0, &id).await;
        assert_eq!(line(&bench.end_of(&id)), COMPLETED, "{how}");
    }
    let server = Server::default();
    let layers = OutcomeLayer::new();
    let service = layers.layer(layers.layer(Leaf(server.clone())));
    let bench = Bench::of(Way::Typed, server, Stack::typed(service));
    let id = bench.create(json!({ "ends": "ok" }), None).await;
    bench.ask(0, "tasks/result", json!({ "taskId": id, "panic": true })).await;
    bench.assert_open(&id);
    bench.result(0, &id).await;
    assert_eq!(line(&bench.end_of(&id)), COMPLETED);
}
