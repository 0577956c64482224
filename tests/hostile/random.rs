//! Calls that nobody would have thought of.

use std::{cell::RefCell, collections::BTreeSet};

use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use crate::{
    fields::{NASTY, assert_fit_to_print},
    kit::{LAYERS, boom, end},
    support::{Client, Transport},
};

const CASES: u32 = 400;

/// All tools but those that take as long, or as much memory, as they are told to.
const TOOLS: [&str; 15] = [
    "ok",
    "search_notes",
    "read_note",
    "edit_note",
    "fail_declared",
    "fail_unknown",
    "fail_internal",
    "fail_protocol",
    "fail_is_error",
    "fail_payload",
    "fail_timeout",
    "fail_rate_limited",
    "panic",
    "progress",
    "no_such_tool",
];

/// Names and values that some tool knows.
const WORDS: [&str; 31] = [
    "text",
    "query",
    "path",
    "if_match",
    "outcome",
    "code",
    "actor",
    "level",
    "retry_after",
    "message",
    "data",
    "payload",
    "as",
    "when",
    "n",
    "then",
    "rejected",
    "stale",
    "fault",
    "structured",
    "first_poll",
    "payload_drop",
    "spawned",
    "locked",
    "ok",
    "error",
    "panic",
    "time",
    "operator",
    "travel/japan.md",
    "password=hunter2",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(WORDS.as_slice()).prop_map(str::to_owned),
        1 => select(NASTY.as_slice()).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => (select(NASTY.as_slice()), 1_usize..400).prop_map(|(text, n)| text.repeat(n)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => (-33_000_i64..=0).prop_map(Value::from),
        4 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            object(inner).prop_map(Value::from),
        ]
    })
}

fn object(
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    vec((text(), value), 0..8).prop_map(|pairs| pairs.into_iter().collect())
}

fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![6 => object(value()).prop_map(Value::from), 1 => value()]
}

fn name() -> impl Strategy<Value = String> {
    let known = select(TOOLS.as_slice()).prop_map(str::to_owned);
    prop_oneof![4 => known, 1 => text().prop_filter("would not return", |name| {
        !["big", "slow", "hang"].contains(&name.as_str())
    })]
}

#[test]
fn random_calls_are_answered_and_logged_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(Client::connect(Transport::Duplex, LAYERS));
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let seen = RefCell::new(BTreeSet::new());
    let outcome = TestRunner::new(config).run(&(name(), arguments()), |(name, arguments)| {
        let (answer, event) = runtime.block_on(async {
            let id = client.start_call(&name, arguments).await;
            (client.wait(&id).await, end(&client, &id).await)
        });
        let told = format!("{:?}{:?}", answer.result(), answer.error());
        prop_assert!(!answer.is_none(), "not answered: {:?}", event);
        prop_assert!(event.message.starts_with("tool_call_"), "{:?}", event);
        for internal in ["panicked at", ".rs:", "PoisonError", "query failed"] {
            prop_assert!(!told.contains(internal), "{} in {}", internal, told);
        }
        // Only the tool that panics does.
        if event.field("code") == Some("panic") {
            prop_assert_eq!(event.field("tool"), Some("panic"));
        }
        seen.borrow_mut().insert(event.field("outcome").unwrap_or_default().to_owned());
        Ok(())
    });
    if let Err(error) = outcome {
        boom(&error.to_string());
    }
    let (healthy, _) = runtime.block_on(crate::kit::call(&client, "ok", json!({})));
    assert_eq!(healthy.text(), "ok");
    assert_fit_to_print(client.logs());
    // The calls were not all turned away at the door.
    for outcome in ["completed", "rejected", "fault", "protocol_error"] {
        assert!(seen.borrow().contains(outcome), "{seen:?}");
    }
}
