//! Our layers among others: what waits for readiness, who redacts, whose policy counts, and what a
//! subscriber may do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult as _,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerResult},
    service::RequestContext,
};
use serde_json::{Value, json};
use tower::{
    BoxError, Layer, Service, ServiceBuilder, buffer::BufferLayer,
    limit::GlobalConcurrencyLimitLayer, timeout::TimeoutLayer,
};
use tower_outcome::{
    Call, ClassifyLayer, ContainLayer, Heals, Level, LogLayer, OutcomeLayer, Policy, Record,
    Redact, ServerHandlerExt as _, ToolError, Undeclared,
    binding::rmcp::{RmcpReply, RmcpRequest},
    only_tools,
};

use crate::support::{Client, Revision};

/// Answers `ok`, fails as told, or waits for the test to let it go.
#[derive(Clone, Default)]
struct Tools {
    gate: Arc<tokio::sync::Notify>,
}

impl ServerHandler for Tools {
    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let fine = || Ok(CallToolResult::success(vec![ContentBlock::text("fine")]).into());
        match &*params.name {
            "ok" => fine(),
            "wait" => {
                self.gate.notified().await;
                fine()
            }
            "fail_after_cancel" => {
                context.ct.cancelled().await;
                tokio::time::sleep(Duration::from_millis(400)).await;
                let error = std::io::Error::other("no route to db.corp.example");
                ToolError::from(error).into_call_tool_result()
            }
            "is_error" => Ok(CallToolResult::error(vec![ContentBlock::text("mine")]).into()),
            "other_failure" => {
                let first = ToolError::from(std::io::Error::other("first"));
                let _told_nobody = first.into_call_tool_result();
                ToolError::rejected("other", "Something else.").into_call_tool_result()
            }
            "spawned_panic" => {
                let joined = tokio::spawn(async { panic!("spawned") }).await;
                match joined {
                    Ok(()) => fine(),
                    Err(error) => ToolError::from(error).into_call_tool_result(),
                }
            }
            other => Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        }
    }
}

async fn connect(handler: impl ServerHandler) -> Client {
    let client = Client::in_process(handler, Revision::V2025);
    assert!(client.initialize("stacks").await.result().is_some());
    client
}

fn tool_events(client: &Client, id: &Value) -> Vec<String> {
    client
        .logs()
        .of_target("tower_outcome")
        .into_iter()
        .filter(|event| event.is_about(id))
        .map(|event| event.message)
        .collect()
}

#[tokio::test]
async fn a_call_that_waits_for_a_limit_is_logged_when_it_is_cancelled() {
    let stack =
        ServiceBuilder::new().layer(OutcomeLayer::new()).layer(GlobalConcurrencyLimitLayer::new(2));
    let tools = Tools::default();
    let gate = Arc::clone(&tools.gate);
    let client = connect(tools.layered(stack)).await;
    let first = client.start_call("wait", json!({})).await;
    let second = client.start_call("wait", json!({})).await;
    let waiting = client.start_call("ok", json!({})).await;
    assert!(client.logs().wait_for_event(&waiting, "tool_call_started").await.is_some());
    client.cancel(&waiting).await;
    let end = client.logs().wait_for_end(&waiting).await.unwrap();
    assert_eq!(end.message, "tool_call_cancelled");
    gate.notify_one();
    gate.notify_one();
    for id in [first, second] {
        assert_eq!(client.wait(&id).await.text(), "fine");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_counts_the_wait_for_a_limit() {
    let stack = ServiceBuilder::new()
        .layer(OutcomeLayer::new().deadline(Duration::from_secs(10)))
        .layer(GlobalConcurrencyLimitLayer::new(2));
    let client = connect(Tools::default().layered(stack)).await;
    let start = tokio::time::Instant::now();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(client.start_call("wait", json!({})).await);
    }
    for id in &ids {
        assert!(client.wait(id).await.text().contains("took too long"));
    }
    // The clock is tokio's own, and stands still while anything runs.
    assert!(start.elapsed() < Duration::from_secs(11), "{:?}", start.elapsed());
}

#[tokio::test]
async fn only_tools_takes_no_permit_on_the_way_that_a_request_does_not_go() {
    let stack = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(BufferLayer::new(8))
        .layer(only_tools(TimeoutLayer::new(Duration::from_secs(20))))
        .layer(GlobalConcurrencyLimitLayer::new(1));
    let client = connect(Tools::default().layered(stack)).await;
    for _ in 0..3 {
        assert_eq!(client.call("ok", json!({})).await.text(), "fine");
        assert!(client.request("ping", json!({})).await.result().is_some());
    }
}

/// A service that fails to become ready, and must then not be called.
#[derive(Clone)]
struct Unready;

#[derive(Debug)]
struct PoolBusy;

impl std::fmt::Display for PoolBusy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("pool busy")
    }
}

