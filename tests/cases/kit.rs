//! Small servers, children and checks that the cases share.
#![allow(dead_code, reason = "two test binaries use a part each")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult,
    model::{CallToolRequestParams, CallToolResponse},
    service::RequestContext,
};
use serde_json::{Value, json};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

use crate::support::{Answer, Client, Event, GUARD, Layers, Revision};

/// What the servers of these cases run in. Without it, most cases fail: that is how it is known
/// that they test something.
pub(crate) const LAYERS: Layers = Layers::Typed;

type Tool = dyn Fn(Asked) -> BoxFuture<'static, Result<CallToolResponse, ErrorData>> + Send + Sync;

/// What a tool is called with.
pub(crate) struct Asked {
    pub(crate) params: CallToolRequestParams,
    pub(crate) context: RequestContext<RoleServer>,
}

impl Asked {
    /// An argument that is a string; empty where it is absent.
    pub(crate) fn text(&self, name: &str) -> String {
        let arguments = self.params.arguments.as_ref();
        let text = arguments.and_then(|arguments| arguments.get(name)?.as_str());
        text.unwrap_or_default().to_owned()
    }
}

/// A server of tools that are closures.
#[derive(Clone, Default)]
pub(crate) struct Tools(BTreeMap<String, Arc<Tool>>);

impl Tools {
    /// A server with a tool `ok`, which returns "fine".
    pub(crate) fn new() -> Self {
        Self::default().with("ok", |_| async { "fine".to_owned() })
    }

    pub(crate) fn with<F>(
        mut self,
        name: impl Into<String>,
        tool: impl Fn(Asked) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: IntoCallToolResult> + Send + 'static,
    {
        let tool = Arc::new(move |asked| -> BoxFuture<'static, _> {
            let answer = tool(asked);
            Box::pin(async { answer.await.into_call_tool_result() })
        });
        self.0.insert(name.into(), tool);
        self
    }
}

impl ServerHandler for Tools {
    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.0.get(&*params.name);
        let tool = tool.ok_or_else(|| ErrorData::invalid_params("tool not found", None))?;
        tool(Asked { params, context }).await
    }
}

/// Panics, with a text that is known only now.
pub(crate) fn boom(text: &str) -> String {
    panic!("{text}")
}

/// A client of `handler`, in this process, without any layers but the handler's own.
pub(crate) async fn connect_bare(handler: impl ServerHandler) -> Client {
    let client = Client::in_process(handler, Revision::V2025);
    let answer = client.initialize("cases").await;
    assert!(answer.result().is_some(), "no session: {answer:?}");
    client
}

/// A client of `handler` in an [`OutcomeLayer`].
pub(crate) async fn connect(handler: impl ServerHandler) -> Client {
    connect_in(handler, OutcomeLayer::new()).await
}

/// A client of `handler` in `layer`.
pub(crate) async fn connect_in(handler: impl ServerHandler, layer: OutcomeLayer) -> Client {
    match LAYERS {
        Layers::Typed => connect_bare(handler.layered(layer)).await,
        Layers::None | Layers::Http | Layers::Both => connect_bare(handler).await,
    }
}

/// The level, name, outcome and code of an event.
pub(crate) fn line(event: &Event) -> String {
    let field = |name| event.field(name).unwrap_or("-");
    format!("{} {} {} {}", event.level, event.message, field("outcome"), field("code"))
}

/// The event that ends a request, which must be the only one.
pub(crate) async fn end(client: &Client, id: &Value) -> Event {
    let end = client.logs().wait_for_end(id).await;
    let end = end.unwrap_or_else(|| panic!("request {id} has no end in:\n{}", client.logs().raw()));
    let all = client.logs().terminal(id);
    assert_eq!(all.len(), 1, "request {id} has more than one end: {all:?}");
    end
}

/// Calls a tool; the answer, and the event that ends the call.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> (Answer, Event) {
    let id = client.start_call(tool, arguments).await;
    (client.wait(&id).await, end(client, &id).await)
}

/// Checks that a call was answered by the fixed text, and with the reference of its log line.
pub(crate) fn assert_fixed(answer: &Answer, event: &Event) {
    let text = answer.text();
    assert!(answer.is_error(), "{answer:?}");
    assert!(text.starts_with("This call was fine, but the server could not"), "{text}");
    assert!(text.contains(event.field("call_id").unwrap()), "no reference in: {text}");
}

/// Our own events so far, without those that only say that something began or was received.
pub(crate) fn our_lines(client: &Client) -> Vec<String> {
    let events = client.logs().of_target("tower_outcome").into_iter();
    events
        .filter(|event| !event.message.ends_with("started") && event.message.contains("tool"))
        .map(|event| line(&event))
        .collect()
}

/// Our own events at WARN and ERROR.
pub(crate) fn our_alarms(client: &Client) -> Vec<Event> {
    let events = client.logs().of_target("tower_outcome").into_iter();
    events.filter(Event::is_alarming).collect()
}

/// Waits until `is_so`.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let poll = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(GUARD, poll).await.is_ok(), "waited in vain: {what}");
}

/// A source file's comments as running text, so that a line break in it does not matter.
pub(crate) fn prose(source: &str) -> String {
    let words = source.split_whitespace().filter(|word| !["//", "///", "//!"].contains(word));
    words.collect::<Vec<_>>().join(" ")
}

/// A `tools/call` as a line.
pub(crate) fn call_line(id: &Value, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}
