//! Routes that are named by another layer than the one that contains.

use http::Request;
use serde_json::json;
use tower::{Layer, Service, ServiceBuilder};
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    bench::{
        ANSWERED, COMPLETED, Carrier, DEFERRED, FAULT, Form, SECRET, ask_for, end_of, failed,
        fresh_id, listen, result, server, state, told,
    },
    kit::{Fake, call, line, lines, send},
    support::Logs,
};

type Body = http_body_util::Full<bytes::Bytes>;

/// The end is told on a stream, or by whoever is asked, and the name of the route is with both lines.
async fn check<L, S, B>(what: &str, layer: L)
where
    L: Layer<Fake, Service = S>,
    S: Service<Request<Body>, Response = http::Response<B>, Error: std::fmt::Debug> + Clone,
    B: http_body::Body<Data = bytes::Bytes, Error: std::fmt::Display>,
{
    for carrier in Carrier::SSE {
        for is_noticed in [true, false] {
            let what = format!("{what}, {carrier:?}, {is_noticed}");
            let (logs, _capture) = Logs::capture();
            let id = fresh_id();
            let task = id.clone();
            let service = layer.layer(server(move |method, message| {
                carrier.carry(&match method {
                    "GET" => Form::Extension.notification(&failed(&task)),
                    "tools/call" => Form::Extension.created(message, &task),
                    _ => result(&message["id"], &failed(&task)),
                })
            }));
            send(service.clone(), call()).await;
            let mut texts = Vec::new();
            if is_noticed {
                texts.push(send(service.clone(), listen()).await.text());
                assert_eq!(lines(&logs), [DEFERRED, FAULT], "{what}");
            }
            for request in [8, 9] {
                texts.push(send(service.clone(), ask_for(request, "tasks/get", &id)).await.text());
            }
            assert_eq!(lines(&logs), [DEFERRED, FAULT, ANSWERED, ANSWERED], "{what}");
            let end = end_of(&logs, &id);
            assert!(end.field("cause").unwrap().contains(SECRET), "{what}: {end:?}");
            for text in texts {
                assert!(!text.contains(SECRET), "{what}: {text}");
                assert!(text.contains(end.field("call_id").unwrap()), "{what}: {text}");
            }
            for event in told(&logs, &id) {
                assert_eq!(event.field("route"), Some("/mcp"), "{what}: {event:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_route_that_a_layer_further_out_names() {
    let log = || LogLayer::new().route("/mcp");
    let classify = ClassifyLayer::new;
    let contain = ContainLayer::new;
    let stack = || ServiceBuilder::new();
    check("log, contain", stack().layer(log()).layer(contain()).into_inner()).await;
    let three = stack().layer(log()).layer(classify()).layer(contain());
    check("log, classify, contain", three.into_inner()).await;
    let twice = stack().layer(log()).layer(OutcomeLayer::new());
    check("log, all in one", twice.into_inner()).await;
}

#[tokio::test]
async fn a_route_that_a_layer_further_in_names() {
    let log = || LogLayer::new().route("/mcp");
    let stack = || ServiceBuilder::new();
    check("contain, log", stack().layer(ContainLayer::new()).layer(log()).into_inner()).await;
    let three = stack().layer(ContainLayer::new()).layer(ClassifyLayer::new()).layer(log());
    check("contain, classify, log", three.into_inner()).await;
    let twice = stack().layer(OutcomeLayer::new().route("/outer")).layer(log());
    check("all in one, log", twice.layer(ContainLayer::new()).into_inner()).await;
}

/// What comes on one route says nothing of a task of another one with the same id.
#[tokio::test]
async fn an_end_is_not_that_of_another_routes_task() {
    let stack = |route: &str| {
        ServiceBuilder::new().layer(LogLayer::new().route(route)).layer(ContainLayer::new())
    };
    for carrier in Carrier::SSE {
        let (logs, _capture) = Logs::capture();
        let id = fresh_id();
        let service = |fails: bool| {
            let task = id.clone();
            server(move |method, message| {
                let completed = json!({ "result": { "content": [] } });
                let end = match fails {
                    true => failed(&task),
                    false => state(&task, "completed", completed),
                };
                carrier.carry(&match method {
                    "GET" => Form::Extension.notification(&end),
                    _ => Form::Extension.created(message, &task),
                })
            })
        };
        let (one, other) =
            (stack("/one").service(service(true)), stack("/other").service(service(false)));
        send(one.clone(), call()).await;
        send(other.clone(), call()).await;
        send(one, listen()).await;
        send(other, listen()).await;
        let told: Vec<_> = told(&logs, &id)
            .iter()
            .map(|it| (it.field("route").unwrap_or("-").to_owned(), line(it)))
            .collect();
        let expected =
            [("/one", DEFERRED), ("/other", DEFERRED), ("/one", FAULT), ("/other", COMPLETED)];
        assert_eq!(told, expected.map(|(route, line)| (route.to_owned(), line.to_owned())));
    }
}