impl std::error::Error for PoolBusy {}

impl<S> Layer<S> for Unready {
    type Service = Self;

    fn layer(&self, _: S) -> Self {
        Self
    }
}

impl Service<RmcpRequest> for Unready {
    type Response = RmcpReply;
    type Error = BoxError;
    type Future = std::future::Ready<Result<RmcpReply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Err(PoolBusy.into()))
    }

    fn call(&mut self, _: RmcpRequest) -> Self::Future {
        panic!("called though not ready")
    }
}

#[tokio::test]
async fn an_error_of_readiness_is_answered_and_recognised() {
    let policy =
        Policy::new().recognise(|error| error.is::<PoolBusy>().then_some(Heals::RateLimit(None)));
    let stack = ServiceBuilder::new().layer(OutcomeLayer::new().policy(policy)).layer(Unready);
    let client = Client::in_process(Tools::default().layered(stack), Revision::V2025);
    // Even `initialize` is refused here, so that the session cannot begin; but it is answered.
    let answer = client.initialize("stacks").await;
    assert!(format!("{answer:?}").contains("more requests than it can handle"), "{answer:?}");
    let failed = client
        .logs()
        .wait_for(|events| events.iter().find(|e| e.message == "request_failed").cloned())
        .await
        .unwrap();
    assert_eq!((failed.level.as_str(), failed.field("code")), ("WARN", Some("rate_limited")));
}

#[tokio::test]
async fn an_uncontained_error_of_readiness_is_answered_and_the_service_not_called() {
    let handler = Tools::default().layered_uncontained(Unready);
    let client = Client::in_process(handler, Revision::V2025);
    let answer = client.initialize("stacks").await;
    assert!(answer.error().is_some(), "{answer:?}");
}

#[tokio::test]
async fn an_uncontained_timeout_is_answered_under_the_reference_of_its_log_line() {
    let stack = ServiceBuilder::new()
        .layer(LogLayer::new())
        .layer(only_tools(TimeoutLayer::new(Duration::from_millis(20))));
    let client = connect(Tools::default().layered_uncontained(stack)).await;
    let id = client.start_call("wait", json!({})).await;
    let answer = client.wait(&id).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!(end.field("code"), Some("timeout"));
    assert!(answer.text().contains(end.field("call_id").unwrap()), "{answer:?} {end:?}");
}

/// Hides the names of hosts.
#[derive(Clone)]
struct Hosts;

impl Redact for Hosts {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Owned(text.replace("corp.example", "[host]"))
    }
}

#[tokio::test]
async fn a_failure_after_the_cancel_is_one_more_line_redacted_by_the_layers_own_redactor() {
    let client = connect(Tools::default().layered(OutcomeLayer::new().redactor(Hosts))).await;
    let id = client.start_call("fail_after_cancel", json!({})).await;
    client.logs().wait_for_event(&id, "tool_call_started").await.unwrap();
    client.cancel(&id).await;
    let failed = client.logs().wait_for_event(&id, "tool_failed").await.unwrap();
    assert_eq!(failed.field("cause"), Some("no route to db.[host]"));
    assert_eq!(failed.level, "ERROR");
    assert_eq!(client.logs().terminal(&id).len(), 1);
    let ours = client.logs().of_target("tower_outcome");
    assert!(!format!("{ours:?}").contains("corp.example"), "{ours:?}");
}

