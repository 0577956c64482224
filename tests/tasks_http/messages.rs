//! The message that goes with a status: its author's text, until it is known that what it tells of is
//! not for the client.

use serde_json::json;
use tower::Layer as _;
use tower_outcome::OutcomeLayer;

use crate::{
    bench::{
        Carrier, FAULT, Form, SECRET, UNDECLARED, ask_for, end_of, fresh_id, listen, result,
        server, state,
    },
    kit::{call, error, line, send},
    support::Logs,
};

#[tokio::test]
async fn a_message_is_withheld_once_the_end_was() {
    for carrier in Carrier::SSE {
        let (logs, _capture) = Logs::capture();
        let id = fresh_id();
        let task = id.clone();
        let service = OutcomeLayer::new().layer(server(move |method, message| {
            let flat = state(&task, "failed", json!({ "statusMessage": SECRET, "ttl": 60_000 }));
            carrier.carry(&match method {
                "GET" => Form::Core.notification(&flat),
                "tools/call" => Form::Core.created(message, &task),
                "tasks/result" => Form::Core.failed(message, &task),
                _ => result(&message["id"], &flat),
            })
        }));
        send(service.clone(), call()).await;
        for request in [ask_for(8, "tasks/get", &id), listen()] {
            let got = send(service.clone(), request).await;
            assert!(got.text().contains(SECRET), "{carrier:?}: its author's: {}", got.text());
        }
        let got = send(service.clone(), ask_for(9, "tasks/result", &id)).await;
        assert!(!got.text().contains(SECRET), "{carrier:?}: {}", got.text());
        let end = end_of(&logs, &id);
        assert_eq!(line(&end), FAULT, "{carrier:?}");
        let reference = end.field("call_id").unwrap();
        for request in [ask_for(10, "tasks/get", &id), listen(), ask_for(11, "tasks/get", &id)] {
            let got = send(service.clone(), request).await;
            let text = got.text();
            assert!(!text.contains(SECRET), "{carrier:?}: {text}");
            assert!(text.contains(reference), "{carrier:?}: {text}");
            let message = &got.messages()[0];
            let task = message.get("result").unwrap_or(&message["params"]);
            // All else is as it was.
            let expected = state(&id, "failed", json!({ "ttl": 60_000 }));
            let mut task = task.clone();
            task.as_object_mut().unwrap().remove("statusMessage");
            assert_eq!(task, expected, "{carrier:?}: {text}");
        }
        end_of(&logs, &id);
    }
}

/// An end that was told as it came hides nothing.
#[tokio::test]
async fn a_message_stays_where_the_end_was_the_clients_to_read() {
    for carrier in Carrier::ALL {
        let (logs, _capture) = Logs::capture();
        let id = fresh_id();
        let task = id.clone();
        let service = OutcomeLayer::new().layer(server(move |method, message| {
            let flat = state(&task, "failed", json!({ "statusMessage": "quota of 5 exceeded" }));
            carrier.carry(&match method {
                "tools/call" => Form::Core.created(message, &task),
                "tasks/result" => error(&message["id"], -31000, "quota of 5 exceeded"),
                _ => result(&message["id"], &flat),
            })
        }));
        send(service.clone(), call()).await;
        for (request, method) in [(8, "tasks/get"), (9, "tasks/result"), (10, "tasks/get")] {
            let got = send(service.clone(), ask_for(request, method, &id)).await;
            assert!(got.text().contains("quota of 5 exceeded"), "{carrier:?}: {}", got.text());
        }
        let end = line(&end_of(&logs, &id));
        assert_eq!(end, UNDECLARED, "{carrier:?}");
    }
}
