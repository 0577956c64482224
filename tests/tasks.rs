//! Tasks in the form of SEP-2663, on rmcp: every way that one can end, over every transport and with
//! the layers in every place, is one line in the log, however often and by whomever it is polled.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "tasks/cancels.rs"]
mod cancels;
#[path = "tasks/check.rs"]
mod check;
#[path = "tasks/connections.rs"]
mod connections;
#[path = "tasks/forgetting.rs"]
mod forgetting;
#[path = "tasks/kit.rs"]
mod kit;
#[path = "tasks/notifications.rs"]
mod notifications;
#[path = "tasks/policies.rs"]
mod policies;
#[path = "tasks/questions.rs"]
mod questions;
#[path = "tasks/rows.rs"]
mod rows;
#[path = "tasks/without.rs"]
mod without;

use support::{Layers, Transport};

/// Every row, one after the other, then all of them at once.
async fn every_end(transport: Transport, layers: Layers) {
    let tasks = kit::Tasks::connect(transport, layers).await;
    let mut wrong = Vec::new();
    for row in rows::all(layers) {
        wrong.extend(check::row(&tasks, &row).await);
    }
    wrong.extend(check::all_at_once(&tasks, &rows::all(layers)).await);
    wrong.extend(check::whole_run(&tasks, layers));
    let count = wrong.len();
    assert!(
        wrong.is_empty(),
        "{transport:?}, {layers:?}: {count} wrong:\n- {}\n",
        wrong.join("\n- ")
    );
}

macro_rules! one_test_a_place {
    ($($name:ident: $transport:ident $layers:ident,)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                every_end(Transport::$transport, Layers::$layers).await;
            }
        )+
    };
}

one_test_a_place! {
    over_a_pipe: Duplex Typed,
    over_stdio: Stdio Typed,
    over_stdio_in_2026_07_28: Stdio2026 Typed,
    with_sessions_round_the_handler: Stateful Typed,
    with_sessions_round_http: Stateful Http,
    with_sessions_round_both: Stateful Both,
    without_sessions_round_the_handler: Stateless Typed,
    without_sessions_round_http: Stateless Http,
    without_sessions_round_both: Stateless Both,
    with_json_answers_round_the_handler: Json Typed,
    with_json_answers_round_http: Json Http,
    with_json_answers_round_both: Json Both,
    in_2026_07_28_round_the_handler: Http2026 Typed,
    in_2026_07_28_round_http: Http2026 Http,
    in_2026_07_28_round_both: Http2026 Both,
    in_2026_07_28_with_json_answers_round_the_handler: Json2026 Typed,
    in_2026_07_28_with_json_answers_round_http: Json2026 Http,
    in_2026_07_28_with_json_answers_round_both: Json2026 Both,
}