#[tokio::test]
async fn every_layers_redactor_counts_and_the_one_that_writes_writes() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hooked = {
        let seen = Arc::clone(&seen);
        move |record: &Record| seen.lock().unwrap().push(record.event())
    };
    let stack = ServiceBuilder::new()
        .layer(LogLayer::new().events(false).hook(hooked))
        .layer(OutcomeLayer::new().redactor(Hosts));
    let client = connect(Tools::default().layered(stack)).await;
    let id = client.start_call("x.corp.example:1", json!({})).await;
    client.wait(&id).await;
    client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!(tool_events(&client, &id), ["tool_call_started", "tool_call_failed"]);
    let ours = client.logs().of_target("tower_outcome");
    assert!(!format!("{ours:?}").contains("corp.example"), "{ours:?}");
    assert!(seen.lock().unwrap().contains(&"tool_call_failed"));
}

#[tokio::test]
async fn a_mask_further_out_is_not_undone_by_a_policy_further_in() {
    let stack = ServiceBuilder::new()
        .layer(OutcomeLayer::new().policy(Policy::new().undeclared(Undeclared::Mask)))
        .layer(ClassifyLayer::new().policy(Policy::new().level("x", Level::Info)));
    let client = connect(Tools::default().layered(stack)).await;
    let answer = client.call("is_error", json!({})).await;
    assert!(!answer.text().contains("mine") && answer.is_error(), "{answer:?}");
}

#[tokio::test]
async fn what_the_client_was_told_of_a_masked_error_is_what_is_logged() {
    let stack = ServiceBuilder::new()
        .layer(ContainLayer::new().policy(Policy::new().undeclared(Undeclared::Mask)))
        .layer(LogLayer::new())
        .layer(ClassifyLayer::new());
    let client = connect(Tools::default().layered(stack)).await;
    let id = client.start_call("is_error", json!({})).await;
    let text = client.wait(&id).await.text();
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!((end.field("error"), end.field("cause")), (Some(text.as_str()), Some("mine")));
}

#[tokio::test]
async fn a_cause_goes_with_its_own_failure_alone() {
    let client = connect(Tools::default().layered(OutcomeLayer::new())).await;
    let id = client.start_call("other_failure", json!({})).await;
    client.wait(&id).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!((end.level.as_str(), end.field("code")), ("INFO", Some("other")));
    assert_eq!(end.field("cause"), None);
    let lost = client.logs().wait_for_event(&id, "tool_failed").await.unwrap();
    assert_eq!((lost.level.as_str(), lost.field("cause")), ("ERROR", Some("first")));
}

#[tokio::test]
async fn a_returned_panic_has_the_level_of_one() {
    let policy = Policy::new().level("panic", Level::Warn);
    let client = connect(Tools::default().layered(OutcomeLayer::new().policy(policy))).await;
    let id = client.start_call("spawned_panic", json!({})).await;
    client.wait(&id).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!((end.level.as_str(), end.field("code")), ("WARN", Some("panic")));
}

/// Puts another method's result, or another form of the right one, in the place of an answer.
#[derive(Clone)]
struct Answers<S>(S, bool);

impl<S> Service<RmcpRequest> for Answers<S>
where
    S: Service<RmcpRequest, Response = RmcpReply>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = RmcpReply;
    type Error = S::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<RmcpReply, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: RmcpRequest) -> Self::Future {
        if request.tool_call().is_none() {
            return Box::pin(self.0.call(request));
        }
        let right = CallToolResult::success(vec![ContentBlock::text("replaced")]);
        let result =
            if self.1 { ServerResult::CallToolResult(right) } else { ServerResult::empty(()) };
        Box::pin(std::future::ready(Ok(RmcpReply::result(result))))
    }
}

#[tokio::test]
async fn a_layers_answer_in_another_form_is_taken_and_one_of_another_method_is_reported() {
    let with = |right| tower::layer::layer_fn(move |inner| Answers(inner, right));
    let stack = |right| ServiceBuilder::new().layer(OutcomeLayer::new()).layer(with(right));

    let client = connect(Tools::default().layered(stack(true))).await;
    assert_eq!(client.call("ok", json!({})).await.text(), "replaced");

    let client = connect(Tools::default().layered(stack(false))).await;
    let answer = client.call("ok", json!({})).await;
    let reported = client
        .logs()
        .wait_for(|events| events.iter().find(|e| e.message == "tool_failed").cloned())
        .await
        .unwrap();
    assert_eq!(reported.field("code"), Some("contract_violation"));
    assert!(format!("{answer:?}").contains(reported.field("call_id").unwrap()), "{answer:?}");
}

