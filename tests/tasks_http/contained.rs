//! Work that is contained in a tool, beside it, and in a task of it: each failure is one line, with its
//! cause, whoever waits for the work.

use std::io;

use serde_json::json;
use tower_outcome::{Kind, ToolError, contain, install_panic_hook};

use crate::{
    bench::{COMPLETED, DEFERRED, SECRET},
    kit::line,
    polls::Tasks,
    support::{Event, Logs, alone},
    works::{Place, Works},
};

const PANIC: &str = "ERROR tool_call_failed fault panic";
const FAULT: &str = "ERROR tool_call_failed fault internal_error";
/// What no terminal event tells of.
const LOST: &str = "ERROR tool_failed fault panic";

/// All that was told of tools but of what began, once there is no more to come of what was called.
async fn told(tasks: &Tasks) -> Vec<Event> {
    let id = tasks.first().start("ping", json!({})).await;
    tasks.first().wait(&id).await;
    tasks.logs().wait_for_end(&id).await.expect("the end of a ping");
    // Over HTTP a line may be written after its answer was read.
    let is_of_tool = |it: &&Event| it.message.starts_with("tool_call_");
    let is_whole = |events: &[Event]| {
        let begun = events.iter().filter(|it| it.message == "tool_call_started").count();
        events.iter().filter(is_of_tool).filter(|it| it.is_terminal()).count() >= begun
    };
    tasks.logs().wait_for(|events| is_whole(events).then_some(())).await.expect("all ends");
    told_so_far(tasks.logs())
}

fn told_so_far(logs: &Logs) -> Vec<Event> {
    let mut told = logs.of_target("tower_outcome");
    told.retain(|it| it.message.starts_with("tool_") && !it.message.ends_with("_started"));
    told
}

fn lines(told: &[Event]) -> Vec<String> {
    told.iter().map(line).collect()
}

fn causes(told: &[Event]) -> Vec<&str> {
    told.iter().filter_map(|it| it.field("cause")).collect()
}

