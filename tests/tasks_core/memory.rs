//! Which task an answer is about: ids that are used again, other people's tasks, other servers.

use serde_json::json;
use tower::Layer as _;
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    bench::{ANSWERED, Bench, COMPLETED, DEFERRED, Stack, UNDECLARED, Way, http_service},
    binding::Leaf,
    kit::{line, lines},
    server::{Server, fresh_id},
};

const INVALID: &str = "INFO tool_call_failed protocol_error invalid_params";
const REFUSED: &str = "INFO request_failed protocol_error invalid_params";

/// To somebody who must not see it a task does not exist; that is not what it has ended in.
#[tokio::test]
async fn a_task_that_is_denied_to_a_session_goes_on() {
    for way in Way::ALL {
        for (ends, expected) in [("ok", COMPLETED), ("is_error", UNDECLARED)] {
            let bench = Bench::new(way);
            bench.server.keep_private();
            let id = bench.create(json!({ "ends": ends, "ms": 20 }), None).await;
            for answer in [bench.result(1, &id).await, bench.get(1, &id).await] {
                assert_eq!(answer["error"]["code"], -32602, "{way:?}: {answer}");
            }
            bench.assert_open(&id);
            let refusals = lines(&bench.logs).into_iter().filter(|line| line == REFUSED).count();
            assert_eq!(refusals, 2, "{way:?}, {ends}: {:?}", lines(&bench.logs));
            bench.result(0, &id).await;
            assert_eq!(line(&bench.end_of(&id)), expected, "{way:?}, {ends}");
        }
    }
}

/// The same code is what a tool may end in, and is taken for that once the task is known to have
/// failed.
#[tokio::test]
async fn a_task_that_is_known_to_have_failed_may_end_in_the_code_of_no_such_task() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "invalid" }), None).await;
        bench.server.ended(&id).await;
        let answer = bench.result(0, &id).await;
        assert_eq!(answer["error"]["message"], "path must be relative", "{way:?}: {answer}");
        bench.assert_open(&id);
        bench.get(1, &id).await;
        bench.assert_open(&id);
        let again = bench.result(1, &id).await;
        assert_eq!(again["error"], answer["error"], "{way:?}");
        let end = bench.end_of(&id);
        assert_eq!(line(&end), INVALID, "{way:?}");
        assert_eq!(end.field("error"), Some("path must be relative"), "{way:?}: {end:?}");
        bench.result(0, &id).await;
        bench.end_of(&id);
        // The first one was refused, for all that was known; the others have the task's end.
        let mut said = lines(&bench.logs);
        said.sort_unstable();
        assert_eq!(said, [ANSWERED, ANSWERED, ANSWERED, REFUSED, DEFERRED, INVALID], "{way:?}");
    }
}

/// A server may give an id again once it has forgotten what had it.
#[tokio::test]
async fn a_task_id_that_is_used_again_is_another_task() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = fresh_id();
        bench.create(json!({ "ends": "ok", "id": id }), None).await;
        bench.result(0, &id).await;
        bench.result(1, &id).await;
        bench.server.forget(&id);
        bench.create(json!({ "ends": "is_error", "id": id }), None).await;
        bench.result(1, &id).await;
        bench.result(0, &id).await;
        let told = bench.told_lines(&id);
        assert_eq!(told, [DEFERRED, COMPLETED, DEFERRED, UNDECLARED], "{way:?}");
        let told = bench.told(&id);
        let ids: Vec<_> = told.iter().map(|event| event.field("call_id").unwrap()).collect();
        assert_eq!((ids[0], ids[2]), (ids[1], ids[3]), "{way:?}: {ids:?}");
        assert_ne!(ids[0], ids[2], "{way:?}");
    }
}

/// Of the first one nobody will hear any more: it must not get the end of the second, nor none.
#[tokio::test]
async fn a_task_whose_id_is_taken_from_it_is_forgotten() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = fresh_id();
        bench.create(json!({ "ends": "never", "id": id }), None).await;
        bench.create(json!({ "ends": "is_error", "id": id }), None).await;
        bench.result(1, &id).await;
        let told = bench.told(&id);
        let of = |at: &str| -> Vec<String> {
            told.iter().filter(|it| it.field("call_id") == Some(at)).map(line).collect()
        };
        let first = told[0].field("call_id").unwrap();
        let forgotten = "INFO tool_call_abandoned abandoned -";
        assert_eq!(of(first), [DEFERRED, forgotten], "{way:?}: {told:#?}");
        let mut reasons = told.iter().filter_map(|event| event.field("reason"));
        assert_eq!(reasons.next(), Some("forgotten"), "{way:?}: {told:#?}");
        let second = told.iter().filter_map(|it| it.field("call_id")).find(|at| *at != first);
        assert_eq!(of(second.unwrap()), [DEFERRED, UNDECLARED], "{way:?}: {told:#?}");
    }
}

