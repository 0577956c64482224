//! Clients that declare the extension, create tasks and poll them.
#![allow(dead_code, reason = "two test binaries use a part each")]

use std::{sync::Arc, time::Duration};

use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tower_outcome::OutcomeLayer;

use crate::support::{Answer, Client, Event, GUARD, Layers, Logs, Revision, Transport};

/// What a client says that can poll tasks.
pub(crate) fn capabilities() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

/// A server, and its clients: two where the transport has more than one connection.
pub(crate) struct Tasks {
    clients: Vec<Client>,
    /// Whether nobody remembers what was declared at initialize.
    declares_each_time: bool,
}

/// A task that was created, and what was said of that.
#[derive(Clone, Debug)]
pub(crate) struct Created {
    pub(crate) answer: Answer,
    pub(crate) task: String,
    pub(crate) call_id: String,
    pub(crate) deferred: Event,
}

impl Tasks {
    /// The example's server.
    pub(crate) async fn connect(transport: Transport, layers: Layers) -> Self {
        let client = Client::open(transport, layers).await;
        let one_pipe =
            matches!(transport, Transport::Duplex | Transport::Stdio | Transport::Stdio2026);
        let mut clients = vec![client];
        if !one_pipe {
            clients.push(clients[0].another());
        }
        let remembers = [Transport::Duplex, Transport::Stdio, Transport::Stateful];
        Self::of(clients, !remembers.contains(&transport)).await
    }

    /// Any handler, in this process.
    pub(crate) async fn serve(handler: impl ServerHandler) -> Self {
        Self::of(vec![Client::in_process(handler, Revision::V2025)], false).await
    }

    /// Clients that have not said hello yet.
    pub(crate) async fn of(clients: Vec<Client>, declares_each_time: bool) -> Self {
        for client in clients.iter().filter(|client| !client.is_2026()) {
            let answer = client.initialize_with("polls", &capabilities()).await;
            assert!(answer.result().is_some(), "no session: {answer:?}");
        }
        Self { clients, declares_each_time }
    }

    pub(crate) fn logs(&self) -> &Logs {
        self.clients[0].logs()
    }

    /// The client that creates tasks.
    pub(crate) fn first(&self) -> &Client {
        &self.clients[0]
    }

    pub(crate) fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// One of the clients, the next at each number.
    pub(crate) fn client(&self, number: usize) -> &Client {
        &self.clients[number % self.clients.len()]
    }

    /// Everything that any of the clients received.
    pub(crate) fn received(&self) -> String {
        let all = self.clients.iter().map(Client::bytes);
        String::from_utf8_lossy(&all.collect::<Vec<_>>().concat()).into_owned()
    }

    fn declared(&self, mut params: Value) -> Value {
        if self.declares_each_time {
            let key = "io.modelcontextprotocol/clientCapabilities";
            params["_meta"] = json!({ key: capabilities() });
        }
        params
    }

