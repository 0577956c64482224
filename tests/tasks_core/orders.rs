//! Layers in other orders than the usual one, and not all of them.

use serde_json::json;
use tower::{Layer, ServiceBuilder};
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, Policy, Undeclared};

use crate::{
    bench::{Bench, COMPLETED, FAULT, Stack, UNDECLARED, Way, http_service},
    binding::Leaf,
    kit::{line, lines},
    server::Server,
    work::SECRET,
};

const ROWS: [(&str, &str); 5] = [
    ("ok", COMPLETED),
    ("is_error", UNDECLARED),
    ("error", UNDECLARED),
    ("leak", FAULT),
    ("panic", "ERROR tool_call_failed fault panic"),
];

async fn check(what: &str, way: Way, stack: impl Fn(&Server) -> Stack) {
    for (ends, expected) in ROWS {
        // Where no layer is near the handler, what it was is told by itself.
        let expected = if ends == "panic" && way.is_outside() { FAULT } else { expected };
        let server = Server::default();
        let bench = Bench::of(way, server.clone(), stack(&server));
        let id = bench.create(json!({ "ends": ends, "ms": 5 }), None).await;
        bench.server.ended(&id).await;
        bench.get(0, &id).await;
        let answers = [bench.result(1, &id).await, bench.result(0, &id).await];
        bench.get(1, &id).await;
        let end = bench.end_of(&id);
        assert_eq!(line(&end), expected, "{what}, {ends}: {end:?}");
        assert!(!bench.received().contains(SECRET), "{what}, {ends}: {}", bench.received());
        if ends == "leak" {
            let reference = end.field("call_id").unwrap();
            for answer in &answers {
                assert!(answer.to_string().contains(reference), "{what}: {answer}, {end:?}");
            }
            assert!(end.field("cause").unwrap().contains(SECRET), "{what}: {end:?}");
            assert!(!end.field("error").unwrap_or_default().contains(SECRET), "{what}: {end:?}");
        }
        let said = lines(&bench.logs).into_iter().filter(|line| !line.starts_with("DEBUG"));
        let others = usize::from(ends == "panic" && way.is_outside());
        assert_eq!(said.count(), 2 + others, "{what}, {ends}: {:?}", lines(&bench.logs));
    }
}

macro_rules! orders {
    ($($name:ident: $($layer:expr),+;)+) => { $(
        #[tokio::test]
        async fn $name() {
            let layers = || ServiceBuilder::new()$(.layer($layer))+;
            check(stringify!($name), Way::Typed, |server| {
                Stack::typed(layers().service(Leaf(server.clone())))
            })
            .await;
            for way in [Way::Json, Way::Sse] {
                check(stringify!($name), way, |server| {
                    Stack::http(layers().service(http_service(way, &OutcomeLayer::new(), server)))
                })
                .await;
            }
        }
    )+ };
}

orders! {
    log_contain: LogLayer::new(), ContainLayer::new();
    contain_log: ContainLayer::new(), LogLayer::new();
    log_classify_contain: LogLayer::new(), ClassifyLayer::new(), ContainLayer::new();
    contain_classify_log: ContainLayer::new(), ClassifyLayer::new(), LogLayer::new();
    classify_log_contain: ClassifyLayer::new(), LogLayer::new(), ContainLayer::new();
    log_twice_contain_twice:
        LogLayer::new(), ContainLayer::new(), LogLayer::new(), ContainLayer::new();
    all_twice: OutcomeLayer::new(), OutcomeLayer::new();
}

/// Nothing logs calls: the cause is told where it was found, as it is of a call.
#[tokio::test]
async fn containment_alone_hides_and_tells_the_cause_once() {
    for way in [Way::Typed, Way::Json, Way::Sse] {
        let server = Server::default();
        let layer = ContainLayer::new();
        let stack = match way {
            Way::Typed => Stack::typed(layer.layer(Leaf(server.clone()))),
            _ => Stack::http(layer.layer(http_service(way, &OutcomeLayer::new(), &server))),
        };
        let bench = Bench::of(way, server, stack);
        let id = bench.create(json!({ "ends": "leak" }), None).await;
        let answers = [bench.result(0, &id).await, bench.result(1, &id).await];
        assert_eq!(answers[0]["error"], answers[1]["error"], "{way:?}");
        assert!(!bench.received().contains(SECRET), "{way:?}: {}", bench.received());
        assert_eq!(lines(&bench.logs), ["ERROR tool_failed fault internal_error"], "{way:?}");
        let failed = bench.logs.of_target("tower_outcome").pop().unwrap();
        assert!(failed.field("cause").unwrap().contains(SECRET), "{way:?}: {failed:?}");
        let reference = failed.field("reference").unwrap();
        assert!(answers[0].to_string().contains(reference), "{way:?}: {failed:?}");
    }
}

/// The policy is the one that the call was made under, whichever layer has it.
#[tokio::test]
async fn a_mask_of_the_innermost_layer_counts() {
    let layer = || ContainLayer::new().policy(Policy::new().undeclared(Undeclared::Mask));
    for way in [Way::Typed, Way::Json, Way::Sse] {
        let server = Server::default();
        let stack = match way {
            Way::Typed => Stack::typed(LogLayer::new().layer(layer().layer(Leaf(server.clone())))),
            _ => {
                let service = http_service(way, &OutcomeLayer::new(), &server);
                Stack::http(LogLayer::new().layer(layer().layer(service)))
            }
        };
        let bench = Bench::of(way, server, stack);
        let id = bench.create(json!({ "ends": "secret_is_error" }), None).await;
        bench.server.ended(&id).await;
        for session in [0, 1] {
            bench.get(session, &id).await;
            bench.result(session, &id).await;
        }
        assert!(!bench.received().contains(SECRET), "{way:?}: {}", bench.received());
        let end = bench.end_of(&id);
        assert_eq!(line(&end), UNDECLARED, "{way:?}: {end:?}");
        assert!(end.field("cause").unwrap().contains(SECRET), "{way:?}: {end:?}");
    }
}