#[tokio::test]
async fn one_cancel_is_seen_by_all_layers_at_once() {
    let stack = OutcomeLayer::new().abort_on_cancel(true);
    let client = connect(Tools::default().layered(stack)).await;
    let id = client.start_call("wait", json!({})).await;
    client.logs().wait_for_event(&id, "tool_call_started").await.unwrap();
    client.cancel(&id).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert_eq!(end.message, "tool_call_cancelled");
    assert_eq!(end.field("reason"), Some("client_cancelled"));
}

#[tokio::test]
async fn notes_cannot_pass_for_each_other() {
    struct Noting;
    impl ServerHandler for Noting {
        async fn call_tool(
            &self,
            _: CallToolRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            let call = Call::current().unwrap();
            call.note("path", "x\", \"rows\":\"0\n");
            call.note("rows", "7");
            Ok(CallToolResult::success(vec![]).into())
        }
    }
    let client = connect(Noting.layered(OutcomeLayer::new())).await;
    let id = client.start_call("any", json!({})).await;
    client.wait(&id).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    let notes: Value = serde_json::from_str(end.field("notes").unwrap()).unwrap();
    assert_eq!(notes, json!({"path": "x\", \"rows\":\"0\\n", "rows": "7"}));
}

/// A subscriber that takes notes about the current call, or panics, whenever it is asked whether
/// it listens.
struct Asking {
    panics: Arc<AtomicBool>,
}

impl tracing::Subscriber for Asking {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        if metadata.target() == "tower_outcome" {
            assert!(!self.panics.load(Ordering::Relaxed), "asked");
            if let Some(call) = Call::current() {
                call.note("asked", "yes");
            }
        }
        true
    }

    fn register_callsite(
        &self,
        _: &'static tracing::Metadata<'static>,
    ) -> tracing::subscriber::Interest {
        tracing::subscriber::Interest::sometimes()
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}

    fn enter(&self, span: &tracing::span::Id) {
        assert!(!self.panics.load(Ordering::Relaxed), "entered {span:?}");
    }

    fn exit(&self, span: &tracing::span::Id) {
        assert!(!self.panics.load(Ordering::Relaxed), "exited {span:?}");
    }
}

#[tokio::test]
async fn a_subscriber_that_looks_at_the_call_or_panics_when_asked_costs_no_answer() {
    let panics = Arc::new(AtomicBool::new(false));
    let twice = OutcomeLayer::new().span(true);
    let handler = Tools::default().layered(twice.clone()).layered(twice);
    let client = connect(handler).await;
    let guard = tracing::subscriber::set_default(Asking { panics: Arc::clone(&panics) });
    assert_eq!(client.call("ok", json!({})).await.text(), "fine");
    let id = client.start_call("wait", json!({})).await;
    client.cancel(&id).await;
    assert_eq!(client.call("ok", json!({})).await.text(), "fine");
    panics.store(true, Ordering::Relaxed);
    assert_eq!(client.call("ok", json!({})).await.text(), "fine");
    assert!(client.call("is_error", json!({})).await.is_error());
    panics.store(false, Ordering::Relaxed);
    drop(guard);
}

#[tokio::test]
async fn a_cause_is_logged_where_there_is_no_layer_of_ours() {
    struct Fails;
    impl ServerHandler for Fails {
        async fn call_tool(
            &self,
            _: CallToolRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            ToolError::from(std::io::Error::other("the cause")).into_call_tool_result()
        }
    }
    let client = connect(Fails.layered_uncontained(tower::layer::util::Identity::new())).await;
    let answer = client.call("any", json!({})).await;
    let failed = client
        .logs()
        .wait_for(|events| events.iter().find(|e| e.message == "tool_failed").cloned())
        .await
        .unwrap();
    assert_eq!((failed.level.as_str(), failed.field("cause")), ("ERROR", Some("the cause")));
    assert!(answer.text().contains(failed.field("reference").unwrap()), "{answer:?}");
}

/// Panics when it is cloned or dropped, while it is armed.
struct Fragile<S> {
    inner: S,
    clone: Arc<AtomicBool>,
    drop: Arc<AtomicBool>,
}