    /// Calls a tool, and waits for the answer.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let params = self.declared(json!({ "name": tool, "arguments": arguments }));
        self.first().request("tools/call", params).await
    }

    /// Calls the tool, which must be answered with a task.
    pub(crate) async fn create(&self, arguments: Value) -> Created {
        self.create_with("task", arguments).await
    }

    pub(crate) async fn create_with(&self, tool: &str, arguments: Value) -> Created {
        let params = self.declared(json!({ "name": tool, "arguments": arguments }));
        let id = self.first().start("tools/call", params).await;
        let answer = self.first().wait(&id).await;
        let task = answer.result().and_then(|result| result["taskId"].as_str());
        let task = task.unwrap_or_else(|| panic!("no task: {answer:?}")).to_owned();
        let deferred = self.logs().wait_for_event(&id, "tool_call_deferred").await;
        let deferred = deferred.unwrap_or_else(|| panic!("not deferred:\n{}", self.logs().raw()));
        let call_id = deferred.field("call_id").unwrap_or_default().to_owned();
        Created { answer, task, call_id, deferred }
    }

    /// Sends `tasks/get` or the like, by one of the clients; the request's id.
    pub(crate) async fn start(&self, number: usize, method: &str, task: &str) -> Value {
        self.client(number).start(method, self.declared(json!({ "taskId": task }))).await
    }

    /// The same, with the answer.
    pub(crate) async fn ask(&self, number: usize, method: &str, task: &str) -> (Value, Answer) {
        let id = self.start(number, method, task).await;
        let answer = self.client(number).wait(&id).await;
        (id, answer)
    }

    /// Polls until the task has ended; all polls so far, the last of which says so.
    pub(crate) async fn until_ended(&self, number: usize, task: &str) -> Vec<(Value, Answer)> {
        let mut polls = Vec::new();
        let poll = async {
            loop {
                let (id, answer) = self.ask(number, "tasks/get", task).await;
                let is_over = has_ended(&answer) || answer.result().is_none();
                polls.push((id, answer));
                if is_over {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(GUARD, poll).await;
        assert!(ended.is_ok(), "{task} does not end:\n{}", self.logs().raw());
        polls
    }

    /// Polls until the task has ended, and twice more, by the clients in turn. The first that sees
    /// the end is not the one that created the task. The three answers are one.
    pub(crate) async fn polled(&self, created: &Created) -> Answer {
        let mut polls = self.until_ended(1, &created.task).await;
        let (_, first) = polls.pop().unwrap();
        for number in [0, 1] {
            let (_, again) = self.ask(number, "tasks/get", &created.task).await;
            assert_eq!(again.result(), first.result(), "the end of {}", created.task);
            assert_eq!(again.error(), first.error(), "the end of {}", created.task);
        }
        first
    }

    /// Waits for the event that the task's end makes.
    pub(crate) async fn wait_for_end(&self, created: &Created) {
        let came =
            self.logs().wait_for(|events| ends_of(events, created).first().map(|_| ())).await;
        assert!(came.is_some(), "no end of {} in:\n{}", created.task, self.logs().raw());
    }

    /// The same, after which there must be no other.
    pub(crate) async fn end(&self, created: &Created) -> Event {
        self.wait_for_end(created).await;
        // Whatever else there is to come is there once a later call has ended.
        let id = self.first().start_call("ok", json!({})).await;
        self.logs().wait_for_end(&id).await.expect("the end of a call");
        let mut ends = self.ends(created);
        assert_eq!(ends.len(), 1, "{ends:#?}");
        ends.remove(0)
    }

    /// The events of the call that created the task, without its start and its deferral.
    pub(crate) fn ends(&self, created: &Created) -> Vec<Event> {
        ends_of(&self.logs().events(), created)
    }
}

fn ends_of(events: &[Event], created: &Created) -> Vec<Event> {
    let is_end = |event: &&Event| {
        event.target == "tower_outcome"
            && event.field("call_id") == Some(&created.call_id)
            && !["tool_call_started", "tool_call_deferred"].contains(&event.message.as_str())
    };
    events.iter().filter(is_end).cloned().collect()
}

/// Whether an answer to `tasks/get` says that there is nothing more to come.
pub(crate) fn has_ended(answer: &Answer) -> bool {
    matches!(status(answer), "completed" | "failed" | "cancelled")
}

/// The status that an answer to `tasks/get` tells.
pub(crate) fn status(answer: &Answer) -> &str {
    answer.result().and_then(|result| result["status"].as_str()).unwrap_or_default()
}

/// The level, name, outcome and code of an event.
pub(crate) fn line(event: &Event) -> String {
    let field = |name| event.field(name).unwrap_or("-");
    format!("{} {} {} {}", event.level, event.message, field("outcome"), field("code"))
}

/// Checks that what a task ended in is the fixed text, with the reference of its line.
pub(crate) fn assert_fixed(answer: &Answer, event: &Event) {
    let error = &answer.result().expect("a task")["error"];
    let text = error["message"].as_str().unwrap_or_default();
    let call_id = event.field("call_id").expect("a call id");
    assert_eq!((status(answer), &error["code"]), ("failed", &json!(-32603)), "{answer:?}");
    assert!(
        text.contains("was fine, but the server could not") && text.contains(call_id),
        "{text}"
    );
    assert_eq!(error["data"]["tower-outcome/failure"]["reference"], call_id, "{answer:?}");
}

/// Serves over HTTP in this process, with a layer round the HTTP service; the address.
pub(crate) async fn serve(handler: impl ServerHandler + Clone, layer: OutcomeLayer) -> String {
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = axum::Router::new().route_service("/mcp", service).layer(layer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
