//! Work that is cut short, by a deadline or because nobody waits for it.

use std::{
    future::pending,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use serde_json::{Value, json};
use tower::{Service, ServiceBuilder, layer::layer_fn, limit::GlobalConcurrencyLimitLayer};
use tower_outcome::{
    McpRequest as _, OutcomeLayer, ServerHandlerExt as _,
    binding::rmcp::{RmcpReply, RmcpRequest},
    only_tools,
};

use crate::{
    kit::{Tools, call, connect, connect_bare, connect_in, end, line, our_lines, until},
    support::{Client, Event},
};

/// Counts its drops.
struct Held(Arc<AtomicU32>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a destructor, password=hunter2");
        }
    }
}

/// A server with tools that never return, and how often they were dropped.
fn hanging() -> (Tools, Arc<AtomicU32>) {
    let drops = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&drops);
    let tools = Tools::new()
        .with("hang", move |_| {
            let held = Held(Arc::clone(&counted));
            async move {
                let _held = held;
                pending::<String>().await
            }
        })
        .with("bomb", |_| async {
            let _bomb = Bomb;
            pending::<String>().await
        });
    (tools, drops)
}

pub(crate) async fn start(client: &Client, tool: &str) -> Value {
    let id = client.start_call(tool, json!({})).await;
    client.logs().wait_for_event(&id, "tool_call_started").await.unwrap();
    id
}

pub(crate) async fn assert_healthy(client: &Client) {
    assert_eq!(call(client, "ok", json!({})).await.0.text(), "fine");
}

/// The causes that stand on a line of their own, about this call.
pub(crate) fn lost(client: &Client, end: &Event) -> Vec<Event> {
    let events = client.logs().of_target("tower_outcome").into_iter();
    events
        .filter(|event| {
            event.message == "tool_failed" && event.field("call_id") == end.field("call_id")
        })
        .collect()
}

#[tokio::test]
async fn a_deadline_answers_and_drops_the_work() {
    let (tools, drops) = hanging();
    let layer = OutcomeLayer::new().deadline(Duration::from_millis(50));
    let client = connect_in(tools, layer).await;
    let (answer, event) = call(&client, "hang", json!({})).await;
    assert_eq!(drops.load(Ordering::SeqCst), 1, "before the answer goes out");
    assert_eq!(line(&event), "WARN tool_call_failed fault timeout");
    assert_eq!(event.field("retryable"), Some("after_delay"));
    assert!(answer.is_error() && answer.text().contains("took too long"), "{answer:?}");
    assert!(event.fields["duration_ms"].as_f64().unwrap() >= 50.0, "{event:?}");
    assert_healthy(&client).await;
}

#[tokio::test]
async fn a_destructor_that_panics_at_the_deadline_is_in_the_cause() {
    let layer = OutcomeLayer::new().deadline(Duration::from_millis(50));
    let client = connect_in(hanging().0, layer).await;
    let (answer, event) = call(&client, "bomb", json!({})).await;
    assert_eq!(line(&event), "WARN tool_call_failed fault timeout");
    assert!(answer.is_error(), "{answer:?}");
    let cause = event.field("cause").unwrap();
    assert!(cause.contains("50ms") && cause.contains("a destructor"), "{cause}");
    assert!(!cause.contains("hunter2"), "{cause}");
    assert_eq!(our_lines(&client).len(), 1);
    assert_healthy(&client).await;
}

#[tokio::test]
async fn a_deadline_is_for_tools_alone() {
    use crate::support::{Revision, server::Misbehaving};
    let layer = OutcomeLayer::new().deadline(Duration::from_millis(50));
    let client = Client::in_process(Misbehaving::new().layered(layer), Revision::V2025);
    client.initialize("hostile").await;
    let params = json!({ "name": "misbehave", "arguments": { "how": "hang" } });
    let prompt = client.start("prompts/get", params).await;
    for _ in 0..3 {
        let (_, event) = call(&client, "hang", json!({})).await;
        assert_eq!(line(&event), "WARN tool_call_failed fault timeout");
    }
    assert_eq!(client.inbox().answers(&prompt), []);
    assert_eq!(client.logs().terminal(&prompt), []);
}

