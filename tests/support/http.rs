//! JSON-RPC over Streamable HTTP.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::task::AbortHandle;

use super::{answer::Answer, inbox::Inbox, messages::Revision, sse};

/// One server, and the session with it if it keeps any.
pub(super) struct Http {
    client: reqwest::Client,
    url: String,
    revision: Revision,
    session: OnceLock<String>,
    inbox: Inbox,
    /// Requests whose answer is still being read, by the JSON text of their id.
    open: Mutex<HashMap<String, AbortHandle>>,
}

impl Http {
    pub(super) fn new(address: &str, revision: Revision, inbox: Inbox) -> Self {
        Self::at(format!("http://{address}/mcp"), revision, inbox)
    }

    fn at(url: String, revision: Revision, inbox: Inbox) -> Self {
        Self {
            // A proxy that the environment names is not for a server on this machine.
            client: reqwest::Client::builder().no_proxy().build().expect("an HTTP client"),
            url,
            revision,
            session: OnceLock::new(),
            inbox,
            open: Mutex::default(),
        }
    }

    /// The same server for another client, which has no session yet.
    pub(super) fn another(&self, inbox: Inbox) -> Self {
        Self::at(self.url.clone(), self.revision, inbox)
    }

    /// Opens the stream of what a session's server sends by itself, and reads on.
    pub(super) async fn listen(&self) {
        let mut request = self.client.get(&self.url).header("Accept", "text/event-stream");
        request = request.header("MCP-Protocol-Version", self.revision.as_str());
        if let Some(session) = self.session.get() {
            request = request.header("Mcp-Session-Id", session);
        }
        let response = request.send().await.expect("a stream");
        let inbox = self.inbox.clone();
        let task = tokio::spawn(async move { read(response, &Value::Null, &inbox).await });
        self.open_requests().insert("GET".to_owned(), task.abort_handle());
    }

    /// Posts a request and reads its answer in a task of its own.
    pub(super) fn start(&self, id: &Value, message: &Value) {
        let request = self.post(message);
        let (id_of_task, inbox) = (id.clone(), self.inbox.clone());
        let task = tokio::spawn(async move {
            if let Ok(response) = request.send().await {
                read(response, &id_of_task, &inbox).await;
            }
            inbox.give_up(&id_of_task);
        });
        self.open_requests().insert(id.to_string(), task.abort_handle());
    }

    /// Posts a message that has no answer, and returns the status.
    pub(super) async fn send(&self, message: &Value) -> Option<u16> {
        let response = self.post(message).send().await.ok()?;
        self.inbox.keep_bytes(head(&response).as_bytes());
        let status = response.status().as_u16();
        self.inbox.keep_bytes(&response.bytes().await.ok()?);
        Some(status)
    }

    /// Posts `initialize`, and keeps the session that comes back.
    pub(super) async fn initialize(&self, id: &Value, message: &Value) {
        if let Ok(response) = self.post(message).send().await {
            if let Some(session) = response.headers().get("mcp-session-id") {
                let _ = self.session.set(session.to_str().expect("a visible id").to_owned());
            }
            read(response, id, &self.inbox).await;
        }
        self.inbox.give_up(id);
    }

    /// Hangs up on one request: from 2026-07-28 on, that cancels it.
    pub(super) fn hang_up(&self, id: &Value) {
        if let Some(task) = self.open_requests().remove(&id.to_string()) {
            task.abort();
        }
        self.inbox.give_up(id);
    }

    /// Ends the session, and hangs up on all requests.
    pub(super) async fn close(&self) {
        if let Some(session) = self.session.get() {
            let _ = self.client.delete(&self.url).header("Mcp-Session-Id", session).send().await;
        }
        for (_, task) in self.open_requests().drain() {
            task.abort();
        }
        self.inbox.close();
    }

    fn open_requests(&self) -> std::sync::MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        let mut request = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header("Accept", "application/json, text/event-stream");
        let method = message["method"].as_str().unwrap_or_default();
        if method != "initialize" {
            request = request.header("MCP-Protocol-Version", self.revision.as_str());
        }
        if let Some(session) = self.session.get() {
            request = request.header("Mcp-Session-Id", session);
        }
        if self.revision == Revision::V2026 {
            request = request.header("Mcp-Method", method);
            if let Some(name) = name_of(method, &message["params"]) {
                request = request.header("Mcp-Name", header_value(name));
            }
        }
        request.body(message.to_string())
    }
}

/// What the header `Mcp-Name` repeats.
fn name_of<'a>(method: &str, params: &'a Value) -> Option<&'a str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(key)?.as_str()
}

/// Plain visible ASCII as it is, anything else in base64.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && text.trim() == text && !text.is_empty() {
        return text.to_owned();
    }
    format!("=?base64?{}?=", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

fn head(response: &reqwest::Response) -> String {
    let mut head = format!("{}\n", response.status());
    for (name, value) in response.headers() {
        head.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    head
}

/// Reads an answer in whichever form it comes.
async fn read(mut response: reqwest::Response, id: &Value, inbox: &Inbox) {
    inbox.keep_bytes(head(&response).as_bytes());
    let status = response.status().as_u16();
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let is_sse = content_type.starts_with("text/event-stream");
    let mut events = sse::Events::default();
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        inbox.keep_bytes(&chunk);
        if is_sse {
            for data in events.feed(&chunk) {
                inbox.take(Some(status), &data);
            }
        } else {
            body.extend_from_slice(&chunk);
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    if content_type.starts_with("application/json") {
        inbox.take(Some(status), &body);
    } else if !is_sse {
        inbox.settle(id, Answer::Http { status, body });
    }
}
