//! B: what belongs on stdout and stderr, bad lines, and the end of a session.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tracing::{Event, Metadata, Subscriber, span};

use crate::{
    child::{self, Server},
    kit::{Tools, assert_fixed, boom, call, connect},
    support::alone,
};

#[tokio::test]
async fn b1_a_servers_stdout_is_json_lines_and_its_log_is_elsewhere() {
    let mut server = Server::start(&["--panic-hook"], "debug").await;
    for (id, tool, arguments) in [
        (1, "ok", json!({})),
        (2, "fail_unknown", json!({ "text": "no such table" })),
        (3, "fail_is_error", json!({ "text": "quota" })),
        (4, "panic", json!({ "text": "boom", "when": "first_poll" })),
        (5, "no_such_tool", json!({})),
    ] {
        server.call(id, tool, arguments).await;
    }
    let ended = server.finish().await;
    ended.assert_only_protocol();
    assert!(!ended.stderr.contains('\u{1b}'), "colours in the log");
    let ends = ended.events("tower_outcome");
    let ends = ends.iter().filter(|event| event["fields"]["tool"].is_string());
    assert_eq!(ends.filter(|event| event["fields"]["outcome"].is_string()).count(), 5);
    // The first program that a reader copies does the same.
    let readme = include_str!("../../README.md");
    for word in [".with_writer(std::io::stderr)", ".with_ansi(false)"] {
        assert!(readme.contains(word), "the README's server lacks {word}");
    }
}

#[tokio::test]
async fn b3_a_panic_hook_that_prints_to_stdout_is_kept_out_by_ours() {
    const TEST: &str = "b_stdio::b3_a_panic_hook_that_prints_to_stdout_is_kept_out_by_ours";
    const OURS: &str = "TOWER_OUTCOME_TEST_HOOK";
    if alone::is_child(TEST) {
        std::panic::set_hook(Box::new(|_| println!("printed by the author's hook")));
        if std::env::var(OURS).is_ok() {
            tower_outcome::install_panic_hook();
        }
        println!("\n<<<");
        let client = connect(Tools::new().with("panic", |_| async { boom("payload") })).await;
        let (answer, event) = call(&client, "panic", json!({})).await;
        println!(">>>");
        assert_fixed(&answer, &event);
        return;
    }
    let printed = |output: std::process::Output| {
        assert!(output.status.success(), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let (_, rest) = stdout.split_once("<<<\n").unwrap();
        rest.split_once(">>>\n").unwrap().0.to_owned()
    };
    // Nothing of ours, either way; the author's own hook runs unless ours was asked for.
    assert_eq!(printed(alone::again(TEST, &[])), "printed by the author's hook\n");
    assert_eq!(printed(alone::again(TEST, &[(OURS, "1")])), "");
}

/// Panics on each event of ours, and counts how often it was asked to.
struct Panics(Arc<AtomicUsize>);

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tower_outcome"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("failed printing to stderr: Resource temporarily unavailable (os error 11)");
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn b5_a_log_line_that_panics_costs_no_answer_and_is_not_logged_again() {
    let tools = Tools::new().with("panic", |_| async { boom("payload") });
    let client = connect(tools).await;
    // What comes with the handshake is logged by now.
    client.call("ok", json!({})).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let guard = tracing::subscriber::set_default(Panics(count));
    for (tool, text) in [("panic", "the server could not"), ("ok", "fine")] {
        let before = asked.load(Ordering::Relaxed);
        let answer = client.call(tool, json!({})).await;
        assert!(answer.text().contains(text), "{answer:?}");
        // One for the start, one for the end.
        assert_eq!(asked.load(Ordering::Relaxed) - before, 2, "{tool}");
    }
    drop(guard);
    let (answer, event) = call(&client, "ok", json!({})).await;
    assert_eq!((answer.text().as_str(), event.level.as_str()), ("fine", "INFO"));
}

#[tokio::test]
async fn b7_bytes_that_are_no_text_do_not_end_the_session() {
    let mut server = Server::start(&[], "info").await;
    assert_eq!(server.call(1, "ok", json!({})).await["result"]["content"][0]["text"], "ok");
    for bytes in [&b"\xff\xfe"[..], b"", b"\0", b"{", b"\xef\xbb\xbf", b"\xed\xa0\x80{}"] {
        server.send(bytes).await;
    }
    assert_eq!(server.call(2, "ok", json!({})).await["result"]["content"][0]["text"], "ok");
    let ended = server.finish().await;
    ended.assert_only_protocol();
    let lines: Vec<String> = ended.events("tower_outcome").iter().map(child::line).collect();
    assert_eq!(lines, ["INFO tool_call_completed completed -"; 2]);
}

#[tokio::test]
async fn b9_the_end_of_a_session_is_no_failure() {
    for calls in 0..2 {
        let mut server = Server::start(&[], "info,tower_outcome=debug").await;
        for id in 1..=calls {
            server.call(id, "ok", json!({})).await;
        }
        let ended = server.finish().await;
        assert!(ended.status.success(), "{}", ended.stderr);
        ended.assert_only_protocol();
        assert_eq!(ended.alarms(), [""; 0]);
    }
}
