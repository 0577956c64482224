//! Answers that are about the question, and not about what the task ended in.

use http::StatusCode;
use serde_json::json;
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    bench::{
        ANSWERED, Carrier, DEFERRED, FAULT, Form, SECRET, ask, ask_for, end_of, fresh_id, server,
        told_lines,
    },
    kit::{call, error, line, lines, send},
    support::Logs,
};

/// Has a task created, and asked for in vain before it is asked for again.
async fn check(form: Form, status: u16, code: i64, expected: &str) {
    // There is no status but 200 for a stream of events.
    let carriers = if status == 200 { &Carrier::ALL[..] } else { &Carrier::ALL[..3] };
    for carrier in carriers {
        let what = format!("{form:?}, {carrier:?}, {status}, {code}");
        let (logs, _capture) = Logs::capture();
        let (id, carrier) = (fresh_id(), *carrier);
        let task = id.clone();
        let service = OutcomeLayer::new().layer(server(move |method, message| match method {
            "tools/call" => carrier.carry(&form.created(message, &task)),
            "tasks/result" if message["params"]["in_vain"] == true => {
                let mut answer = carrier.carry(&error(&message["id"], code, SECRET));
                *answer.status_mut() = StatusCode::from_u16(status).unwrap();
                answer
            }
            _ => carrier.carry(&form.failed(message, &task)),
        }));
        send(service.clone(), call()).await;
        for request in [8, 9] {
            let params = json!({ "taskId": id, "in_vain": true });
            let got = send(service.clone(), ask(request, "tasks/result", &params)).await;
            // What blames the request is for its client to read.
            let is_withheld = expected.contains(" fault ") && got.status == 200;
            assert_eq!(got.text().contains(SECRET), !is_withheld, "{what}: {}", got.text());
            assert_eq!(told_lines(&logs, &id), [DEFERRED], "{what}");
        }
        assert_eq!(lines(&logs), [DEFERRED, expected, expected], "{what}");
        for request in [10, 11] {
            let got = send(service.clone(), ask_for(request, form.question(), &id)).await;
            assert!(!got.text().contains(SECRET), "{what}: {}", got.text());
        }
        assert_eq!(line(&end_of(&logs, &id)), FAULT, "{what}");
        assert_eq!(lines(&logs)[3..], [FAULT, ANSWERED, ANSWERED], "{what}");
    }
}

/// There is no such method, the client may not have it, there is no such task: the next one that
/// asks may be answered.
#[tokio::test]
async fn a_refused_question_is_not_the_end() {
    for (code, expected) in [
        (-32601, "INFO request_failed protocol_error method_not_found"),
        (-32602, "INFO request_failed protocol_error invalid_params"),
        (-32600, "INFO request_failed protocol_error invalid_request"),
        (-32001, "ERROR request_failed fault internal_error"),
        (-32002, "INFO request_failed protocol_error resource_not_found"),
    ] {
        check(Form::Core, 200, code, expected).await;
    }
}

/// The status speaks of the request.
#[tokio::test]
async fn an_error_with_a_status_is_not_the_end() {
    for (status, code, expected) in [
        (503, -32000, "ERROR request_failed fault internal_error"),
        (500, -32603, "ERROR request_failed fault internal_error"),
    ] {
        check(Form::Core, status, code, expected).await;
    }
}

/// In its form there is no such question.
#[tokio::test]
async fn a_result_that_nobody_can_ask_for_is_not_the_end() {
    for (code, expected) in [
        (-32601, "INFO request_failed protocol_error method_not_found"),
        (-32602, "INFO request_failed protocol_error invalid_params"),
        (-32603, "ERROR request_failed fault internal_error"),
        (-31000, "ERROR request_failed undeclared undeclared_error"),
    ] {
        check(Form::Extension, 200, code, expected).await;
    }
}
