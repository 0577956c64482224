use serde_json::{Value, json};

use super::*;
use crate::{Actor, Kind, Level, tool_error::Declaration};

type Kinds = ContradictionKind;

fn batch() -> Batch {
    Batch::new(["p1", "p2", "p3"]).unwrap()
}

fn after(report: impl FnOnce(&mut Batch) -> &mut Batch) -> Batch {
    let mut batch = batch();
    report(&mut batch);
    batch
}

fn item() -> String {
    "p1".to_owned()
}

/// The record that goes with the failure.
fn record(error: ToolError) -> Declaration {
    error.render(Kind::ToolCall).declaration
}

#[test]
fn what_is_no_batch_is_refused() {
    assert_eq!(*Batch::new([""; 0]).unwrap_err().kind(), Kinds::Empty);
    assert_eq!(*Batch::new(["p1", " \n"]).unwrap_err().kind(), Kinds::Blank);
    let twice = Batch::new(["p1", "p2", "p1"]).unwrap_err();
    assert_eq!(*twice.kind(), Kinds::Duplicate { item: item() });
    assert_eq!(twice.item(), Some("p1"));
    let many = Batch::new(0..1_000_000).unwrap_err();
    assert_eq!(*many.kind(), Kinds::TooMany { limit: 10_000 });
    assert!(Batch::new(0..10_000).is_ok());
}

#[test]
fn what_the_model_sent_is_refused_to_the_model() {
    let all: Vec<(ToolError, &str)> = vec![
        (Batch::requested("ids", [""; 0]).unwrap_err(), "empty_batch"),
        (Batch::requested("ids", [" "]).unwrap_err(), "blank_item"),
        (Batch::requested("ids", ["a", "a"]).unwrap_err(), "duplicate_item"),
        (Batch::requested("ids", 0..10_001).unwrap_err(), "too_many_items"),
    ];
    for (error, code) in all {
        let declaration = error.declaration();
        assert_eq!((declaration.code().as_str(), declaration.actor()), (code, Actor::Model));
        assert_eq!(declaration.field.as_deref(), Some("ids"));
        let text = error.to_string();
        assert!(text.contains(" in ids.") && !text.contains("changed"), "{text}");
    }
    assert!(Batch::requested("ids", ["a", "b"]).is_ok());
}