/// Checks that all of it is about one call.
fn assert_of_one_call(what: &str, told: &[Event]) {
    let ids: Vec<_> = told.iter().map(|it| it.field("call_id").unwrap()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{what}: {told:#?}");
}

/// A panic is the end of the call that waits for the work, as one in the tool itself is.
#[tokio::test]
async fn a_panic_in_work_that_a_tool_waits_for_is_one_line() {
    for place in Place::ALL {
        for tool in ["awaited", "awaited_at_once", "spawned", "nested"] {
            let what = format!("{place:?}, {tool}");
            let (tasks, _capture) = place.serve(&Works::default()).await;
            let answer = tasks.call(tool, json!({})).await;
            let told = told(&tasks).await;
            assert_eq!(lines(&told), [PANIC], "{what}: {told:#?}");
            assert_eq!(causes(&told), [SECRET], "{what}: {told:#?}");
            let reference = told[0].field("call_id").unwrap();
            assert!(answer.is_error() && answer.text().contains(reference), "{what}: {answer:?}");
            assert!(!tasks.received().contains(SECRET), "{what}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn an_error_of_work_that_a_tool_waits_for_is_one_line() {
    for place in Place::ALL {
        let (tasks, _capture) = place.serve(&Works::default()).await;
        tasks.call("failed", json!({})).await;
        let told = told(&tasks).await;
        assert_eq!((&*lines(&told), &*causes(&told)), (&[FAULT.to_owned()][..], &[SECRET][..]));
        assert!(!tasks.received().contains(SECRET), "{place:?}");
    }
}

/// Calls a tool that leaves work behind which panics, and is a success itself.
async fn check_left_behind(place: Place, tool: &str) {
    let what = format!("{place:?}, {tool}");
    let works = Works::default();
    let (tasks, _capture) = place.serve(&works).await;
    let answer = tasks.call(tool, json!({})).await;
    assert!(!answer.is_error(), "{what}: {answer:?}");
    if tool == "forgotten_later" {
        assert_eq!(lines(&told(&tasks).await), [COMPLETED], "{what}");
        works.goes_on.notify_one();
        let is_lost = |it: &&Event| it.message == "tool_failed";
        let came = tasks.logs().wait_for(|told| told.iter().find(is_lost).map(|_| ())).await;
        assert!(came.is_some(), "{what}: {}", tasks.logs().raw());
    }
    let told = told(&tasks).await;
    assert_eq!(lines(&told), [COMPLETED, LOST], "{what}: {told:#?}");
    assert_eq!(causes(&told), [SECRET], "{what}: {told:#?}");
    assert_of_one_call(&what, &told);
    assert!(!tasks.received().contains(SECRET), "{what}");
}

/// The call has long been answered.
#[tokio::test]
async fn a_panic_in_work_that_outlives_its_call_is_one_line() {
    for place in Place::ALL {
        check_left_behind(place, "forgotten_later").await;
    }
}

/// The call goes on, and never looks at it: which of the two ends first is chance.
#[tokio::test]
async fn a_panic_in_work_that_nobody_waits_for_is_one_line() {
    for place in Place::ALL {
        for tool in ["forgotten_before", "forgotten_before_at_once"] {
            check_left_behind(place, tool).await;
        }
    }
}

/// Nothing in this process knows of a call.
#[tokio::test]
async fn a_panic_in_work_of_no_call_is_one_line() {
    let (logs, _capture) = Logs::capture();
    let ended: Result<(), ToolError> =
        tokio::spawn(contain(|| async { boom().await })).await.unwrap();
    let reference = ended.unwrap_err().render(Kind::ToolCall).text;
    let told = told_so_far(&logs);
    assert_eq!((lines(&told), causes(&told)), (vec![LOST.to_owned()], vec![SECRET]), "{told:#?}");
    let logged = told[0].field("reference").or(told[0].field("call_id")).unwrap();
    assert!(reference.contains(logged), "{reference}: {told:#?}");
}

async fn boom() -> Result<(), io::Error> {
    panic!("{SECRET}")
}

#[tokio::test]
async fn a_panic_in_a_task_is_one_line_however_it_is_contained() {
    for place in Place::ALL {
        for tool in [
            "task_panics",
            "task_awaits",
            "task_awaits_at_once",
            "task_spawns",
            "task_has_what_the_call_began",
        ] {
            let what = format!("{place:?}, {tool}");
            let (tasks, _capture) = place.serve(&Works::default()).await;
            let created = tasks.create_with(tool, json!({})).await;
            tasks.polled(&created).await;
            tasks.end(&created).await;
            let mut told = told(&tasks).await;
            // What was called meanwhile to wait for it.
            told.retain(|it| it.field("call_id") == Some(&created.call_id));
            assert_eq!(lines(&told), [DEFERRED, PANIC], "{what}: {told:#?}");
            assert_eq!(causes(&told), [SECRET], "{what}: {told:#?}");
            assert!(!tasks.received().contains(SECRET), "{what}: {}", tasks.received());
        }
    }
}

/// Of two that fail one is what the call or its task ends in; the other one has a line of its own.
#[tokio::test]
async fn the_causes_of_two_works_of_one_call_are_both_told() {
    for place in Place::ALL {
        for tool in ["both", "task_with_both", "task_with_both_in_it"] {
            let what = format!("{place:?}, {tool}");
            let (tasks, _capture) = place.serve(&Works::default()).await;
            if tool == "both" {
                tasks.call(tool, json!({})).await;
            } else {
                let created = tasks.create_with(tool, json!({})).await;
                tasks.polled(&created).await;
            }
            let told = told(&tasks).await;
            let mut lines = lines(&told);
            lines.retain(|line| line != DEFERRED);
            lines.sort_unstable();
            let lost = "ERROR tool_failed fault internal_error";
            assert_eq!(lines, [FAULT, lost], "{what}: {told:#?}");
            let mut causes = causes(&told);
            causes.sort_unstable();
            assert_eq!(causes, ["one", "other"], "{what}: {told:#?}");
            assert_of_one_call(&what, &told);
            let end = told.iter().find(|it| line(it) == FAULT).unwrap();
            assert_eq!(end.field("cause"), Some("other"), "{what}: what it ended in: {end:?}");
        }
    }
}

/// The hook tells where a panic was, and nothing twice. It is one for the process.
#[tokio::test]
async fn with_the_hook_a_panic_is_one_line_too() {
    if !alone::is_alone("contained::with_the_hook_a_panic_is_one_line_too") {
        return;
    }
    install_panic_hook();
    for place in Place::ALL {
        check_left_behind(place, "forgotten_later").await;
        for tool in ["awaited", "spawned", "nested"] {
            let (tasks, _capture) = place.serve(&Works::default()).await;
            tasks.call(tool, json!({})).await;
            let told = told(&tasks).await;
            assert_eq!(lines(&told), [PANIC], "{place:?}, {tool}: {told:#?}");
            assert_eq!(causes(&told), [SECRET], "{place:?}, {tool}: {told:#?}");
        }
    }
}
