//! Failures that come dressed as successes, by rules that ask for much.

use serde_json::json;
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, Policy, SoftErrors};

use crate::{
    kit::{answers, call, json_response, send, whole_call},
    support::Logs,
};

/// A classifier that asks for more than is kept member by member is asked about all of it.
#[tokio::test]
async fn a_classifier_may_ask_for_any_number_of_members() {
    let keys = || (0..20).map(|key| format!("why{key}"));
    for (rules, expected) in [
        (SoftErrors::new().message_keys(keys()), "last"),
        (SoftErrors::new().status_keys(["a.b.c.d.e.f.g.h.i.j"]), "a.b.c.d.e.f.g.h.i.j=failed"),
        (SoftErrors::new().status_keys(["k".repeat(200)]).error_keys(["why19"]), "ok=false"),
    ] {
        let (logs, _guard) = Logs::capture();
        let deep = json!({"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {"j": "failed"}}}}}}}}});
        let payload = json!({ "a": deep, "ok": false, "why19": "last" });
        let result = json!({ "content": [], "structuredContent": payload });
        let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
        let service = OutcomeLayer::new()
            .policy(Policy::new().soft_errors(rules))
            .layer(answers(move || json_response(answer.clone())));
        send(service, call()).await;
        let end = whole_call(&logs);
        assert_eq!(
            (end.field("outcome"), end.field("error")),
            (Some("soft_error"), Some(expected))
        );
    }
}