#[test]
fn each_contradiction_names_the_item_and_what_to_do() {
    let status = |status| move |batch: Batch| batch.outcome_as(status).unwrap_err();
    let reported = |batch: Batch| batch.outcome().unwrap_err();
    let conflict = |first, then| Kinds::Conflict { item: item(), first, then };
    let all: Vec<(Contradiction, ContradictionKind, &str)> = vec![
        (
            reported(after(|it| it.confirm("p9").confirm("p1"))),
            Kinds::NotInBatch { item: "p9".into() },
            "item 'p9' was reported but never was in the batch: report items by the names that the \
             batch was made with",
        ),
        (
            reported(after(|it| it.confirm("p1").reject("p1", "no"))),
            conflict("confirmed", "rejected"),
            "item 'p1' was confirmed and then rejected: report an item once it is known what \
             became of it",
        ),
        (
            reported(after(|it| it.confirm("p1").lost("p1"))),
            conflict("confirmed", "lost"),
            "item 'p1' was confirmed and then lost: report an item once it is known what became of \
             it",
        ),
        (
            reported(after(|it| it.reject("p1", "no").confirm("p1"))),
            conflict("rejected", "confirmed"),
            "item 'p1' was rejected and then confirmed: report an item once it is known what \
             became of it",
        ),
        (
            reported(after(|it| it.reject("p1", "no").lost("p1"))),
            conflict("rejected", "lost"),
            "item 'p1' was rejected and then lost: report an item once it is known what became of \
             it",
        ),
        (
            status(BatchStatus::Succeeded)(after(|it| it.confirm("p2").confirm("p3"))),
            Kinds::Unresolved { item: item() },
            "the batch is said to have succeeded, but item 'p1' is not confirmed: confirm it, or \
             report what is left with `finish`",
        ),
        (
            status(BatchStatus::Partial)(after(|it| it.lost_rest())),
            Kinds::NothingConfirmed,
            "the batch is said to be partial, but no item is confirmed: confirm what took effect, \
             or report it as rejected or unknown",
        ),
        (
            status(BatchStatus::Partial)(after(|it| it.confirm("p1").confirm("p2").confirm("p3"))),
            Kinds::NothingUnresolved,
            "the batch is said to be partial, but every item is confirmed: report it as succeeded",
        ),
        (
            status(BatchStatus::Rejected)(after(|it| it.confirm("p1").reject_rest("no"))),
            Kinds::Confirmed { item: item(), status: BatchStatus::Rejected },
            "the batch is said to be rejected, but item 'p1' is confirmed: report it as partial",
        ),
        (
            status(BatchStatus::Unknown)(after(|it| it.confirm("p1").lost_rest())),
            Kinds::Confirmed { item: item(), status: BatchStatus::Unknown },
            "the batch is said to be unknown, but item 'p1' is confirmed: report it as partial",
        ),
        (
            status(BatchStatus::Rejected)(after(|it| it.reject("p2", "no").reject("p3", "no"))),
            Kinds::NotRejected { item: item() },
            "the batch is said to be rejected, but it is not known of item 'p1' that nothing was \
             done: reject it too, or report the batch as unknown",
        ),
        (
            status(BatchStatus::Unknown)(after(|it| it.reject_rest("no"))),
            Kinds::NothingUnknown,
            "the batch is said to be unknown, but every item was rejected: report it as rejected",
        ),
    ];
    for (found, kind, text) in all {
        assert_eq!((found.kind(), found.to_string().as_str()), (&kind, text));
        let error = ToolError::from(found);
        assert_eq!(error.cause().map(ToString::to_string).as_deref(), Some(text));
        let told = error.to_string();
        assert!(told.starts_with("This call was fine, but the server could not complete it."));
        assert!(!told.contains("contradict") && !told.contains("changed"), "{told}");
        let record = record(error);
        assert_eq!((record.code().as_str(), record.level()), ("contract_violation", Level::Error));
        assert_eq!(record.actor(), Actor::Operator);
    }
}

#[test]
fn a_contradiction_keeps_what_is_known_all_the_same() {
    let batch = after(|it| it.confirm("p1").confirm("p2").reject("p2", "no").confirm("p9"));
    let effects = batch.effects();
    let error = batch.finish().unwrap_err();
    assert_eq!(error.declaration().effects.as_ref(), Some(&effects));
    assert_eq!((effects.confirmed, effects.unknown), (vec![item()], true));
    assert_eq!(effects.unresolved, ["p2", "p3"]);
    assert_eq!(
        error.to_string(),
        "This call was fine, but the server could not complete it. Done: p1. Not confirmed: p2, \
         p3. What else took effect is unknown. Do not send what is done again, nor the rest before \
         you have checked what took effect; tell the user what was done, what is not confirmed, \
         and that the server has a problem."
    );
    // Also where it is an error that ends the work; the log has both.
    let batch = after(|it| it.confirm("p9"));
    let error = batch.stopped("broken pipe");
    assert_eq!(error.declaration().code(), "contract_violation");
    let source = error.cause().and_then(std::error::Error::source).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("broken pipe"));
}

#[test]
fn the_same_twice_and_what_is_found_again_are_no_contradictions() {
    let batch = after(|it| {
        it.confirm("p1").confirm("p1");
        it.lost("p2").lost("p2").confirm("p2");
        it.lost("p3").reject("p3", "no").reject("p3", "no")
    });
    assert_eq!(batch.status(), BatchStatus::Partial);
    assert_eq!(batch.outcome().unwrap().unresolved().collect::<Vec<_>>(), ["p3"]);
}

