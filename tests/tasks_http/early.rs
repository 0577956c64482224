//! Ends that are there before anybody knows of the task: what a server sends by itself may overtake
//! the answer to the call.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures::FutureExt as _;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, OutcomeService, Policy};

use crate::{
    bench::{
        COMPLETED, Carrier, DEFERRED, FAULT, Form, SECRET, SOFT, UNDECLARED, ask, ask_for, end_of,
        failed, fresh_id, listen, result, server, soft, state, told, told_lines,
    },
    kit::{Fake, call, fake, guarded, line, send, until},
    support::Logs,
};

/// What a task ends in, and the line for that.
fn ends(id: &str) -> [(Value, &'static str); 6] {
    let content = json!([{ "type": "text", "text": "no such table" }]);
    let is_error = json!({ "content": content, "isError": true });
    let own = json!({ "code": -31000, "message": "quota of 5 exceeded" });
    [
        (failed(id), FAULT),
        (state(id, "failed", json!({ "error": own })), UNDECLARED),
        (state(id, "completed", json!({ "result": is_error })), UNDECLARED),
        (state(id, "completed", json!({ "result": soft() })), SOFT),
        (state(id, "completed", json!({ "result": { "content": [] } })), COMPLETED),
        (state(id, "cancelled", json!({})), "INFO tool_call_cancelled cancelled -"),
    ]
}

/// A server whose answer to a call waits until it is told to.
struct Slow {
    service: OutcomeService<Fake>,
    is_called: Arc<AtomicBool>,
    goes_on: Arc<Notify>,
}

impl Slow {
    fn new(form: Form, id: &str, end: &Value, carrier: Carrier) -> Self {
        let (is_called, goes_on) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let (called, wait) = (Arc::clone(&is_called), Arc::clone(&goes_on));
        let (id, end) = (id.to_owned(), end.clone());
        let service = OutcomeLayer::new().layer(fake(move |request| {
            let (called, wait, id, end) =
                (Arc::clone(&called), Arc::clone(&wait), id.clone(), end.clone());
            async move {
                let (parts, body) = request.into_parts();
                if parts.method == http::Method::GET {
                    return Ok(Carrier::SSE[0].carry(&form.notification(&end)));
                }
                let message: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
                Ok(carrier.carry(&match message["method"].as_str().unwrap() {
                    "tools/call" => {
                        called.store(true, Ordering::Relaxed);
                        wait.notified().await;
                        form.created(&message, &id)
                    }
                    "tasks/result" => form.failed(&message, &id),
                    _ => result(&message["id"], &end),
                }))
            }
        }));
        Self { service, is_called, goes_on }
    }
}

/// The end is told on a stream while the call is not answered yet, and polled twice thereafter.
#[tokio::test]
async fn an_end_that_overtakes_the_creation_is_told_once() {
    for carrier in Carrier::ALL {
        for at in 0..ends("").len() {
            let id = fresh_id();
            let (end, expected) = ends(&id)[at].clone();
            let (logs, _capture) = Logs::capture();
            let slow = Slow::new(Form::Extension, &id, &end, carrier);
            let creating = tokio::spawn(send(slow.service.clone(), call()));
            until("it is called", || slow.is_called.load(Ordering::Relaxed)).await;
            let notice = send(slow.service.clone(), listen()).await;
            slow.goes_on.notify_one();
            guarded(creating).await.unwrap();
            let what = format!("{carrier:?}, {expected}");
            check_once(&logs, &id, expected, &what);
            let mut polls = Vec::new();
            for request in [8, 9] {
                let got = send(slow.service.clone(), ask_for(request, "tasks/get", &id)).await;
                polls.push(got.message()["result"].clone());
            }
            assert_eq!(polls[0], polls[1], "{what}");
            assert!(!notice.text().contains(SECRET), "{what}: {}", notice.text());
            assert!(!polls[0].to_string().contains(SECRET), "{what}: {}", polls[0]);
            check_once(&logs, &id, expected, &what);
        }
    }
}

/// One terminal event beside that of the creation, of the same call. A failure may have had a line
/// before anybody knew of the call.
fn check_once(logs: &Logs, id: &str, expected: &str, what: &str) {
    let mut told = told(logs, id);
    let all: Vec<_> = told.iter().map(line).collect();
    let lost = told.iter().filter(|it| it.message == "tool_failed").count();
    assert!(lost <= usize::from(expected.contains("_failed")), "{what}: {all:?}");
    told.retain(|it| it.message != "tool_failed");
    let lines: Vec<_> = told.iter().map(line).collect();
    assert_eq!(lines, [DEFERRED, expected], "{what}: {all:?}");
    assert_eq!(told[0].field("call_id"), told[1].field("call_id"), "{what}: {told:?}");
    assert_eq!(told[1].field("tool"), Some("ok"), "{what}: {told:?}");
}

/// A status alone is none, and is told of a task that nobody knows: the result is.
#[tokio::test]
async fn a_status_that_overtakes_the_creation_is_no_end() {
    let id = fresh_id();
    let (logs, _capture) = Logs::capture();
    let end = state(&id, "failed", json!({ "statusMessage": "It did not work." }));
    let slow = Slow::new(Form::Core, &id, &end, Carrier::ALL[0]);
    let creating = tokio::spawn(send(slow.service.clone(), call()));
    until("it is called", || slow.is_called.load(Ordering::Relaxed)).await;
    send(slow.service.clone(), listen()).await;
    slow.goes_on.notify_one();
    guarded(creating).await.unwrap();
    assert_eq!(told_lines(&logs, &id), [DEFERRED]);
    for request in [8, 9] {
        send(slow.service.clone(), ask_for(request, "tasks/result", &id)).await;
    }
    assert_eq!(line(&end_of(&logs, &id)), FAULT);
}

/// A task that is told of before its call even begins is another one, which had the same id.
#[tokio::test]
async fn an_end_from_before_the_call_is_not_that_of_its_task() {
    for at in 0..ends("").len() {
        let id = fresh_id();
        let (earlier, _) = ends(&id)[at].clone();
        let (logs, _capture) = Logs::capture();
        let task = id.clone();
        let service = OutcomeLayer::new().layer(server(move |method, message| {
            Carrier::ALL[3].carry(&match method {
                "GET" => Form::Extension.notification(&earlier),
                "tools/call" => Form::Extension.created(message, &task),
                _ => {
                    result(&message["id"], &state(&task, "completed", json!({ "result": soft() })))
                }
            })
        }));
        send(service.clone(), listen()).await;
        send(service.clone(), call()).await;
        let last = told_lines(&logs, &id).pop();
        assert_eq!(last.as_deref(), Some(DEFERRED), "{at}");
        send(service, ask_for(9, "tasks/get", &id)).await;
        let ends = told_lines(&logs, &id);
        let ends: Vec<_> = ends.iter().filter(|it| !it.contains("tool_failed")).collect();
        assert_eq!(ends, [DEFERRED, SOFT], "{at}");
    }
}

/// Has a task created in the very moment in which an end of it is being judged: by the classifier that
/// is asked about it.
struct Racing {
    service: Arc<OnceLock<OutcomeService<Fake>>>,
    is_soft: bool,
}

impl Racing {
    fn new(form: Form, id: &str, is_soft: bool) -> Self {
        let service = Arc::new(OnceLock::<OutcomeService<Fake>>::new());
        let (own, asked) = (Arc::clone(&service), AtomicUsize::new(0));
        let policy = Policy::new().soft_errors(move |_: &str, _: &Value| -> Option<String> {
            if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                let created = ask(2, "tools/call", &json!({ "name": "ok", "arguments": {} }));
                let creating = send(own.get().unwrap().clone(), created);
                creating.now_or_never().expect("it is created at once");
            }
            is_soft.then(|| "disk full".to_owned())
        });
        let id = id.to_owned();
        let ended = json!({ "content": [], "structuredContent": { "done": false } });
        let layered = OutcomeLayer::new().policy(policy).layer(server(move |method, message| {
            let flat = state(&id, "completed", json!({ "result": ended }));
            match method {
                "GET" => Carrier::SSE[0].carry(&form.notification(&flat)),
                "tools/call" => Carrier::ALL[0].carry(&form.created(message, &id)),
                "tasks/result" => Carrier::ALL[0].carry(&result(&message["id"], &ended)),
                _ => Carrier::ALL[0].carry(&result(&message["id"], &flat)),
            }
        }));
        assert!(service.set(layered).is_ok());
        Self { service, is_soft }
    }

    fn service(&self) -> OutcomeService<Fake> {
        self.service.get().unwrap().clone()
    }

    fn expected(&self) -> &'static str {
        if self.is_soft { SOFT } else { COMPLETED }
    }
}

