//! Code of the server's author that the layers call: subscribers, hooks, redactors and recognisers.
//! What of it panics costs its own output.

use std::{
    borrow::Cow,
    panic::panic_any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    ServiceExt as _,
    model::{CallToolResult, ContentBlock},
};
use serde_json::json;
use tower_outcome::{
    Heals, LogLayer, OutcomeLayer, Policy, Record, Redact, ServerHandlerExt as _, ToolError,
};
use tracing::{Event, Metadata, Subscriber, span, subscriber::Interest};

use crate::{
    child::{Server, Stderr},
    fields::assert_fit_to_print,
    kit::{Tools, boom, call, connect_bare, connect_in, line, our_lines},
    support::{Client, Logs, Revision, alone::is_alone},
};

pub(crate) fn endings() -> Tools {
    Tools::new()
        .with("declared", |_| async {
            Err::<String, _>(ToolError::rejected("unknown_note", "No note at 'x'."))
        })
        .with("unknown", |_| async {
            Err::<String, ToolError>(std::io::Error::other("disk").into())
        })
        .with("is_error", |_| async { CallToolResult::error(vec![ContentBlock::text("quota")]) })
        .with("panic", |_| async { boom("payload") })
        .with("hang", |_| std::future::pending::<String>())
}

/// Each ending, and how its answer begins.
const ENDINGS: [(&str, &str); 5] = [
    ("ok", "fine"),
    ("declared", "No note at 'x'."),
    ("unknown", "This call was fine, but the server could not"),
    ("is_error", "quota"),
    ("panic", "This call was fine, but the server could not"),
];

async fn assert_answers(what: &str, client: &Client) {
    // Twice, so that what one call breaks costs the next one.
    for (tool, text) in ENDINGS.into_iter().chain(ENDINGS) {
        let answer = client.call(tool, json!({})).await;
        assert!(answer.text().starts_with(text), "{what}: {tool} is answered with {answer:?}");
    }
    assert!(client.request("ping", json!({})).await.result().is_some(), "{what}");
}

pub(crate) async fn assert_logs(client: &Client, before: usize) {
    for (tool, expected) in [
        ("ok", "INFO tool_call_completed completed -"),
        ("declared", "INFO tool_call_failed rejected unknown_note"),
        ("unknown", "ERROR tool_call_failed fault internal_error"),
        ("is_error", "ERROR tool_call_failed undeclared undeclared_error"),
        ("panic", "ERROR tool_call_failed fault panic"),
    ] {
        assert_eq!(line(&call(client, tool, json!({})).await.1), expected);
    }
    assert_eq!(our_lines(client).len() - before, 5, "{}", client.logs().raw());
}

/// Where a subscriber panics, of what is ours.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Enabled,
    Event,
    NewSpan,
    /// The payload panics too, when it is dropped.
    EventWithABomb,
}

struct Panics(At, Arc<AtomicUsize>);

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the payload of a subscriber's panic");
        }
    }
}

impl Panics {
    fn at(&self, here: At, metadata: &Metadata<'_>) {
        if self.0 == here && metadata.target() == "tower_outcome" {
            self.1.fetch_add(1, Ordering::Relaxed);
            match here {
                At::EventWithABomb => panic_any(Bomb),
                _ => panic!("the subscriber panics at {here:?}"),
            }
        }
    }
}

