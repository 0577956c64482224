//! Where somebody listens: whatever the answer to a question for a task looks like, what no client may
//! read is in none of its bytes, and is in the log.

use tower::ServiceBuilder;
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};

use crate::{
    bench::{Carrier, SECRET},
    rows::{self, MAX_REQUEST_BYTES, Row, wrong_with},
    support::Logs,
};

/// These rows are some indeed: without layers they say what they must not.
#[tokio::test]
async fn without_layers_all_of_it_goes_out() {
    let all = [rows::all(), rows::broken()];
    for (row, carrier) in all.into_iter().flatten() {
        let got = row.got_bare(carrier).await;
        assert!(got.text().contains(SECRET), "{}, {carrier:?}: {got:?}", row.what);
    }
}

/// Runs rows through a layer.
macro_rules! check {
    ($layer:expr, $rows:expr) => {{
        let layer = $layer;
        let mut wrong = Vec::new();
        for (row, carrier) in $rows {
            let (logs, _capture) = Logs::capture();
            let got = row.got(&layer, carrier).await;
            wrong.extend(wrong_with(&row, carrier, &got));
            wrong.extend(untold(&row, carrier, &logs, &got.text()));
        }
        assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
    }};
}

/// Whether the log does not have, once, what the client has not, where the client's reference leads.
fn untold(row: &Row, carrier: Carrier, logs: &Logs, text: &str) -> Option<String> {
    let mut causes = logs.of_target("tower_outcome");
    causes.retain(|it| it.field("cause").is_some());
    let is_led_to = |references: &[Option<&str>]| {
        references.iter().flatten().any(|reference| text.contains(reference))
    };
    let is_told = match &*causes {
        [it] => {
            is_led_to(&[it.field("call_id"), it.field("reference")])
                && it.field("cause").is_some_and(|it| !row.is_message || it.contains(SECRET))
        }
        _ => false,
    };
    (!is_told).then(|| format!("{}, {carrier:?}: in the log: {causes:?}", row.what))
}

rows::in_every_layer!();

#[tokio::test]
async fn by_a_layer_that_watches_for_who_leaves() {
    let layer = OutcomeLayer::new().max_request_bytes(MAX_REQUEST_BYTES);
    check!(layer.abort_on_cancel(true), rows::all());
}

/// What cannot be read to its end, other clients may be able to read.
#[tokio::test]
async fn an_answer_that_is_no_json_to_everybody_is_held_too() {
    let mut wrong = Vec::new();
    for (row, carrier) in rows::broken() {
        let got = row.got(&OutcomeLayer::new(), carrier).await;
        wrong.extend(wrong_with(&row, carrier, &got));
    }
    assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
}
