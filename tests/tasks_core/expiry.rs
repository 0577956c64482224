//! Tasks whose time is up. Each test has a process of its own: whoever forgets for all of them runs
//! on one test's thread, and logs there.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::json;
use tower::Layer as _;
use tower_outcome::{Outcome, OutcomeLayer, Record};

use crate::{
    bench::{Bench, COMPLETED, DEFERRED, Stack, UNDECLARED, Way, duration},
    binding::Leaf,
    kit::{guarded, line, lines, until},
    server::Server,
    streams::read_until,
    support::alone::is_alone,
};

/// For how long these tasks are remembered, in milliseconds.
const TTL: u64 = 300;

const FORGOTTEN: &str = "INFO tool_call_abandoned abandoned -";

/// Does this anew until it was done before the tasks' time was up, which a busy machine may not
/// manage at once.
async fn in_time<T>(ttl: u64, work: impl AsyncFn() -> T) -> T {
    loop {
        let begun = Instant::now();
        let done = work().await;
        if begun.elapsed() < Duration::from_millis(ttl) {
            return done;
        }
    }
}

#[tokio::test]
async fn a_status_is_the_end_where_nobody_asks_for_more_in_time() {
    if !is_alone("expiry::a_status_is_the_end_where_nobody_asks_for_more_in_time") {
        return;
    }
    for way in Way::ALL {
        for (ends, expected) in [
            ("ok", COMPLETED),
            // Nobody has seen what is in it.
            ("soft", COMPLETED),
            ("is_error", UNDECLARED),
            ("error", UNDECLARED),
        ] {
            let what = format!("{way:?}, {ends}");
            let (bench, id, begun, told) = in_time(TTL, async || {
                let bench = Bench::new(way);
                let begun = Instant::now();
                let id = bench.create(json!({ "ends": ends, "ms": 10 }), Some(TTL)).await;
                bench.server.ended(&id).await;
                bench.get(0, &id).await;
                bench.get(1, &id).await;
                let told = bench.told_lines(&id);
                (bench, id, begun, told)
            })
            .await;
            assert_eq!(told, [DEFERRED], "{what}: it may still be asked for");
            let end = bench.wait_for_end_of(&id).await;
            assert_eq!(line(&end), expected, "{what}: {end:?}");
            assert_eq!(end.field("reason"), None, "{what}: {end:?}");
            assert!(duration(&end) >= 10.0, "{what}: {end:?}");
            assert!(begun.elapsed() >= Duration::from_millis(TTL), "{what}: too early");
        }
    }
}

#[tokio::test]
async fn a_task_whose_end_nobody_sees_is_forgotten() {
    if !is_alone("expiry::a_task_whose_end_nobody_sees_is_forgotten") {
        return;
    }
    for way in Way::ALL {
        for (ends, is_polled) in [("never", false), ("never", true), ("is_error", false)] {
            let what = format!("{way:?}, {ends}, {is_polled}");
            let bench = Bench::new(way);
            let begun = Instant::now();
            let id = bench.create(json!({ "ends": ends }), Some(TTL)).await;
            if is_polled {
                bench.get(0, &id).await;
                bench.get(1, &id).await;
            }
            let end = bench.wait_for_end_of(&id).await;
            assert_eq!(line(&end), FORGOTTEN, "{what}: {end:?}");
            assert_eq!(end.field("reason"), Some("forgotten"), "{what}: {end:?}");
            assert!(begun.elapsed() >= Duration::from_millis(TTL), "{what}: too early");
        }
    }
}