/// A call that waits for a limit has reached the layers: it is cancelled, and cut short, like any.
#[tokio::test]
async fn a_call_that_waits_for_its_turn_is_no_different() {
    let (tools, drops) = hanging();
    let layer = OutcomeLayer::new().deadline(Duration::from_millis(300)).abort_on_cancel(true);
    let limit = GlobalConcurrencyLimitLayer::new(1);
    let stack = ServiceBuilder::new().layer(layer).layer(only_tools(limit));
    let client = connect_bare(tools.layered(stack)).await;
    let running = start(&client, "hang").await;
    let cancelled = start(&client, "ok").await;
    let queued = start(&client, "ok").await;
    client.cancel(&cancelled).await;
    assert_eq!(line(&end(&client, &cancelled).await), "INFO tool_call_cancelled cancelled -");
    // The first deadline frees the place before or after the second one has passed.
    assert_eq!(line(&end(&client, &running).await), "WARN tool_call_failed fault timeout");
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    let outcome = line(&end(&client, &queued).await);
    let is_known = ["INFO tool_call_completed completed -", "WARN tool_call_failed fault timeout"];
    assert!(is_known.contains(&outcome.as_str()), "{outcome}");
    assert!(!client.wait(&queued).await.is_none());
    assert_healthy(&client).await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_service_to_be_ready_is_no_different() {
    let layer = OutcomeLayer::new().deadline(Duration::from_secs(3600));
    let limit = GlobalConcurrencyLimitLayer::new(1);
    let stack = ServiceBuilder::new().layer(layer).layer(limit);
    let client = connect_bare(hanging().0.layered(stack)).await;
    let running = start(&client, "hang").await;
    let queued = start(&client, "ok").await;
    client.cancel(&queued).await;
    assert_eq!(line(&end(&client, &queued).await), "INFO tool_call_cancelled cancelled -");
    assert_eq!(client.logs().terminal(&running), []);
}

/// As long as it can be, and longer.
#[tokio::test]
async fn a_deadline_past_the_end_of_time_is_none() {
    for deadline in [Duration::MAX, Duration::from_secs(u64::MAX / 2), Duration::from_secs(1 << 40)]
    {
        let client = connect_in(Tools::new(), OutcomeLayer::new().deadline(deadline)).await;
        assert_healthy(&client).await;
    }
}

#[tokio::test]
async fn a_cancel_drops_the_work_where_that_is_asked_for() {
    let (tools, drops) = hanging();
    let client = connect_in(tools, OutcomeLayer::new().abort_on_cancel(true)).await;
    let id = start(&client, "hang").await;
    client.cancel(&id).await;
    let event = end(&client, &id).await;
    assert_eq!(line(&event), "INFO tool_call_cancelled cancelled -");
    assert_eq!(event.field("reason"), Some("client_cancelled"));
    until("the work is dropped", || drops.load(Ordering::SeqCst) == 1).await;
    assert_healthy(&client).await;
    assert_eq!(client.logs().terminal(&id).len(), 1);
    assert_eq!(lost(&client, &event), []);

    // And where it is not, it goes on.
    let (tools, drops) = hanging();
    let client = connect(tools).await;
    let id = start(&client, "hang").await;
    client.cancel(&id).await;
    assert_eq!(line(&end(&client, &id).await), "INFO tool_call_cancelled cancelled -");
    assert_healthy(&client).await;
    assert_eq!(drops.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_client_that_leaves_drops_the_work_too() {
    let (tools, drops) = hanging();
    let client = connect_in(tools, OutcomeLayer::new().abort_on_cancel(true)).await;
    let id = start(&client, "hang").await;
    client.close().await;
    assert_eq!(line(&end(&client, &id).await), "INFO tool_call_abandoned abandoned -");
    until("the work is dropped", || drops.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_destructor_that_panics_on_a_cancel_is_reported_beside_it() {
    let client = connect_in(hanging().0, OutcomeLayer::new().abort_on_cancel(true)).await;
    let id = start(&client, "bomb").await;
    client.cancel(&id).await;
    let event = end(&client, &id).await;
    assert_eq!(line(&event), "INFO tool_call_cancelled cancelled -");
    until("it is reported", || !lost(&client, &event).is_empty()).await;
    assert_healthy(&client).await;
    let lost = lost(&client, &event);
    assert_eq!(lost.iter().map(line).collect::<Vec<_>>(), ["ERROR tool_failed fault panic"]);
    let cause = lost[0].field("cause").unwrap();
    assert!(cause.contains("a destructor") && !cause.contains("hunter2"), "{cause}");
    assert_eq!(lost[0].field("tool"), Some("bomb"));
    assert_eq!(client.logs().terminal(&id).len(), 1);
}

/// A layer whose future holds something past its end, as a permit or a guard is.
#[derive(Clone)]
struct Holds<S>(S);

struct Holding<F> {
    inner: Pin<Box<F>>,
    _bomb: Option<Bomb>,
}

impl<S> Service<RmcpRequest> for Holds<S>
where
    S: Service<RmcpRequest, Response = RmcpReply>,
{
    type Response = RmcpReply;
    type Error = S::Error;
    type Future = Holding<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: RmcpRequest) -> Self::Future {
        let _bomb = (request.tool() == Some("ok")).then(|| Bomb);
        Holding { inner: Box::pin(self.0.call(request)), _bomb }
    }
}

impl<F: Future> Future for Holding<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.inner.as_mut().poll(cx)
    }
}

#[tokio::test]
async fn a_destructor_that_panics_beside_a_success_costs_no_answer() {
    let stack = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(layer_fn(Holds));
    let client = connect_bare(Tools::new().layered(stack)).await;
    for _ in 0..2 {
        let (answer, event) = call(&client, "ok", json!({})).await;
        assert_eq!(answer.text(), "fine", "{answer:?}");
        assert_eq!(line(&event), "INFO tool_call_completed completed -");
        let lost = lost(&client, &event);
        assert_eq!(lost.iter().map(line).collect::<Vec<_>>(), ["ERROR tool_failed fault panic"]);
    }
}
