//! The exchanges in `tests/corpus/`: that each can be read, and says something that can be.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "support/corpus.rs"]
mod corpus;

use std::collections::BTreeSet;

use corpus::{Client, Ends, Exchange};

const NAMES: &[&str] = &[
    "tool_call_completed",
    "tool_call_failed",
    "tool_call_deferred",
    "tool_call_input_required",
    "tool_call_cancelled",
    "tool_call_abandoned",
    "request_completed",
    "request_failed",
    "request_deferred",
    "request_input_required",
    "request_cancelled",
    "request_abandoned",
    "notification_received",
    "notification_failed",
];
const OUTCOMES: &[&str] = &[
    "completed",
    "rejected",
    "stale",
    "fault",
    "undeclared",
    "soft_error",
    "protocol_error",
    "deferred",
    "input_required",
    "cancelled",
    "abandoned",
];

#[test]
fn every_exchange_is_readable_and_its_expectation_is_possible() {
    let all = corpus::all();
    let names: BTreeSet<&str> = all.iter().map(|exchange| exchange.name.as_str()).collect();
    for exchange in &all {
        let Exchange { name, request, response, expected } = exchange;
        assert!(response.status().as_u16() >= 200, "{name}");
        assert!(request.method() == "POST" || request.body().is_empty(), "{name}");
        if let Some(length) = request.headers().get("content-length") {
            assert_eq!(length.to_str().unwrap(), request.body().len().to_string(), "{name}");
        }
        let is_whole = expected.ends == Ends::Clean;
        if let Some(length) = response.headers().get("content-length").filter(|_| is_whole) {
            assert_eq!(length.to_str().unwrap(), response.body().len().to_string(), "{name}");
        }
        if let Some(first) = &expected.follows {
            assert!(names.contains(first.as_str()), "{name} follows nothing");
        }
        for event in &expected.events {
            assert!(NAMES.contains(&event.name.as_str()), "{name}: {event:?}");
            let outcome = event.outcome.as_deref();
            assert!(outcome.is_none_or(|outcome| OUTCOMES.contains(&outcome)), "{name}: {event:?}");
            let has_failed = event.name.ends_with("_failed");
            assert_eq!(event.code.is_some(), has_failed, "{name}: {event:?}");
            let levels = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
            assert!(levels.contains(&event.level.as_str()), "{name}: {event:?}");
        }
        if expected.client != Client::Unchanged {
            let is_fault = |event: &corpus::Event| event.outcome.as_deref() == Some("fault");
            assert!(expected.events.iter().any(is_fault), "{name}: only outcome 4 replaces");
            // 408 is what a layer inside says of a service that takes too long.
            let is_refused = response.status().is_client_error() && response.status() != 408;
            assert!(!is_refused, "{name}: a 4xx is never replaced");
        }
    }
    assert!(all.len() > 300, "only {} exchanges", all.len());
}

#[test]
fn a_file_that_says_nothing_useful_is_refused() {
    let exchange = "POST / HTTP/1.1\n\n{}\n--- response\nHTTP/1.1 200 OK\n\n";
    for (block, why) in [
        ("# colour: red\n", "unknown: colour: red"),
        ("# nothing\n", "no key: nothing"),
        ("# event: tool_call_completed\n", "too few words"),
    ] {
        let error = corpus::parse(String::new(), format!("{block}{exchange}").as_bytes());
        assert!(error.as_ref().is_err_and(|error| error.contains(why)), "{error:?}");
    }
    let cut = corpus::parse(String::new(), b"POST / HTTP/1.1\n\n{}\n");
    assert!(cut.is_err_and(|error| error.contains("--- response")));
    let read = corpus::parse(String::new(), exchange.as_bytes()).unwrap();
    assert_eq!((&read.request.body()[..], &read.response.body()[..]), (&b"{}"[..], &b""[..]));
}