#[tokio::test]
async fn an_end_that_is_judged_while_the_task_is_created_is_told_once() {
    for form in Form::ALL {
        for is_soft in [false, true] {
            for is_notice in [false, true] {
                // Of the other form a notification has no result that could be judged.
                if is_notice && form == Form::Core {
                    continue;
                }
                let id = fresh_id();
                let what = format!("{form:?}, {is_soft}, {is_notice}");
                let (logs, _capture) = Logs::capture();
                let racing = Racing::new(form, &id, is_soft);
                let first = if is_notice { listen() } else { ask_for(8, form.question(), &id) };
                send(racing.service(), first).await;
                check_once(&logs, &id, racing.expected(), &what);
                send(racing.service(), ask_for(9, form.question(), &id)).await;
                check_once(&logs, &id, racing.expected(), &what);
            }
        }
    }
}

/// The end of the first of two tasks with one id is not that of the second.
#[tokio::test]
async fn an_end_that_is_judged_while_another_task_takes_the_id_is_not_that_ones() {
    for form in Form::ALL {
        for is_soft in [false, true] {
            let id = fresh_id();
            let (logs, _capture) = Logs::capture();
            let racing = Racing::new(form, &id, is_soft);
            send(racing.service(), call()).await;
            send(racing.service(), ask_for(8, form.question(), &id)).await;
            let [first, second, forgotten] = &*told(&logs, &id) else {
                panic!("{form:?}, {is_soft}: {:?}", told_lines(&logs, &id))
            };
            assert_eq!([line(first), line(second)], [DEFERRED; 2]);
            assert_eq!(line(forgotten), "INFO tool_call_abandoned abandoned -");
            assert_eq!(forgotten.field("call_id"), first.field("call_id"));
            send(racing.service(), ask_for(9, form.question(), &id)).await;
            let told = told(&logs, &id);
            assert_eq!(line(&told[3]), racing.expected(), "{form:?}, {is_soft}");
            assert_eq!(told[3].field("call_id"), second.field("call_id"));
            assert_eq!(told.len(), 4, "{told:#?}");
        }
    }
}