#[test]
fn each_end_is_declared_and_says_what_is_known() {
    let check = |batch: Batch, status: BatchStatus, code: &str, level, text: &str| {
        assert_eq!(batch.status(), status);
        assert_eq!(batch.clone().outcome_as(status).unwrap().status(), status);
        let error = batch.finish().unwrap_err();
        assert_eq!(error.declaration().code(), code);
        assert_eq!(error.to_string(), text);
        assert_eq!(record(error).level(), level);
    };
    check(
        after(|it| it.confirm("p1")),
        BatchStatus::Partial,
        "partial_failure",
        Level::Error,
        "1 of 3 items is confirmed. Done: p1. Not confirmed: p2, p3. The call was fine, but do not \
         send what is done again, nor the rest before you have checked which of the unconfirmed \
         took effect; tell the user what was done, what is not confirmed, and that the server has \
         a problem.",
    );
    check(
        after(|it| it.confirm("p1").confirm("p2").reject_rest("It is archived")),
        BatchStatus::Partial,
        "partial_failure",
        Level::Error,
        "2 of 3 items are confirmed. p3 was not done: It is archived. Done: p1, p2. Not done: p3. \
         Do not send what is done again; send the rest only once what stands against it is put \
         right, and tell the user what was done and what was not.",
    );
    // One is not known of: it has to be looked at, and stands first.
    check(
        after(|it| it.confirm("p1").reject("p2", "It is archived.").lost("p3")),
        BatchStatus::Partial,
        "partial_failure",
        Level::Error,
        "1 of 3 items is confirmed. p2 was not done: It is archived. Done: p1. Not confirmed: p3, \
         p2. The call was fine, but do not send what is done again, nor the rest before you have \
         checked which of the unconfirmed took effect; tell the user what was done, what is not \
         confirmed, and that the server has a problem.",
    );
    check(
        after(|it| it.reject("p2", "It is archived.").reject_rest("There is no such project")),
        BatchStatus::Rejected,
        "rejected",
        Level::Info,
        "p1, p3 were not done: There is no such project. p2 was not done: It is archived. Nothing \
         was changed.",
    );
    check(
        after(|it| it.lost_rest()),
        BatchStatus::Unknown,
        "outcome_unknown",
        Level::Error,
        "It is not known which of 3 items took effect, if any did. Not confirmed: p1, p2, p3. What \
         took effect is unknown. The call was fine, but do not send it again before you have \
         checked what took effect; tell the user what is not confirmed and that the server has a \
         problem.",
    );
    check(
        after(|it| it.reject("p1", "").reject("p2", "").lost("p3")),
        BatchStatus::Unknown,
        "outcome_unknown",
        Level::Error,
        "It is not known whether one of the items took effect. p1, p2 were not done. Not \
         confirmed: p3, p1, p2. What took effect is unknown. The call was fine, but do not send it \
         again before you have checked what took effect; tell the user what is not confirmed and \
         that the server has a problem.",
    );
}

#[test]
fn nothing_happened_is_only_said_where_each_item_was_rejected() {
    let says_nothing = |batch: &Batch| {
        let told =
            batch.stopped("x").to_string() + &batch.clone().finish().unwrap_err().to_string();
        assert_eq!(told.contains("Nothing was changed"), batch.effects().is_none(), "{told}");
        batch.effects().is_none()
    };
    assert!(!says_nothing(&batch()));
    assert!(!says_nothing(&after(|it| it.reject("p1", "no").reject("p2", "no"))));
    assert!(!says_nothing(&after(|it| it.lost("p1").reject_rest("no"))));
    assert!(!says_nothing(&after(|it| it.confirm("p1").reject_rest("no"))));
    assert!(says_nothing(&after(|it| it.reject_rest("no"))));
}