impl<S: Clone> Clone for Fragile<S> {
    fn clone(&self) -> Self {
        assert!(!self.clone.swap(false, Ordering::Relaxed), "cloned");
        Self { inner: self.inner.clone(), clone: self.clone.clone(), drop: self.drop.clone() }
    }
}

impl<S> Drop for Fragile<S> {
    fn drop(&mut self) {
        assert!(!self.drop.swap(false, Ordering::Relaxed), "dropped");
    }
}

impl<S: Service<RmcpRequest>> Service<RmcpRequest> for Fragile<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: RmcpRequest) -> S::Future {
        self.inner.call(request)
    }
}

#[tokio::test]
async fn a_service_that_panics_when_it_is_cloned_or_dropped_costs_no_silence() {
    let (clone, drop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let fragile = {
        let (clone, drop) = (Arc::clone(&clone), Arc::clone(&drop));
        tower::layer::layer_fn(move |inner| Fragile {
            inner,
            clone: Arc::clone(&clone),
            drop: Arc::clone(&drop),
        })
    };
    let stack = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(fragile);
    let client = connect(Tools::default().layered(stack)).await;
    // The client's notification is through.
    let is_there = |events: &[crate::support::Event]| {
        events.iter().find(|event| event.message == "notification_received").cloned()
    };
    client.logs().wait_for(is_there).await.unwrap();
    clone.store(true, Ordering::Relaxed);
    assert!(client.call("ok", json!({})).await.text().contains("could not complete it"));
    assert_eq!(client.call("ok", json!({})).await.text(), "fine");
    drop.store(true, Ordering::Relaxed);
    assert_eq!(client.call("ok", json!({})).await.text(), "fine");
    assert_eq!(client.call("ok", json!({})).await.text(), "fine");
}

#[tokio::test]
async fn a_layer_that_is_to_write_nothing_writes_nothing() {
    let stack =
        ServiceBuilder::new().layer(LogLayer::new().events(false)).layer(ContainLayer::new());
    let client = connect(Tools::default().layered(stack)).await;
    client.call("spawned_panic", json!({})).await;
    assert!(client.logs().of_target("tower_outcome").is_empty());
}

#[tokio::test]
async fn names_are_redacted_too() {
    let client = connect(Tools::default().layered(OutcomeLayer::new().redactor(Hosts))).await;
    let id = client.start_call("corp.example", json!({})).await;
    client.wait(&id).await;
    assert_eq!(client.logs().wait_for_end(&id).await.unwrap().field("tool"), Some("[host]"));

    // Cut after 128 characters, the password would no longer look like one.
    let long = format!("{}postgres://app:hunter2{}@db", "x ".repeat(50), "y".repeat(40));
    let client = connect(Tools::default().layered(OutcomeLayer::new())).await;
    let id = client.start_call(&long, json!({})).await;
    client.wait(&id).await;
    let end = client.logs().wait_for_end(&id).await.unwrap();
    assert!(!end.field("tool").unwrap().contains("hunter2"), "{end:?}");
}

#[tokio::test]
async fn a_record_stands_in_structured_content_where_the_output_schema_admits_it() {
    struct Typed;
    impl ServerHandler for Typed {
        fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
            let schema = match name {
                "open" => json!({"type": "object", "properties": {"paths": {"type": "array"}}}),
                "closed" => json!({"type": "object", "required": ["paths"]}),
                _ => panic!("no tool {name}"),
            };
            let mut tool = rmcp::model::Tool::new(name.to_owned(), "", Arc::default());
            tool.output_schema = Some(Arc::new(schema.as_object().unwrap().clone()));
            Some(tool)
        }

        async fn call_tool(
            &self,
            _: CallToolRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            ToolError::rejected("unknown_note", "No such note.").into_call_tool_result()
        }
    }
    let client = connect(Typed.layered(OutcomeLayer::new())).await;
    let open = client.call("open", json!({})).await;
    assert_eq!(open.structured(), open.record(), "{open:?}");
    assert_eq!(open.structured().unwrap()["code"], "unknown_note");
    for name in ["closed", "panics"] {
        let answer = client.call(name, json!({})).await;
        assert_eq!(answer.structured(), None, "{answer:?}");
        assert_eq!(answer.record().unwrap()["code"], "unknown_note");
    }
}
