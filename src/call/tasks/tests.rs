use std::sync::{Arc, Mutex, PoisonError};

use super::*;
use crate::{
    call::{Kind, NewTask, Origin, Record, Sink},
    outcome::{Cause, Code, Failure, Level},
    redact::{Redact, Redactor},
};

/// Keeps what it is told.
#[derive(Default)]
struct Heard(Redactor, Mutex<Vec<Record>>);

impl Sink for Heard {
    fn wants(&self, _: Level) -> bool {
        true
    }

    fn writes(&self) -> bool {
        false
    }

    fn redactor(&self) -> &dyn Redact {
        &self.0
    }

    fn has_own_redactor(&self) -> bool {
        false
    }

    fn tell(&self, record: &Record) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
    }
}

impl Heard {
    /// The events so far.
    fn events(&self) -> Vec<&'static str> {
        let records = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        records.iter().map(Record::event).collect()
    }

    fn last(&self) -> Record {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).last().unwrap().clone()
    }

    /// Waits for as many events.
    async fn wait_for(&self, events: usize) {
        let begun = Instant::now();
        while self.events().len() < events {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", self.events());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn call(heard: &Arc<Heard>, route: Option<&str>) -> Call {
    let call = Call::begin(Kind::ToolCall, "tools/call".into(), Some("build"), None);
    call.add_sink(Arc::clone(heard) as Arc<dyn Sink>);
    call.add_origin(Origin { route: route.map(Into::into), ..Origin::default() });
    call
}

fn create(call: &Call, id: &str, ttl: Option<Duration>) {
    let task = NewTask { id, ttl, form: TaskForm::Extension };
    call.decide(Verdict::deferred(Some(task)));
    call.close(|| Verdict::abandoned(None));
}

fn ask(heard: &Arc<Heard>, route: Option<&str>) -> Call {
    let call = call(heard, route);
    call.under_same_id(&call.state(), Kind::Request, "tasks/get".into(), None)
}

#[test]
fn an_end_is_told_once_under_the_calls_id_with_its_tool() {
    let heard = Arc::new(Heard::default());
    let created = call(&heard, None);
    create(&created, "told-once", None);
    for _ in 0..3 {
        find(&ask(&heard, None), "told-once").end(Verdict::completed(), false);
    }
    assert_eq!(heard.events(), ["tool_call_deferred", "tool_call_completed"]);
    let record = heard.last();
    assert_eq!((record.call_id, record.tool.as_deref()), (created.id(), Some("build")));
    assert_eq!(record.task_id.as_deref(), Some("told-once"));
}

#[test]
fn tasks_of_two_routes_may_have_the_same_id() {
    let heard = Arc::new(Heard::default());
    create(&call(&heard, Some("a")), "routed", None);
    create(&call(&heard, Some("b")), "routed", None);
    find(&ask(&heard, Some("c")), "routed").end(Verdict::completed(), false);
    assert_eq!(heard.events().len(), 2, "it is of neither");
    find(&ask(&heard, Some("a")), "routed").end(Verdict::completed(), false);
    find(&ask(&heard, Some("b")), "routed").end(Verdict::undeclared(None), false);
    let events = heard.events().split_off(2);
    assert_eq!(events, ["tool_call_completed", "tool_call_failed"]);
}

#[test]
fn a_task_gives_way_to_one_of_the_same_id() {
    let heard = Arc::new(Heard::default());
    create(&call(&heard, None), "again", None);
    let later = call(&heard, None);
    create(&later, "again", None);
    assert_eq!(heard.last().reason, Some(Reason::Forgotten));
    find(&ask(&heard, None), "again").end(Verdict::completed(), false);
    assert_eq!(heard.last().call_id, later.id());
}

#[test]
fn a_cause_waits_for_the_end_of_the_task() {
    let heard = Arc::new(Heard::default());
    let created = call(&heard, None);
    let work = created.background();
    let fault = || {
        let cause = Some(Cause::new("panic", "boom"));
        Verdict::fault(Code::PANIC, crate::Actor::Operator, cause)
    };
    work.deposit(fault());
    create(&created, "caused", None);
    let told = Failure::new(Code::INTERNAL_ERROR, crate::Actor::Operator);
    find(&ask(&heard, None), "caused").end(Verdict::declared(crate::Declared::Fault, told), false);
    let failure = heard.last().failure.unwrap();
    assert_eq!((&failure.code, &*failure.cause.unwrap().chain), (&Code::PANIC, "boom"));
}

#[tokio::test]
async fn a_task_is_forgotten_when_its_time_is_up_however_long_others_have() {
    let heard = Arc::new(Heard::default());
    create(&call(&heard, None), "long", Some(Duration::from_secs(3600)));
    let short = call(&heard, None);
    create(&short, "short", Some(Duration::from_millis(20)));
    heard.wait_for(3).await;
    let record = heard.last();
    assert_eq!((record.event(), record.call_id), ("tool_call_abandoned", short.id()));
    assert_eq!(record.reason, Some(Reason::Forgotten));
}

#[tokio::test]
async fn what_a_status_has_said_counts_when_nobody_asks_for_more() {
    let heard = Arc::new(Heard::default());
    create(&call(&heard, None), "noted", Some(Duration::from_millis(50)));
    find(&ask(&heard, None), "noted").note(Verdict::undeclared(Some("no".into())), false);
    find(&ask(&heard, None), "noted").note(Verdict::completed(), false);
    assert!(find(&ask(&heard, None), "noted").has_failed);
    heard.wait_for(2).await;
    assert_eq!(heard.last().event(), "tool_call_failed");
    assert!(heard.last().duration < Duration::from_millis(100), "it ended before its time");
}

#[test]
fn a_longer_time_is_counted_from_when_it_was_created() {
    let mut list = List::default();
    let now = Instant::now();
    let state = State::Open { noted: None, is_cancelled: false };
    let (ttl, heard) = (Duration::from_secs(10), Arc::new(Heard::default()));
    let call = call(&heard, None);
    list.put(
        1,
        Entry {
            call,
            form: None,
            ttl,
            due: now + ttl,
            has_failed: false,
            is_withheld: false,
            state,
        },
    );
    list.renew(1, Duration::from_secs(60));
    assert_eq!(list.next_due(), Some(now + Duration::from_secs(60)));
    assert!(list.forget_due(now + ttl).is_none());
    let forgotten = list.forget_due(now + Duration::from_secs(60));
    let is_told = |forgotten: Option<[Option<Forgotten>; 2]>| {
        forgotten.and_then(|[first, _]| first).map(|first| first.end.is_some())
    };
    assert_eq!((is_told(forgotten), list.open.len()), (Some(true), 0));
    let forgotten = list.forget_due(now + Duration::from_secs(240));
    assert_eq!((is_told(forgotten), list.tasks.len()), (Some(false), 0));
}

#[test]
fn of_too_many_those_go_whose_time_is_up_first_and_ended_ones_displace_no_open_ones() {
    let mut list = List::default();
    let (now, heard) = (Instant::now(), Arc::new(Heard::default()));
    let entry = |second: u64, is_open| Entry {
        call: call(&heard, None),
        form: None,
        ttl: Duration::from_secs(second),
        due: now + Duration::from_secs(second),
        has_failed: false,
        is_withheld: false,
        state: match is_open {
            true => State::Open { noted: None, is_cancelled: false },
            false => State::Ended { early: None },
        },
    };
    let bound = MAX_REMEMBERED as u64;
    for key in 0..bound {
        assert!(list.remember(key, entry(bound - key, true)).iter().all(Option::is_none));
    }
    for key in bound..2 * bound + 10 {
        let displaced = list.remember(key, entry(key, false));
        assert!(displaced.iter().flatten().all(|it| it.end.is_none()));
    }
    assert_eq!((list.open.len(), list.over.len()), (MAX_REMEMBERED, MAX_REMEMBERED));
    let displaced = list.remember(u64::MAX, entry(7, true));
    assert_eq!(displaced.iter().flatten().filter(|it| it.end.is_some()).count(), 1);
    assert!(!list.open.iter().any(|(due, _)| *due == now + Duration::from_secs(1)));
    assert_eq!(list.tasks.len(), 2 * MAX_REMEMBERED);
}

#[test]
fn the_longest_time_is_one_that_the_clock_can_tell() {
    let heard = Arc::new(Heard::default());
    create(&call(&heard, None), "for ever", Some(Duration::MAX));
    find(&ask(&heard, None), "for ever").renew(Duration::MAX);
    find(&ask(&heard, None), "for ever").end(Verdict::completed(), false);
    assert_eq!(heard.events().len(), 2);
}

#[tokio::test]
async fn what_is_asked_for_late_is_told_at_most_beside_what_was_told() {
    let heard = Arc::new(Heard::default());
    create(&call(&heard, None), "late", Some(Duration::from_millis(20)));
    heard.wait_for(2).await;
    assert_eq!(heard.last().reason, Some(Reason::Forgotten));
    for _ in 0..2 {
        find(&ask(&heard, None), "late").end(Verdict::undeclared(Some("no".into())), false);
    }
    assert_eq!(heard.events().len(), 2, "what no terminal event tells of is told to no hook");
    let is_ended = with(|list| {
        let key = key(&ask(&heard, None), "late");
        list.tasks.get(&key).map(|entry| matches!(entry.state, State::Ended { .. }))
    });
    assert_eq!(is_ended, Some(true));
}