#[test]
fn an_error_that_stops_the_work_is_for_the_log() {
    let slow = || std::io::Error::from(std::io::ErrorKind::TimedOut);
    for (batch, code, actor, begins) in [
        (after(|it| it.confirm("p1")), "partial_failure", Actor::Operator, "1 of 3 items is"),
        (batch(), "outcome_unknown", Actor::Operator, "It is not known which of 3 items"),
        (after(|it| it.reject_rest("no")), "timeout", Actor::Time, "This call was fine, but"),
        (
            after(|it| it.confirm("p1").confirm("p2").confirm("p3")),
            "partial_failure",
            Actor::Operator,
            "Every item is confirmed, but what was to follow was not done. Done: p1, p2, p3. The",
        ),
    ] {
        let error = batch.stopped(slow());
        assert!(error.cause().is_some_and(|cause| cause.is::<std::io::Error>()));
        let text = error.to_string();
        assert!(text.starts_with(begins), "{text}");
        let record = record(error);
        assert_eq!((record.code().as_str(), record.actor()), (code, actor), "{text}");
    }
}

#[test]
fn a_batch_is_rejected_as_a_whole_before_anything_was_sent() {
    let error = batch().rejected("read_only", "The workspace is read-only.");
    assert_eq!(error.to_string(), "The workspace is read-only. Nothing was changed.");
    assert_eq!(error.declaration().code(), "read_only");
    for batch in
        [after(|it| it.confirm("p1")), after(|it| it.lost("p1")), after(|it| it.confirm("p9"))]
    {
        let error = batch.rejected("read_only", "The workspace is read-only.");
        assert_eq!(error.declaration().code(), "contract_violation");
        assert!(!error.to_string().contains("read-only"));
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let mut batch = Batch::new(0..2_000).unwrap();
    for done in 0..1_500 {
        batch.confirm(done);
    }
    let error = batch.clone().finish().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Done: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1490 more."), "{text}");
    assert!(text.contains("1508, 1509 and 490 more."), "{text}");
    let record = record(error).to_value();
    let effects = &record["effects"];
    assert_eq!(effects["confirmed"].as_array().map(Vec::len), Some(64));
    assert_eq!(
        (&effects["more_confirmed"], &effects["more_unresolved"]),
        (&json!(1436), &json!(436))
    );
    let read = Declaration::from_value(&record).unwrap();
    assert_eq!(read.to_value(), record);

    for rest in 1_500..2_000 {
        batch.confirm(rest);
    }
    let done = batch.finish().unwrap();
    assert_eq!(done.confirmed().len(), 2_000);
    let value = serde_json::to_value(&done).unwrap();
    assert_eq!(value["confirmed"].as_array().map(Vec::len), Some(64));
    assert_eq!(value["more_confirmed"], 1936);

    // By their length too; never in the middle of a name.
    let mut batch = Batch::new((0..20).map(|it| format!("{it:0100}"))).unwrap();
    batch.lost_rest();
    let text = batch.finish().unwrap_err().to_string();
    assert!(text.contains(&format!("{:0100} and 18 more.", 1)), "{text}");
}

#[test]
fn many_reasons_are_cut_and_counted() {
    let mut batch = Batch::new(0..30).unwrap();
    for item in 0..30 {
        batch.reject(item, format!("Reason {}.", if item < 10 { 0 } else { item }));
    }
    assert_eq!(
        batch.finish().unwrap_err().to_string(),
        "0, 1, 2, 3, 4 and 5 more were not done: Reason 0. 10 was not done: Reason 10. 11 was not \
         done: Reason 11. 18 more were not done for other reasons. Nothing was changed."
    );
    let mut batch = Batch::new(["a"]).unwrap();
    batch.reject("a", "x".repeat(1_000));
    assert!(batch.finish().unwrap_err().to_string().chars().count() < 300);
}

#[test]
fn only_a_success_is_serialised_and_it_has_nothing_unresolved() {
    let done = after(|it| it.confirm("p3").confirm("p1").confirm("p2")).finish().unwrap();
    let value: Value = serde_json::to_value(&done).unwrap();
    let expected =
        json!({ "status": "succeeded", "confirmed": ["p1", "p2", "p3"], "unresolved": [] });
    assert_eq!(value, expected);
}