impl Subscriber for Panics {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.at(At::Enabled, metadata);
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        self.at(At::NewSpan, attributes.metadata());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        self.at(At::Event, event.metadata());
        self.at(At::EventWithABomb, event.metadata());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

async fn check_subscriber(at: At) {
    let client = connect_in(endings(), OutcomeLayer::new().span(true)).await;
    // What comes with the handshake is logged by now.
    client.call("ok", json!({})).await;
    let before = our_lines(&client).len();
    let panics = Arc::new(AtomicUsize::new(0));
    let guard = tracing::subscriber::set_default(Panics(at, Arc::clone(&panics)));
    assert_answers(&format!("{at:?}"), &client).await;
    drop(guard);
    assert!(panics.load(Ordering::Relaxed) >= ENDINGS.len(), "{at:?}: it was not asked to");
    assert_eq!(our_lines(&client).len(), before);
    // And nothing is broken for the next subscriber.
    assert_logs(&client, before).await;
}

#[tokio::test]
async fn a_subscriber_that_panics_on_our_events() {
    check_subscriber(At::Event).await;
}

#[tokio::test]
async fn a_subscriber_that_panics_on_our_events_with_a_payload_that_panics() {
    check_subscriber(At::EventWithABomb).await;
}

#[tokio::test]
async fn a_subscriber_that_panics_when_it_is_asked_whether_it_listens() {
    check_subscriber(At::Enabled).await;
}

#[tokio::test]
async fn a_subscriber_that_panics_on_our_span() {
    check_subscriber(At::NewSpan).await;
}

/// There is no containment that could help.
#[tokio::test]
async fn a_subscriber_that_panics_where_nothing_contains() {
    for at in [At::Event, At::Enabled] {
        let client = connect_bare(Tools::new().layered_uncontained(LogLayer::new())).await;
        client.call("ok", json!({})).await;
        let guard = tracing::subscriber::set_default(Panics(at, Arc::default()));
        for _ in 0..2 {
            assert_eq!(client.call("ok", json!({})).await.text(), "fine", "{at:?}");
        }
        drop(guard);
        assert_eq!(call(&client, "ok", json!({})).await.1.level, "INFO");
    }
}

#[tokio::test]
async fn a_hook_that_panics_costs_neither_the_line_nor_the_other_hooks() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let layer = OutcomeLayer::new()
        .hook(|_: &Record| panic!("a broken hook"))
        .hook(|_: &Record| panic_any(Bomb))
        .hook(move |record: &Record| {
            if record.tool.is_some() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    let client = connect_in(endings(), layer).await;
    assert_answers("hooks", &client).await;
    let before = our_lines(&client).len();
    assert_eq!((before, told.load(Ordering::Relaxed)), (10, 10));
    assert_logs(&client, before).await;
    assert_eq!(told.load(Ordering::Relaxed), 15);
}

/// The call ends while its thread unwinds, because nothing contains it.
#[tokio::test]
async fn a_hook_that_panics_while_the_thread_unwinds() {
    let layer = LogLayer::new().hook(|_: &Record| panic!("a broken hook"));
    let client = connect_bare(endings().layered_uncontained(layer)).await;
    for _ in 0..2 {
        let id = client.start_call("panic", json!({})).await;
        let end = client.logs().wait_for_end(&id).await.unwrap();
        assert_eq!(line(&end), "ERROR tool_call_failed fault panic");
        assert_eq!(call(&client, "ok", json!({})).await.0.text(), "fine");
    }
}

/// A hook may do what code in a tool may: log, and ask for the call.
#[tokio::test]
async fn a_hook_that_logs_and_looks_around() {
    let layer = OutcomeLayer::new().hook(|record: &Record| {
        tracing::info!(target: "a_hook", outcome = %record.outcome, "told");
        if let Some(call) = tower_outcome::Call::current() {
            call.note("from", "a hook");
            assert!(!call.id().to_string().is_empty());
        }
    });
    let client = connect_in(endings(), layer).await;
    assert_logs(&client, 0).await;
    // `initialize`, its notification, and the calls.
    assert!(client.logs().of_target("a_hook").len() >= 6);
}

/// In a process of its own, since subscribers of other tests count as somebody who listens.
#[tokio::test]
async fn nobody_listens_and_the_answers_are_the_same() {
    if !is_alone("observers::nobody_listens_and_the_answers_are_the_same") {
        return;
    }
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let hooked = OutcomeLayer::new().hook(move |record: &Record| {
        count.fetch_add(usize::from(record.tool.is_some()), Ordering::Relaxed);
    });
    for layer in [OutcomeLayer::new(), OutcomeLayer::new().span(true), hooked] {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let server = endings().layered(layer);
        tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
        let client = Client::over_pipe(ours, Revision::V2025, Logs::default());
        client.initialize("nobody").await;
        assert_answers("nobody", &client).await;
        let hang = client.start_call("hang", json!({})).await;
        client.cancel(&hang).await;
        assert_answers("after a cancel", &client).await;
    }
    assert_eq!(told.load(Ordering::Relaxed), 21);
}

#[tokio::test]
async fn a_log_that_takes_only_errors_has_all_of_them() {
    let client = connect_in(endings(), OutcomeLayer::new()).await;
    client.call("ok", json!({})).await;
    let errors = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::ERROR)
        .with_writer(errors.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    assert_answers("errors", &client).await;
    drop(guard);
    let events = errors.of_target("tower_outcome");
    let tools: Vec<_> = events.iter().map(|event| event.field("tool").unwrap()).collect();
    assert_eq!(tools, ["unknown", "is_error", "panic"].repeat(2));
    for event in events {
        for name in ["call_id", "request_id", "client_name", "session", "error", "outcome", "code"]
        {
            assert!(event.field(name).is_some(), "no {name} in {event:?}");
        }
        assert!(event.field("cause").is_some() || event.field("tool") == Some("is_error"));
    }
}

struct Fails;

impl Redact for Fails {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match text {
            "disk" => panic!("a broken redactor"),
            "payload" => panic_any(Bomb),
            // Not fit to print, and of any size.
            _ => "\u{1b}[2J\n\u{202e}".repeat(10_000).into(),
        }
    }
}

#[tokio::test]
async fn a_redactor_that_panics_costs_the_text_alone() {
    let client = connect_in(endings(), OutcomeLayer::new().redactor(Fails)).await;
    assert_answers("redactor", &client).await;
    assert_logs(&client, 10).await;
    for tool in ["unknown", "panic"] {
        let (_, event) = call(&client, tool, json!({})).await;
        let cause = event.field("cause").unwrap();
        assert!(!cause.contains("disk") && !cause.contains("payload"), "not redacted: {cause}");
        assert!(event.field("error").is_some(), "{event:?}");
    }
    // What a redactor returns is cut and escaped like any text.
    assert_fit_to_print(client.logs());
}

#[tokio::test]
async fn a_recogniser_that_panics_recognises_nothing() {
    let policy = Policy::new()
        .recognise(|_| panic!("a broken recogniser"))
        .recognise(|_| panic_any(Bomb))
        .recognise(|error| (error.to_string() == "busy").then_some(Heals::Timeout));
    let tools = endings()
        .with("busy", |_| async { Err::<String, ToolError>(std::io::Error::other("busy").into()) });
    let client = connect_in(tools, OutcomeLayer::new().policy(policy)).await;
    assert_answers("recogniser", &client).await;
    assert_logs(&client, 10).await;
    let (_, event) = call(&client, "busy", json!({})).await;
    assert_eq!(line(&event), "WARN tool_call_failed fault timeout", "the next one is asked");
}

/// Each write of a log line fails, and tracing's own report of that panics.
#[tokio::test]
async fn a_closed_stderr_costs_no_answer() {
    let filter = "off,tower_outcome=debug";
    for flags in [&[][..], &["--panic-hook"]] {
        let mut server = Server::start_with(flags, filter, Stderr::Closed).await;
        let fixed = "This call was fine, but the server could not";
        for round in 0..3 {
            for (at, (tool, arguments, text)) in [
                ("ok", json!({}), "ok"),
                ("fail_unknown", json!({ "text": "disk" }), fixed),
                ("fail_is_error", json!({ "text": "quota" }), "quota"),
                ("panic", json!({ "text": "boom", "when": "first_poll" }), fixed),
                ("panic", json!({ "text": "boom", "when": "spawned" }), fixed),
                ("read_note", json!({ "path": "x" }), "There is no note at this path."),
            ]
            .into_iter()
            .enumerate()
            {
                let answer =
                    server.call(round * 10 + i64::try_from(at).unwrap() + 1, tool, arguments).await;
                let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
                assert!(said.starts_with(text), "{flags:?}, {tool}: {answer}");
            }
        }
        let ended = server.finish().await;
        ended.assert_only_protocol();
        assert!(ended.status.success(), "{:?}", ended.status);
    }
}