/// Two servers in one process may give the same ids: the route tells them apart.
#[tokio::test]
async fn the_same_id_on_two_routes_is_two_tasks() {
    for way in Way::ALL {
        let (one, other) = (Server::default(), Server::default());
        let layers = |route: &str| OutcomeLayer::new().route(route);
        let second = Stack::of(way, &layers("/other"), &other);
        let bench = Bench::of(way, one.clone(), Stack::of(way, &layers("/one"), &one));
        check_two_routes(way, &bench, &second).await;
    }
}

/// Where the route is a layer's that only logs.
#[tokio::test]
async fn the_same_id_on_two_routes_of_layers_of_their_own_is_two_tasks() {
    macro_rules! stack {
        ($route:literal, $inner:expr) => {
            LogLayer::new()
                .route($route)
                .layer(ClassifyLayer::new().layer(ContainLayer::new().layer($inner)))
        };
    }
    let (one, other) = (Server::default(), Server::default());
    let second = Stack::typed(stack!("/other", Leaf(other)));
    let first = Stack::typed(stack!("/one", Leaf(one.clone())));
    check_two_routes(Way::Typed, &Bench::of(Way::Typed, one, first), &second).await;

    let (one, other) = (Server::default(), Server::default());
    let http = |server: &Server| http_service(Way::Sse, &OutcomeLayer::new(), server);
    let second = Stack::http(stack!("/other", http(&other)));
    let first = Stack::http(stack!("/one", http(&one)));
    check_two_routes(Way::Sse, &Bench::of(Way::Sse, one, first), &second).await;
}

async fn check_two_routes(way: Way, bench: &Bench, second: &Stack) {
    let id = fresh_id();
    bench.create(json!({ "ends": "ok", "id": id }), None).await;
    bench.create_of(second, "other", json!({ "ends": "is_error", "id": id }), None).await;
    let asked = json!({ "taskId": id });
    bench.ask_of(second, 1, "tasks/result", asked.clone()).await;
    let ends = || -> Vec<String> {
        let told = bench.told(&id).into_iter().filter(|it| line(it) != DEFERRED);
        let field =
            |event: &crate::support::Event, name| event.field(name).unwrap_or("-").to_owned();
        told.map(|it| format!("{} {} {}", field(&it, "route"), field(&it, "tool"), line(&it)))
            .collect()
    };
    let failed = format!("/other other {UNDECLARED}");
    assert_eq!(ends(), std::slice::from_ref(&failed), "{way:?}");
    bench.result(0, &id).await;
    bench.ask_of(second, 0, "tasks/result", asked).await;
    assert_eq!(ends(), [failed, format!("/one task {COMPLETED}")], "{way:?}");
}

/// rmcp makes the layers anew for each session, and a router for each route: it is one memory.
#[tokio::test]
async fn a_task_is_found_by_other_layers_of_the_same_route() {
    for way in Way::ALL {
        let server = Server::default();
        let stack = || Stack::of(way, &OutcomeLayer::new().route("/mcp"), &server);
        let bench = Bench::of(way, server.clone(), stack());
        let id = bench.create(json!({ "ends": "is_error", "ms": 10 }), None).await;
        for session in [1, 0] {
            let asked = json!({ "taskId": id });
            bench.ask_of(&stack(), session, "tasks/result", asked).await;
        }
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

/// Two stacks of layers, one in the other, are one memory of one call.
#[tokio::test]
async fn layers_that_stand_twice_tell_once() {
    for way in [Way::Typed, Way::Json, Way::Sse] {
        for (ends, expected) in [("ok", COMPLETED), ("is_error", UNDECLARED)] {
            let server = Server::default();
            let layers = OutcomeLayer::new();
            let stack = match way {
                Way::Typed => Stack::typed(layers.layer(layers.layer(Leaf(server.clone())))),
                _ => Stack::http(layers.layer(layers.layer(http_service(way, &layers, &server)))),
            };
            let bench = Bench::of(way, server, stack);
            let id = bench.create(json!({ "ends": ends }), None).await;
            bench.get(1, &id).await;
            bench.result(0, &id).await;
            bench.result(1, &id).await;
            assert_eq!(line(&bench.end_of(&id)), expected, "{way:?}, {ends}");
        }
    }
}
