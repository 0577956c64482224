//! Tasks that these layers have not seen begin: the server, or the proxy in front of it, was
//! started again.

use serde_json::json;

use crate::{
    bench::{Bench, Way},
    kit::{line, lines},
    server::fresh_id,
    work::SECRET,
};

/// Has a task created beside the layers.
async fn begin_unseen(bench: &Bench, ends: &str) -> String {
    let id = fresh_id();
    let arguments = json!({ "ends": ends, "id": id });
    let params = json!({ "name": "task", "arguments": arguments, "task": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    bench.server.handle("elsewhere", &call).await;
    id
}

#[tokio::test]
async fn the_failure_of_an_unknown_task_is_told_once() {
    for way in Way::ALL {
        for (ends, expected) in [
            ("is_error", "ERROR tool_failed undeclared undeclared_error"),
            ("error", "ERROR tool_failed undeclared undeclared_error"),
            ("soft", "ERROR tool_failed soft_error soft_error"),
            ("leak", "ERROR tool_failed fault internal_error"),
            ("rejected", "INFO tool_failed rejected unknown_note"),
        ] {
            let bench = Bench::new(way);
            let id = begin_unseen(&bench, ends).await;
            bench.server.ended(&id).await;
            for session in [0, 1] {
                bench.get(session, &id).await;
                bench.result(session, &id).await;
            }
            let told = bench.told(&id);
            let [failed] = &*told else { panic!("{way:?}, {ends}: {told:#?}") };
            assert_eq!(line(failed), expected, "{way:?}, {ends}: {failed:?}");
            // What it was that began it nobody knows.
            assert_eq!(failed.field("tool"), None, "{way:?}, {ends}: {failed:?}");
            let alarms = lines(&bench.logs).into_iter().filter(|line| !line.starts_with("DEBUG"));
            assert_eq!(alarms.count(), 1, "{way:?}, {ends}: {:?}", lines(&bench.logs));
        }
    }
}

#[tokio::test]
async fn the_success_of_an_unknown_task_is_nothing() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = begin_unseen(&bench, "ok").await;
        bench.server.ended(&id).await;
        for session in [0, 1] {
            bench.get(session, &id).await;
            bench.result(session, &id).await;
        }
        let other = begin_unseen(&bench, "never").await;
        bench.get(0, &other).await;
        bench.server.stop(&other);
        bench.get(1, &other).await;
        let said = lines(&bench.logs);
        assert!(said.iter().all(|line| line.starts_with("DEBUG request_completed")), "{said:?}");
        assert_eq!(said.len(), 6, "{way:?}: {said:?}");
    }
}

/// What is not for the client stays so, under a reference that does not change.
#[tokio::test]
async fn what_an_unknown_task_leaks_is_replaced_at_every_poll() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = begin_unseen(&bench, "leak").await;
        let first = bench.result(0, &id).await;
        let second = bench.result(1, &id).await;
        assert_eq!(first["error"], second["error"], "{way:?}");
        assert!(!bench.received().contains(SECRET), "{way:?}: {first}");
        let told = bench.told(&id);
        let [failed] = &*told else { panic!("{way:?}: {told:#?}") };
        assert!(failed.field("cause").unwrap().contains(SECRET), "{way:?}: {failed:?}");
        let reference = failed.field("reference").unwrap();
        assert!(first.to_string().contains(reference), "{way:?}: {failed:?}, {first}");
    }
}

/// The id of a task that ended before anybody knew it begins another one.
#[tokio::test]
async fn an_unknown_tasks_id_can_be_that_of_a_new_one() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = begin_unseen(&bench, "error").await;
        bench.result(0, &id).await;
        assert_eq!(bench.told(&id).len(), 1, "{way:?}");
        bench.server.forget(&id);
        bench.create(json!({ "ends": "soft", "id": id }), None).await;
        bench.result(1, &id).await;
        assert_eq!(
            bench.told_lines(&id),
            [
                "ERROR tool_failed undeclared undeclared_error",
                "INFO tool_call_deferred deferred -",
                "ERROR tool_call_failed soft_error soft_error",
            ],
            "{way:?}"
        );
    }
}
