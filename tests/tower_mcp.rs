//! The table of `endings.rs` over tower-mcp: `misbehaving_tower_mcp` ends in the same ways, over
//! stdio and HTTP, with layers round the router, round the HTTP service, and round both.
//!
//! Where a row comes out otherwise than over rmcp, `tower_mcp/column.rs` says how, and why.
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
#[path = "tower_mcp/column.rs"]
mod column;
#[path = "tower_mcp/inside.rs"]
mod inside;
#[path = "tower_mcp/leaving.rs"]
mod leaving;
#[path = "endings/row.rs"]
mod row;
#[path = "endings/rows.rs"]
mod rows;
#[path = "tower_mcp/server.rs"]
mod server;
#[path = "tower_mcp/tasks.rs"]
mod tasks;

use support::{Client, Layers, Transport};

const EXAMPLE: &str = "misbehaving_tower_mcp";

/// Goes through the whole table.
async fn every_ending(transport: Transport, layers: Layers) {
    let client = Client::connect_to(EXAMPLE, transport, layers).await;
    if matches!(transport, Transport::Stateful | Transport::Stateless | Transport::Json) {
        // What a server sends by itself comes here, the progress of a call included.
        client.listen().await;
    }
    let mut wrong = Vec::new();
    let rows = column::rows(transport, layers);
    for row in &rows {
        assert_eq!(row.impossible_over(transport), None, "'{}'", row.name);
        wrong.extend(check::row(&client, row).await);
    }
    wrong.extend(leaving::calls_without_a_client(&client, transport, layers).await);
    wrong.extend(check::whole_session(&client, &rows));
    report(transport, &wrong);
}

/// All rows several times over, without waiting for any answer in between.
async fn all_at_once(transport: Transport, layers: Layers) {
    let client = Client::connect_to(EXAMPLE, transport, layers).await;
    let mut rows = column::rows(transport, layers);
    rows.retain(|row| row.name != rows::EDIT);
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

macro_rules! one_test_a_way {
    ($($name:ident: $transport:ident, $layers:ident;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                every_ending(Transport::$transport, Layers::$layers).await;
            }
        )+
    };
}

one_test_a_way! {
    over_stdio: Stdio, Typed;
    over_http_with_sessions: Stateful, Typed;
    over_http_without_sessions: Stateless, Typed;
    over_http_with_json_answers: Json, Typed;
    over_stdio_in_2026_07_28: Stdio2026, Typed;
    over_http_in_2026_07_28: Http2026, Typed;
    inside_both_in_2026_07_28: Http2026, Both;
    inside_both_with_json_answers_in_2026_07_28: Json2026, Both;
    over_a_web_socket: WebSocket, Typed;
    over_a_web_socket_that_both_are_round: WebSocket, Both;
    inside_http_layers_with_sessions: Stateful, Http;
    inside_http_layers_without_sessions: Stateless, Http;
    inside_http_layers_with_json_answers: Json, Http;
    inside_http_layers_in_2026_07_28: Http2026, Http;
    inside_http_layers_with_json_answers_in_2026_07_28: Json2026, Http;
    inside_both_with_sessions: Stateful, Both;
    inside_both_without_sessions: Stateless, Both;
    inside_both_with_json_answers: Json, Both;
}

#[tokio::test]
async fn all_at_once_over_stdio() {
    all_at_once(Transport::Stdio, Layers::Typed).await;
}

#[tokio::test]
async fn all_at_once_over_http_in_both() {
    all_at_once(Transport::Stateful, Layers::Both).await;
}
