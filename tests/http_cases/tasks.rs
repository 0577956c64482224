//! Tasks of any server: a failure that passes as a success (C15), and a text that leaks (H5).

use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    kit::{Fake, Got, data, event, fake, json_response, line, post, read, send, sse_response},
    script::Script,
    support::{Event, Logs},
};

const TASK: &str = "t-41";

/// Which form of the protocol the server speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// SEP-2663.
    Extension,
    /// 2025-11-25.
    Core,
}

/// A server whose every call is answered with this task.
#[derive(Clone, Debug)]
struct Ended {
    form: Form,
    status: &'static str,
    message: Option<&'static str>,
    /// What it ended in: `{"result": …}` or `{"error": …}`.
    end: Value,
    is_stream: bool,
}

impl Ended {
    fn answer(&self, method: &str) -> Value {
        let task = |status: &str| {
            let mut task = json!({ "taskId": TASK, "status": status });
            task["createdAt"] = json!("2026-11-30T10:00:00Z");
            task["lastUpdatedAt"] = json!("2026-11-30T10:00:00Z");
            task[if self.form == Form::Core { "ttl" } else { "ttlMs" }] = json!(60_000);
            task
        };
        let with = |mut task: Value, more: Value| {
            task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            task
        };
        let mut now = task(self.status);
        if let Some(message) = self.message {
            now["statusMessage"] = json!(message);
        }
        let result = match (method, self.form) {
            ("tools/call", Form::Core) => json!({ "task": task("working") }),
            ("tools/call", _) => with(task("working"), json!({ "resultType": "task" })),
            ("tasks/get", Form::Core) => now,
            ("tasks/get", _) => {
                with(with(now, self.end.clone()), json!({ "resultType": "complete" }))
            }
            _ => return self.end.clone(),
        };
        json!({ "result": result })
    }

    fn server(self) -> Fake {
        fake(move |request| {
            let this = self.clone();
            async move {
                let body = read(http::Response::new(request.into_body())).await;
                let asked = body.messages().remove(0);
                let mut answer = this.answer(asked["method"].as_str().unwrap());
                answer["id"] = asked["id"].clone();
                answer["jsonrpc"] = json!("2.0");
                Ok(match this.is_stream {
                    true => sse_response(Script::of([data(event(&answer.to_string()))])),
                    false => json_response(answer.to_string()),
                })
            }
        })
    }

    /// Creates the task, and asks for its end three times; what was told, and the events of the
    /// call that created it.
    async fn told(self) -> (Vec<Got>, Vec<Event>) {
        let form = self.form;
        let (logs, _guard) = Logs::capture();
        let service = OutcomeLayer::new().route(format!("{self:?}")).layer(self.server());
        let mut params = json!({ "name": "run", "arguments": {} });
        if form == Form::Core {
            params["task"] = json!({ "ttl": 60_000 });
        }
        send(service.clone(), message(1, "tools/call", &params)).await;
        let call_id = logs.terminal(&json!(1))[0].field("call_id").unwrap().to_owned();
        let mut told = Vec::new();
        for id in [11, 21, 31] {
            let asked = json!({ "taskId": TASK });
            told.push(send(service.clone(), message(id, "tasks/get", &asked)).await);
            if form == Form::Core {
                told.push(send(service.clone(), message(id + 1, "tasks/result", &asked)).await);
            }
        }
        let mut events = logs.of_target("tower_outcome");
        events.retain(|event| {
            event.field("call_id") == Some(&call_id) && !event.message.ends_with("_started")
        });
        for event in &events {
            assert_eq!(event.field("tool"), Some("run"), "{event:?}");
            assert_eq!(event.field("task_id"), Some(TASK), "{event:?}");
        }
        (told, events)
    }
}

fn message(
    id: u32,
    method: &str,
    params: &Value,
) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    post(message.to_string())
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(line).collect()
}

const DEFERRED: &str = "INFO tool_call_deferred deferred -";

#[tokio::test]
async fn c15_an_error_in_a_completed_task_is_a_failure_and_an_abort_is_none() {
    let content = json!([{ "type": "text", "text": "the run has failed" }]);
    let failed = json!({ "result": { "content": content, "isError": true } });
    for form in [Form::Extension, Form::Core] {
        for is_stream in [false, true] {
            let ended = |status, end: &Value| {
                Ended { form, status, message: None, end: end.clone(), is_stream }.told()
            };
            let (told, events) = ended("completed", &failed).await;
            let expected = [DEFERRED, "ERROR tool_call_failed undeclared undeclared_error"];
            assert_eq!(lines(&events), expected, "{form:?}, {is_stream}");
            assert_eq!(events[1].field("error"), Some("the run has failed"), "{events:?}");
            // Its author's words go out as they are.
            let text = told.last().unwrap().text();
            assert!(text.contains("the run has failed"), "{text}");
            let gone = json!({ "error": { "code": -32602, "message": "the run was aborted" } });
            let end = if form == Form::Core { gone } else { json!({}) };
            let (_, events) = ended("cancelled", &end).await;
            let expected = [DEFERRED, "INFO tool_call_cancelled cancelled -"];
            assert_eq!(lines(&events), expected, "{form:?}, {is_stream}");
            assert_eq!(events[1].field("reason"), None, "nobody asked for it: {events:?}");
        }
    }
}

#[tokio::test]
async fn h5_a_background_failure_is_a_fixed_text_wherever_it_is_told() {
    const TEXT: &str = "cannot open /srv/tasks.db";
    let data = json!({ "trace": "/srv/store.py line 7" });
    let failed = json!({ "error": { "code": -32603, "message": TEXT, "data": data } });
    for form in [Form::Extension, Form::Core] {
        for is_stream in [false, true] {
            let message = (form == Form::Extension).then_some(TEXT);
            let status = "failed";
            let ended = Ended { form, status, message, end: failed.clone(), is_stream };
            let (told, events) = ended.told().await;
            let expected = [DEFERRED, "ERROR tool_call_failed fault internal_error"];
            assert_eq!(lines(&events), expected, "{form:?}, {is_stream}");
            assert!(events[1].field("cause").unwrap().contains("/srv/tasks.db"), "{events:?}");
            let reference = events[1].field("call_id").unwrap();
            for got in &told {
                assert!(!got.text().contains("/srv"), "{form:?}, {is_stream}: {got:?}");
                crate::kit::assert_length(got);
                let message = got.message();
                let error = match form {
                    Form::Extension => &message["result"]["error"],
                    Form::Core => &message["error"],
                };
                if error.is_null() {
                    // 2025-11-25's `tasks/get` has but a status.
                    assert_eq!(message["result"]["status"], "failed", "{got:?}");
                    continue;
                }
                assert_eq!(error["code"], -32603, "{got:?}");
                assert!(error["message"].as_str().unwrap().contains(reference), "{got:?}");
                let record = &error["data"]["tower-outcome/failure"];
                assert_eq!(record["reference"], reference, "{got:?}");
                if form == Form::Extension {
                    let said = message["result"]["statusMessage"].as_str().unwrap();
                    assert!(said.contains(reference), "{got:?}");
                    assert_eq!(message["result"]["createdAt"], "2026-11-30T10:00:00Z", "{got:?}");
                }
            }
        }
    }
}
