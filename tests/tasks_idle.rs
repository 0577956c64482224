//! Tasks where nobody listens: the layers then read no request that they need not, and hold what no
//! client may read all the same.
//!
//! No test here may install a subscriber, nor make a layer with a hook or a policy: `tracing` keeps one
//! level for the whole process, and what one layer needs to know all layers then find out.

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
#[path = "tasks_http/notices.rs"]
mod notices;
#[path = "tasks_http/rows.rs"]
mod rows;
#[path = "http_stacks/script.rs"]
mod script;

use serde_json::json;
use tower::{Layer as _, ServiceBuilder};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};
use tracing::level_filters::LevelFilter;

use crate::{
    bench::{Carrier, SECRET, listen, result, server},
    kit::send,
    notices::Notice,
    rows::{MAX_REQUEST_BYTES, wrong_with},
};

/// Runs rows through a layer.
macro_rules! check {
    ($layer:expr, $rows:expr) => {{
        let layer = $layer;
        let mut wrong = Vec::new();
        for (row, carrier) in $rows {
            let got = row.got(&layer, carrier).await;
            wrong.extend(wrong_with(&row, carrier, &got));
        }
        assert_eq!(LevelFilter::current(), LevelFilter::OFF, "somebody listens");
        assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
    }};
}

rows::in_every_layer!();

/// Whoever watches for a client that leaves reads the request in the middle of it.
#[tokio::test]
async fn by_layers_that_watch_for_who_leaves() {
    let layer = OutcomeLayer::new().max_request_bytes(MAX_REQUEST_BYTES);
    check!(layer.abort_on_cancel(true), rows::all());
    let layer = ContainLayer::new().max_request_bytes(MAX_REQUEST_BYTES);
    check!(layer.abort_on_cancel(true), rows::all());
}

/// What cannot be read to its end, other clients may be able to read.
#[tokio::test]
async fn an_answer_that_is_no_json_to_everybody_is_held_too() {
    check!(OutcomeLayer::new(), rows::broken());
}

/// Sends these on a stream of what the server sends by itself.
async fn check_notices(notices: Vec<(Notice, Carrier)>) {
    let mut wrong = Vec::new();
    for (notice, carrier) in notices {
        let text = notice.text.clone();
        let service = server(move |_, _| carrier.respond(text.clone()));
        for aborts in [false, true] {
            let layer = OutcomeLayer::new().abort_on_cancel(aborts);
            let got = send(layer.layer(service.clone()), listen()).await;
            if got.text().contains(SECRET) || got.error.is_some() {
                wrong.push(format!("{}, {carrier:?}, {aborts}: {}", notice.what, got.text()));
            }
        }
    }
    assert_eq!(LevelFilter::current(), LevelFilter::OFF, "somebody listens");
    assert!(wrong.is_empty(), "{} wrong:\n- {}", wrong.len(), wrong.join("\n- "));
}

#[tokio::test]
async fn a_notification_says_nothing() {
    check_notices(notices::all()).await;
}

/// What cannot be read to its end, other clients may be able to read.
#[tokio::test]
async fn a_notification_that_is_no_json_to_everybody_says_nothing() {
    check_notices(notices::broken()).await;
}

/// What says nothing of a failure goes by as it is, byte for byte.
#[tokio::test]
async fn a_task_that_goes_on_is_not_touched() {
    for carrier in Carrier::ALL {
        for (request, state) in rows::harmless() {
            let said = result(&json!(9), &state);
            let service = server(move |_, _| carrier.carry(&said));
            let (parts, body) = request.into_parts();
            let again = || http::Request::from_parts(parts.clone(), body.clone());
            let bare = send(service.clone(), again()).await;
            let got = send(OutcomeLayer::new().layer(service), again()).await;
            assert_eq!(got.frames.concat(), bare.frames.concat(), "{carrier:?}: {state}");
        }
    }
    assert_eq!(LevelFilter::current(), LevelFilter::OFF, "somebody listens");
}
