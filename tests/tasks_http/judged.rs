//! What of a task's result a classifier looks at, wherever the result comes by: as much of it as of the
//! result of a call.

use serde_json::{Value, json};
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, Policy, SoftErrors};

use crate::{
    bench::{
        COMPLETED, Carrier, DEFERRED, Form, SOFT, ask, ask_for, end_of, fresh_id, listen, result,
        server, state, told_lines,
    },
    kit::{event, line, send, success},
    support::Logs,
};

/// A policy, and what by it becomes of a result in which the default classifier finds a failure, and
/// of one with a verdict.
struct Rules {
    what: &'static str,
    policy: fn() -> Policy,
    of_soft: &'static str,
    of_verdict: &'static str,
}

fn verdicts() -> SoftErrors {
    SoftErrors::new().status_keys(["verdict"]).statuses(["KO"])
}

fn of_own(_: &str, payload: &Value) -> Option<String> {
    (payload["verdict"] == "KO").then(|| "a verdict".to_owned())
}

fn rules() -> Vec<Rules> {
    let rules = |what, policy, of_soft, of_verdict| Rules { what, policy, of_soft, of_verdict };
    vec![
        rules("by default", Policy::new, SOFT, COMPLETED),
        rules("members of one's own", || Policy::new().soft_errors(verdicts()), SOFT, SOFT),
        rules("of this tool", || Policy::new().soft_errors_of("ok", verdicts()), SOFT, SOFT),
        rules("a function", || Policy::new().soft_errors(of_own), COMPLETED, SOFT),
        rules("of this tool", || Policy::new().soft_errors_of("ok", of_own), COMPLETED, SOFT),
        rules("of another", || Policy::new().soft_errors_of("other", of_own), SOFT, COMPLETED),
        // A build that has failed is what such a tool is asked for.
        rules("off here", || Policy::new().no_soft_errors_of("ok"), COMPLETED, COMPLETED),
        rules(
            "off but here",
            || Policy::new().no_soft_errors().soft_errors_of("ok", verdicts()),
            SOFT,
            SOFT,
        ),
    ]
}

/// Both payloads, and what becomes of them.
fn payloads(rules: &Rules) -> [(Value, &'static str); 2] {
    [
        (json!({ "status": "failed", "error": "disk full" }), rules.of_soft),
        (json!({ "verdict": "KO", "at": "x".repeat(500) }), rules.of_verdict),
    ]
}

/// Where the result comes by first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The answer to whoever asks for it.
    Answer,
    /// A stream of what the server sends by itself.
    Stream,
    /// The same in 2026-07-28.
    Subscription,
    /// The stream of another tool's call.
    AnotherCall,
}

async fn check(form: Form, carrier: Carrier, place: Place, rules: &Rules) {
    for (payload, expected) in payloads(rules) {
        let what = format!("{form:?}, {carrier:?}, {place:?}, {}, {payload}", rules.what);
        let (logs, _capture) = Logs::capture();
        let id = fresh_id();
        let content = json!([{ "type": "text", "text": "done" }]);
        let ended = json!({ "content": content, "structuredContent": payload });
        let known = id.clone();
        let service = OutcomeLayer::new().policy((rules.policy)());
        let service = service.layer(server(move |method, message| {
            let flat = state(&known, "completed", json!({ "result": ended }));
            let notice = event(&form.notification(&flat));
            let answered = |text: &str| carrier.respond(format!("{notice}{}", event(text)));
            match method {
                "tools/call" if message["id"] == 1 => carrier.carry(&form.created(message, &known)),
                "GET" => carrier.respond(notice),
                "subscriptions/listen" => answered(&result(&message["id"], &json!({}))),
                "tools/call" => answered(&success(&message["id"])),
                "tasks/result" => {
                    let mut ended = ended.clone();
                    ended["_meta"]["io.modelcontextprotocol/related-task"] =
                        json!({ "taskId": known });
                    carrier.carry(&result(&message["id"], &ended))
                }
                _ => carrier.carry(&result(&message["id"], &flat)),
            }
        }));
        let call = |id, tool| ask(id, "tools/call", &json!({ "name": tool, "arguments": {} }));
        send(service.clone(), call(1, "ok")).await;
        assert_eq!(told_lines(&logs, &id), [DEFERRED], "{what}");
        match place {
            Place::Answer => {}
            Place::Stream => drop(send(service.clone(), listen()).await),
            Place::Subscription => {
                send(service.clone(), ask(2, "subscriptions/listen", &json!({}))).await;
            }
            Place::AnotherCall => drop(send(service.clone(), call(2, "other")).await),
        }
        // On a stream of a call as much is looked at as that call's tool asks for, and so the end may
        // have to wait for whoever asks.
        if matches!(place, Place::Stream | Place::Subscription) {
            assert_eq!(told_lines(&logs, &id), [DEFERRED, expected], "{what}");
        }
        for request in [8, 9] {
            send(service.clone(), ask_for(request, form.question(), &id)).await;
        }
        let end = end_of(&logs, &id);
        assert_eq!(line(&end), expected, "{what}: {end:?}");
        assert_eq!(end.fields.get("result_scanned"), None, "{what}: {end:?}");
    }
}

#[tokio::test]
async fn the_answer_to_whoever_asks_is_judged_by_the_tools_own_rules() {
    for form in Form::ALL {
        for carrier in Carrier::ALL {
            for rules in rules() {
                check(form, carrier, Place::Answer, &rules).await;
            }
        }
    }
}

#[tokio::test]
async fn what_is_told_on_a_stream_is_judged_by_the_tools_own_rules() {
    for place in [Place::Stream, Place::Subscription, Place::AnotherCall] {
        for carrier in Carrier::SSE {
            for rules in rules() {
                check(Form::Extension, carrier, place, &rules).await;
            }
        }
    }
}
