//! What of a task's end is not for the client, at every poll.

use serde_json::{Value, json};
use tower_outcome::{OutcomeLayer, Policy, Undeclared};

use crate::{
    bench::{Bench, FAULT, UNDECLARED, Way},
    kit::line,
    support::Event,
    work::SECRET,
};

const RECORD: &str = "tower-outcome/failure";

fn masking(way: Way) -> Bench {
    let policy = Policy::new().undeclared(Undeclared::Mask);
    Bench::with(way, &OutcomeLayer::new().policy(policy))
}

/// Checks that a text is the fixed one, under the reference of the task's line.
fn assert_fixed(way: Way, text: &Value, end: &Event) {
    let text = text.as_str().unwrap_or_default();
    assert!(text.contains("was fine, but the server could not complete it"), "{way:?}: {text}");
    let reference = end.field("call_id").unwrap();
    assert!(text.contains(&format!("reference {reference})")), "{way:?}: {text}, {end:?}");
}

#[tokio::test]
async fn an_internal_error_is_replaced_at_every_poll_under_one_reference() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "leak" }), None).await;
        let mut answers = Vec::new();
        for session in [0, 1, 0] {
            answers.push(bench.result(session, &id).await["error"].clone());
            bench.get(session, &id).await;
        }
        let end = bench.end_of(&id);
        assert_eq!(line(&end), FAULT, "{way:?}");
        assert!(end.field("cause").unwrap().contains(SECRET), "{way:?}: {end:?}");
        for error in &answers {
            assert_eq!(error["code"], -32603, "{way:?}: {error}");
            assert_fixed(way, &error["message"], &end);
            assert_eq!(error["data"][RECORD]["outcome"], "fault", "{way:?}: {error}");
            let reference = error["data"][RECORD]["reference"].as_str();
            assert_eq!(reference, end.field("call_id"), "{way:?}: {error}");
            assert_eq!(end.field("error"), error["message"].as_str(), "{way:?}");
        }
        assert!(!bench.received().contains(SECRET), "{way:?}: {}", bench.received());
    }
}

/// An author's own code is an author's own text: it passes as it is.
#[tokio::test]
async fn an_authors_own_error_is_not_replaced() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "error" }), None).await;
        for session in [0, 1] {
            let answer = bench.result(session, &id).await;
            let expected = json!({ "code": -31000, "message": "quota of 5 exceeded" });
            assert_eq!(answer["error"], expected, "{way:?}");
        }
        assert_eq!(line(&bench.end_of(&id)), UNDECLARED, "{way:?}");
    }
}

#[tokio::test]
async fn a_masked_result_and_its_status_message_are_replaced_at_every_poll() {
    for way in Way::ALL {
        let bench = masking(way);
        let id = bench.create(json!({ "ends": "secret_is_error", "ms": 10 }), Some(60_000)).await;
        bench.server.ended(&id).await;
        let mut states = vec![bench.get(0, &id).await];
        bench.assert_open(&id);
        let mut results = Vec::new();
        for session in [1, 0] {
            results.push(bench.result(session, &id).await);
            states.push(bench.get(session, &id).await);
        }
        let end = bench.end_of(&id);
        assert_eq!(line(&end), UNDECLARED, "{way:?}");
        assert!(end.field("cause").unwrap().contains(SECRET), "{way:?}: {end:?}");
        assert!(!bench.received().contains(SECRET), "{way:?}: {}", bench.received());
        for state in &states {
            let state = &state["result"];
            assert_fixed(way, &state["statusMessage"], &end);
            let said = [&state["taskId"], &state["status"], &state["createdAt"], &state["ttl"]];
            let expected = json!([id, "failed", "2025-11-25T10:30:00Z", 60_000]);
            assert_eq!(json!(said), expected, "{way:?}: {state}");
        }
        for answer in &results {
            // As the call would have been answered.
            assert_eq!(answer["result"]["isError"], true, "{way:?}: {answer}");
            assert_fixed(way, &answer["result"]["content"][0]["text"], &end);
            let reference = answer["result"]["_meta"][RECORD]["reference"].as_str();
            assert_eq!(reference, end.field("call_id"), "{way:?}: {answer}");
        }
    }
}

/// Nothing else in it says which task it is of.
#[tokio::test]
async fn a_result_that_is_replaced_still_belongs_to_its_task() {
    for way in Way::HTTP {
        let bench = masking(way);
        let id = bench.create(json!({ "ends": "secret_is_error" }), None).await;
        let answer = bench.result(0, &id).await;
        assert!(!answer.to_string().contains(SECRET), "{way:?}: {answer}");
        let related = &answer["result"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], json!(id), "{way:?}: {answer}");
    }
}

/// What an author declares, and what is no failure, passes under a mask.
#[tokio::test]
async fn a_mask_is_for_what_declares_nothing() {
    for way in Way::ALL {
        for (ends, expected) in [
            ("ok", crate::bench::COMPLETED),
            ("soft", "ERROR tool_call_failed soft_error soft_error"),
            ("rejected", "INFO tool_call_failed rejected unknown_note"),
        ] {
            let (bare, bench) = (Bench::new(way), masking(way));
            let text = |answer: Value| answer["result"]["content"][0]["text"].clone();
            let id = bench.create(json!({ "ends": ends }), None).await;
            let masked = text(bench.result(0, &id).await);
            assert_eq!(line(&bench.end_of(&id)), expected, "{way:?}");
            drop(bench);
            let id = bare.create(json!({ "ends": ends }), None).await;
            assert_eq!(text(bare.result(0, &id).await), masked, "{way:?}, {ends}");
        }
    }
}

/// Answers that have nothing to hide are the server's own.
#[tokio::test]
async fn what_is_not_replaced_is_the_same() {
    for way in Way::ALL {
        for ends in ["ok", "is_error", "soft", "error", "large", "large_is_error"] {
            let bench = Bench::new(way);
            let id = bench.create(json!({ "ends": ends }), Some(60_000)).await;
            bench.server.ended(&id).await;
            for method in ["tasks/get", "tasks/result"] {
                let params = json!({ "taskId": id });
                let asked = json!({ "id": 1, "method": method, "params": params });
                let own = bench.server.handle("beside", &asked).await;
                let own = own.into_message(&json!(1)).unwrap();
                let got = bench.ask(0, method, params).await;
                assert_eq!(got["result"], own["result"], "{way:?}, {ends}");
                assert_eq!(got["error"], own["error"], "{way:?}, {ends}");
            }
        }
    }
}