/// A server may remember a task for longer than it has promised to.
#[tokio::test]
async fn what_a_status_was_the_end_of_is_not_told_again() {
    if !is_alone("expiry::what_a_status_was_the_end_of_is_not_told_again") {
        return;
    }
    for way in Way::ALL {
        let (bench, id) = in_time(TTL, async || {
            let bench = Bench::new(way);
            let id = bench.create(json!({ "ends": "is_error" }), Some(TTL)).await;
            bench.server.ended(&id).await;
            bench.get(0, &id).await;
            (bench, id)
        })
        .await;
        assert_eq!(line(&bench.wait_for_end_of(&id).await), UNDECLARED, "{way:?}");
        bench.result(1, &id).await;
        bench.get(0, &id).await;
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

/// The status and the result are one end, also where the result comes first.
#[tokio::test]
async fn a_task_whose_end_was_told_is_forgotten_in_silence() {
    if !is_alone("expiry::a_task_whose_end_was_told_is_forgotten_in_silence") {
        return;
    }
    for way in Way::ALL {
        let (bench, ids) = in_time(TTL, async || {
            let bench = Bench::new(way);
            let mut ids = Vec::new();
            for (ends, code) in [("soft", "soft_error"), ("rejected", "unknown_note"), ("ok", "-")]
            {
                let id = bench.create(json!({ "ends": ends }), Some(TTL)).await;
                bench.result(0, &id).await;
                bench.get(1, &id).await;
                ids.push((id, code));
            }
            (bench, ids)
        })
        .await;
        let last = bench.create(json!({ "ends": "never" }), Some(2 * TTL)).await;
        let end = bench.wait_for_end_of(&last).await;
        assert_eq!(line(&end), FORGOTTEN, "{way:?}");
        for (id, code) in ids {
            let end = bench.end_of(&id);
            assert_eq!(end.field("code").unwrap_or("-"), code, "{way:?}: {end:?}");
        }
    }
}

/// A server may say later that it remembers a task for longer.
#[tokio::test]
async fn a_ttl_that_grows_is_waited_for() {
    if !is_alone("expiry::a_ttl_that_grows_is_waited_for") {
        return;
    }
    for way in Way::ALL {
        let (bench, id) = in_time(TTL, async || {
            let bench = Bench::new(way);
            let arguments = json!({ "ends": "is_error", "ms": 10, "later_ttl": 3_600_000 });
            let id = bench.create(arguments, Some(TTL)).await;
            bench.get(1, &id).await;
            (bench, id)
        })
        .await;
        let witness = bench.create(json!({ "ends": "never" }), Some(2 * TTL)).await;
        bench.wait_for_end_of(&witness).await;
        bench.assert_open(&id);
        bench.result(0, &id).await;
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

/// Nobody has told it what has become of the task, and so nobody asks.
#[tokio::test]
async fn a_status_that_was_sent_unasked_is_the_end_in_time() {
    if !is_alone("expiry::a_status_that_was_sent_unasked_is_the_end_in_time") {
        return;
    }
    for way in Way::HTTP {
        for (ends, expected) in [("ok", COMPLETED), ("is_error", UNDECLARED)] {
            let (bench, id, begun, told) = in_time(TTL, async || {
                let bench = Bench::new(way);
                let mut stream = bench.listen(1).await.into_body();
                let begun = Instant::now();
                let id = bench.create(json!({ "ends": ends, "ms": 10 }), Some(TTL)).await;
                read_until(&mut stream, "notifications/tasks/status").await;
                let told = bench.told_lines(&id);
                (bench, id, begun, told)
            })
            .await;
            assert_eq!(told, [DEFERRED], "{way:?}, {ends}: it may still be asked for");
            let end = bench.wait_for_end_of(&id).await;
            assert_eq!(line(&end), expected, "{way:?}, {ends}: {end:?}");
            assert!(begun.elapsed() >= Duration::from_millis(TTL), "{way:?}: too early");
        }
    }
}

/// Tasks without a TTL, or with a long one, of which there are too many.
#[tokio::test]
async fn of_more_tasks_than_are_remembered_the_first_are_forgotten() {
    if !is_alone("expiry::of_more_tasks_than_are_remembered_the_first_are_forgotten") {
        return;
    }
    const MANY: usize = 100_000;
    let records = Arc::new(Mutex::new(Vec::<Record>::new()));
    let kept = Arc::clone(&records);
    let layers = OutcomeLayer::new().events(false).hook(move |record: &Record| {
        if record.outcome == Outcome::Abandoned {
            kept.lock().unwrap().push(record.clone());
        }
    });
    let server = Server::default();
    let stack = Stack::typed(layers.layer(Leaf(server.clone())));
    let bench = Bench::of(Way::Typed, server, stack);
    let mut ids = Vec::new();
    while records.lock().unwrap().is_empty() {
        assert!(ids.len() < MANY, "all of them are remembered");
        let id = bench.create(json!({ "ends": "never" }), None).await;
        // Nothing of it goes on.
        bench.server.stop(&id);
        bench.server.forget(&id);
        ids.push(id);
    }
    for _ in 0..10 {
        ids.push(bench.create(json!({ "ends": "ok" }), None).await);
    }
    let records = records.lock().unwrap().clone();
    assert!(records.len() >= 10, "{}", records.len());
    for (record, id) in records.iter().zip(&ids) {
        assert_eq!(record.task_id.as_deref(), Some(&**id), "the first ones first");
        assert_eq!(record.reason.map(|reason| reason.as_str()), Some("forgotten"));
        assert_eq!(record.tool.as_deref(), Some("task"));
    }
}

/// Its runtime is gone, and with it whoever forgets: the next one takes over.
#[test]
fn tasks_are_forgotten_after_the_runtime_that_they_began_on() {
    if !is_alone("expiry::tasks_are_forgotten_after_the_runtime_that_they_began_on") {
        return;
    }
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bench = Bench::new(Way::Typed);
    let id = runtime().block_on(bench.create(json!({ "ends": "never" }), Some(TTL)));
    bench.assert_open(&id);
    runtime().block_on(async {
        let next = bench.create(json!({ "ends": "never" }), Some(TTL)).await;
        guarded(until("it is forgotten", || bench.told(&next).len() > 1)).await;
    });
    for line in lines(&bench.logs).iter().filter(|line| line.contains("abandoned")) {
        assert_eq!(line, FORGOTTEN);
    }
    assert_eq!(line(&bench.end_of(&id)), FORGOTTEN);
}
