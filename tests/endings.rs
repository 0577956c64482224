//! Every way a call can end, over every transport: what the client is told, what the log says,
//! and that nothing internal is among what the client is told.
//!
//! One table of rows, in `endings/rows.rs`; one test a transport, which starts a server once and
//! goes through all rows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    missing_docs
)]

mod support;

#[path = "endings/check.rs"]
mod check;
#[path = "endings/leaving.rs"]
mod leaving;
#[path = "endings/row.rs"]
mod row;
#[path = "endings/rows.rs"]
mod rows;

use support::{Client, Layers, Transport};

/// Goes through the whole table, then through what is cancelled, then leaves.
async fn every_ending(transport: Transport) {
    let client = Client::connect(transport, Layers::Typed).await;
    let mut wrong = Vec::new();
    let rows = rows::all();
    for row in &rows {
        match row.impossible_over(transport) {
            Some(reason) => eprintln!("{transport:?}: '{}' is left out: {reason}", row.name),
            None => wrong.extend(check::row(&client, row).await),
        }
    }
    wrong.extend(leaving::cancelled_calls(&client, transport).await);
    wrong.extend(leaving::a_call_whose_client_leaves(&client, transport).await);
    wrong.extend(check::whole_session(&client, &rows));
    report(transport, &wrong);
}

/// All rows several times over, without waiting for any answer in between.
async fn all_at_once(transport: Transport) {
    let client = Client::connect(transport, Layers::Typed).await;
    let rows = rows::all().into_iter().filter(|row| row.name != rows::EDIT);
    let rows: Vec<_> = rows.collect();
    let mut sent = Vec::new();
    for row in rows.iter().cycle().take(3 * rows.len()) {
        sent.push((row, client.start(row.method, row.params.clone()).await));
    }
    let mut wrong = Vec::new();
    for (row, id) in &sent {
        let of_row = check::end_of(&client, row, id).await;
        wrong.extend(of_row.into_iter().map(|wrong| format!("'{}': {wrong}", row.name)));
    }
    wrong.extend(check::whole_session(&client, &rows));
    report(transport, &wrong);
}

fn report(transport: Transport, wrong: &[String]) {
    let count = wrong.len();
    assert!(wrong.is_empty(), "{transport:?}: {count} wrong:\n- {}\n", wrong.join("\n- "));
}

macro_rules! one_test_a_transport {
    ($($name:ident: $transport:ident,)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                every_ending(Transport::$transport).await;
            }
        )+
    };
}

one_test_a_transport! {
    over_a_pipe: Duplex,
    over_stdio: Stdio,
    over_stdio_in_2026_07_28: Stdio2026,
    over_http_with_sessions: Stateful,
    over_http_without_sessions: Stateless,
    over_http_with_json_answers: Json,
    over_http_in_2026_07_28: Http2026,
    over_http_with_json_answers_in_2026_07_28: Json2026,
}

#[tokio::test]
async fn all_at_once_over_a_pipe() {
    all_at_once(Transport::Duplex).await;
}

#[tokio::test]
async fn all_at_once_over_stdio() {
    all_at_once(Transport::Stdio).await;
}

#[tokio::test]
async fn all_at_once_over_http_with_sessions() {
    all_at_once(Transport::Stateful).await;
}

#[tokio::test]
async fn all_at_once_over_http_in_2026_07_28() {
    all_at_once(Transport::Http2026).await;
}
