//! A client that says no more than it has to, and tells what it got.

use std::time::Duration;

use reqwest::{Response, header::CONTENT_TYPE};
use serde_json::{Value, json};

/// How often a client looks whether an answer is there, and how long it waits each time.
const LOOKS: u32 = 40;
const BETWEEN: Duration = Duration::from_millis(50);

pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    session: Option<String>,
}

impl Client {
    /// Says hello to the server at that address.
    pub(crate) async fn connect(url: String) -> Result<Self, crate::Error> {
        // A proxy that the environment names is not for a server on this machine.
        let http = reqwest::Client::builder().no_proxy().build()?;
        let mut client = Self { http, url, session: None };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "side-by-side", "version": "1" },
        });
        let response = client.post(Some(0), "initialize", hello).send().await?;
        let session = response.headers().get("mcp-session-id").cloned();
        answer(response, 0).await?;
        client.session = session.map(|session| session.to_str().map(str::to_owned)).transpose()?;
        client.post(None, "notifications/initialized", json!({})).send().await?;
        Ok(client)
    }

    /// What it gets for a call, in words.
    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: &Value) -> Heard {
        let params = json!({ "name": tool, "arguments": arguments });
        let request = self.post(Some(id), "tools/call", params).send();
        let answered = async { answer(request.await?, id).await };
        let mut answered = std::pin::pin!(answered);
        // In steps, so that a machine that stands still for a while does not look like a server
        // that does not answer: both sides run on one thread, and get on between two looks.
        for _ in 0..LOOKS {
            if let Ok(answer) = tokio::time::timeout(BETWEEN, &mut answered).await {
                return answer.unwrap_or_else(|_| Heard::nothing("the connection ended"));
            }
        }
        Heard::nothing(format!("nothing within {} s", (LOOKS * BETWEEN).as_secs()))
    }

    fn post(&self, id: Option<u64>, method: &str, params: Value) -> reqwest::RequestBuilder {
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let (Some(id), Some(message)) = (id, message.as_object_mut()) {
            message.insert("id".to_owned(), id.into());
        }
        let mut request = self
            .http
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header("Accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request
                .header("Mcp-Session-Id", session)
                .header("MCP-Protocol-Version", "2025-11-25");
        }
        request.body(message.to_string())
    }
}

/// What a client got: what it is, and its text if it has one.
pub(crate) struct Heard {
    pub(crate) kind: String,
    pub(crate) text: Option<String>,
}

impl Heard {
    fn new(kind: impl Into<String>, text: impl ToString) -> Self {
        Self { kind: kind.into(), text: Some(text.to_string()) }
    }

    /// No answer, for this reason.
    fn nothing(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), text: None }
    }

    fn of(message: &Value) -> Self {
        if let Some(error) = message.get("error") {
            let code = &error["code"];
            return Self::new(format!("error {code}"), text(&error["message"]));
        }
        let result = &message["result"];
        let kind = if result["isError"] == true { "isError" } else { "result" };
        Self::new(kind, text(&result["content"][0]["text"]))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Reads on until the answer is there.
async fn answer(mut response: Response, id: u64) -> Result<Heard, crate::Error> {
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if let Some(message) = message(&body, id) {
            return Ok(Heard::of(&message));
        }
    }
    Ok(Heard::new(format!("HTTP {}", status.as_u16()), String::from_utf8_lossy(&body).trim()))
}

/// The answer in a body that is JSON, or in one of a stream's lines of data.
fn message(body: &[u8], id: u64) -> Option<Value> {
    let body = std::str::from_utf8(body).ok()?;
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut messages = data.chain([body]).filter_map(|text| serde_json::from_str(text).ok());
    messages.find(|message: &Value| message["id"] == id && message.get("method").is_none())
}
