//! Who forgets the tasks whose time is up: any runtime of the process, whichever of the others are
//! gone, or not driven, or have no timer.
//!
//! Each test has a process of its own, since there is one memory of tasks for each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "tasks_http/bench.rs"]
mod bench;
#[path = "http_stacks/kit.rs"]
#[allow(unused_imports, reason = "what other suites need")]
mod kit;
#[path = "http_stacks/script.rs"]
mod script;

use std::{
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use futures::executor::block_on;
use http_body_util::BodyExt as _;
use tokio::runtime::{Builder, Runtime};
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{OutcomeLayer, OutcomeService, Record};

use crate::{
    bench::{Carrier, Form, fresh_id, server},
    kit::{Fake, call},
    support::{GUARD, alone::is_alone},
};

/// The time of tasks that are to be forgotten, in milliseconds.
const SHORT: u64 = 100;
/// That of others.
const LONG: u64 = 3_600_000;

/// What was told of tasks.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Record>>>);

impl Heard {
    fn service(&self, id: &str, ttl: u64) -> OutcomeService<Fake> {
        let records = Arc::clone(&self.0);
        let hook = move |record: &Record| records.lock().unwrap().push(record.clone());
        let id = id.to_owned();
        OutcomeLayer::new().events(false).hook(hook).layer(server(move |_, message| {
            Carrier::ALL[0].carry(&Form::Extension.created_for(message, &id, Some(ttl)))
        }))
    }

    /// Has a task created by whoever drives this.
    async fn create(&self, ttl: u64) -> String {
        let id = fresh_id();
        let answer = self.service(&id, ttl).oneshot(call()).await.unwrap();
        answer.into_body().collect().await.unwrap();
        id
    }

    /// The events about a task.
    fn told(&self, id: &str) -> Vec<&'static str> {
        let records = self.0.lock().unwrap();
        let told = records.iter().filter(|record| record.task_id.as_deref() == Some(id));
        told.map(Record::event).collect()
    }

    /// Waits until a task is forgotten, without driving anything.
    fn wait_for(&self, id: &str) {
        let begun = Instant::now();
        while self.told(id).len() < 2 {
            assert!(begun.elapsed() < GUARD, "nobody forgets it: {:?}", self.told(id));
            thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(self.told(id), FORGOTTEN);
    }
}

const DEFERRED: [&str; 1] = ["tool_call_deferred"];
const FORGOTTEN: [&str; 2] = ["tool_call_deferred", "tool_call_abandoned"];

/// A runtime that drives itself.
fn driven() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// One that is driven only while somebody blocks on it.
fn undriven() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_runtime_of_an_earlier_task_may_be_gone() {
    if !is_alone("the_runtime_of_an_earlier_task_may_be_gone") {
        return;
    }
    let heard = Heard::default();
    for is_gone_before in [true, false] {
        let (gone, other) = (driven(), driven());
        let long = gone.block_on(heard.create(LONG));
        let begun = Instant::now();
        let short = if is_gone_before {
            drop(gone);
            other.block_on(heard.create(SHORT))
        } else {
            let short = other.block_on(heard.create(SHORT));
            drop(gone);
            short
        };
        heard.wait_for(&short);
        assert!(begun.elapsed() >= Duration::from_millis(SHORT), "too early");
        assert_eq!(heard.told(&long), DEFERRED);
    }
}

/// Whoever next has a task created forgets those of the runtime that is gone, too.
#[test]
fn the_runtime_of_a_task_that_is_due_may_be_gone() {
    if !is_alone("the_runtime_of_a_task_that_is_due_may_be_gone") {
        return;
    }
    let heard = Heard::default();
    let other = driven();
    let long = other.block_on(heard.create(LONG));
    let short = driven().block_on(heard.create(SHORT));
    let begun = Instant::now();
    while heard.told(&short).len() < 2 {
        assert!(begun.elapsed() < GUARD, "nobody forgets it");
        thread::sleep(Duration::from_millis(5));
        other.block_on(heard.create(LONG));
    }
    assert_eq!((&*heard.told(&short), &*heard.told(&long)), (&FORGOTTEN[..], &DEFERRED[..]));
}

#[test]
fn the_runtime_of_an_earlier_task_may_not_be_driven() {
    if !is_alone("the_runtime_of_an_earlier_task_may_not_be_driven") {
        return;
    }
    let heard = Heard::default();
    let (idle, other) = (undriven(), driven());
    let earlier = [LONG, SHORT].map(|ttl| idle.block_on(heard.create(ttl)));
    for _ in 0..2 {
        let short = other.block_on(heard.create(SHORT));
        heard.wait_for(&short);
    }
    heard.wait_for(&earlier[1]);
    assert_eq!(heard.told(&earlier[0]), DEFERRED);
    drop(idle);
}

/// It does not try again and again, either.
#[test]
fn the_runtime_of_an_earlier_task_may_have_no_timer() {
    if !is_alone("the_runtime_of_an_earlier_task_may_have_no_timer") {
        return;
    }
    let heard = Heard::default();
    let timeless = Builder::new_current_thread().build().unwrap();
    let earlier = timeless.block_on(async {
        let mut earlier = Vec::new();
        for ttl in [LONG, SHORT, SHORT] {
            earlier.push(heard.create(ttl).await);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        earlier
    });
    assert_eq!(timeless.metrics().num_alive_tasks(), 0);
    let other = driven();
    let short = other.block_on(heard.create(SHORT));
    heard.wait_for(&short);
    heard.wait_for(&earlier[1]);
    heard.wait_for(&earlier[2]);
    assert_eq!(heard.told(&earlier[0]), DEFERRED);
}

#[test]
fn an_earlier_task_may_have_had_no_runtime() {
    if !is_alone("an_earlier_task_may_have_had_no_runtime") {
        return;
    }
    let heard = Heard::default();
    let earlier = [LONG, SHORT].map(|ttl| block_on(heard.create(ttl)));
    let other = driven();
    let short = other.block_on(heard.create(SHORT));
    heard.wait_for(&short);
    heard.wait_for(&earlier[1]);
    assert_eq!(heard.told(&earlier[0]), DEFERRED);
}

/// Each task is forgotten once, whoever of all of them does it, and then none of them has anything
/// left to do.
#[test]
fn several_runtimes_forget_each_task_once_and_then_rest() {
    if !is_alone("several_runtimes_forget_each_task_once_and_then_rest") {
        return;
    }
    let heard = Heard::default();
    let runtimes = [driven(), driven(), driven()];
    for _ in 0..2 {
        let mut ids = Vec::new();
        for at in 0..60 {
            let ttl = SHORT + 7 * (at % 5);
            ids.push(runtimes[at as usize % runtimes.len()].block_on(heard.create(ttl)));
        }
        for id in &ids {
            heard.wait_for(id);
        }
        let begun = Instant::now();
        for runtime in &runtimes {
            while runtime.metrics().num_alive_tasks() > 0 {
                assert!(begun.elapsed() < GUARD, "it never rests");
                thread::sleep(Duration::from_millis(2));
            }
        }
        for id in &ids {
            assert_eq!(heard.told(id), FORGOTTEN);
        }
    }
}
