//! What a server logged: JSON lines, from a child's stderr or from a subscriber in this process.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use super::GUARD;

/// The filter of every server in tests: our own events from DEBUG on.
pub const FILTER: &str = "info,tower_outcome=debug";

/// The events that end a request.
const TERMINAL: &[&str] = &[
    "tool_call_completed",
    "tool_call_failed",
    "tool_call_deferred",
    "tool_call_input_required",
    "tool_call_cancelled",
    "tool_call_abandoned",
    "request_completed",
    "request_failed",
    "request_deferred",
    "request_input_required",
    "request_cancelled",
    "request_abandoned",
];

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub level: String,
    pub target: String,
    pub message: String,
    /// All fields but the message.
    pub fields: Map<String, Value>,
}

impl Event {
    fn parse(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut fields = line.get("fields")?.as_object()?.clone();
        let message = fields.remove("message").as_ref().and_then(text).unwrap_or_default();
        Some(Self {
            level: text(line.get("level")?)?,
            target: text(line.get("target")?)?,
            message,
            fields,
        })
    }

    /// A field that is a string.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    pub fn is_terminal(&self) -> bool {
        self.target == "tower_outcome" && TERMINAL.contains(&self.message.as_str())
    }

    /// Whether it is WARN or ERROR.
    pub fn is_alarming(&self) -> bool {
        self.level == "WARN" || self.level == "ERROR"
    }

    /// Whether it is about the request with this id.
    pub fn is_about(&self, id: &Value) -> bool {
        self.fields.get("request_id").is_some_and(|logged| plain(logged) == plain(id))
    }
}

/// A string without its quotes: ids are logged as text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The log so far; clones are handles to the same log.
#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    raw: Vec<u8>,
    parsed: usize,
    events: Vec<Event>,
}

impl Logs {
    /// Captures what this thread logs until the guard is dropped. Tests run on a current-thread
    /// runtime, so that servers in them log on this thread too.
    pub fn capture() -> (Self, DefaultGuard) {
        let logs = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_env_filter(EnvFilter::new(FILTER))
            .with_writer(logs.clone())
            .finish();
        (logs, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.raw.extend_from_slice(bytes);
        while let Some(length) = state.raw[state.parsed..].iter().position(|byte| *byte == b'\n') {
            let line = state.raw[state.parsed..state.parsed + length].to_vec();
            state.parsed += length + 1;
            state.events.extend(Event::parse(&String::from_utf8_lossy(&line)));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.state().events.clone()
    }

    /// All that was written, lines that are no JSON included.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.state().raw).into_owned()
    }

    /// The events of a target, or of modules in it.
    pub fn of_target(&self, target: &str) -> Vec<Event> {
        let inside = format!("{target}::");
        let is_of = |event: &Event| event.target == target || event.target.starts_with(&inside);
        self.events().into_iter().filter(is_of).collect()
    }

    /// The events that ended a request: one, if all is well.
    pub fn terminal(&self, id: &Value) -> Vec<Event> {
        let ends = |event: &Event| event.is_terminal() && event.is_about(id);
        self.events().into_iter().filter(ends).collect()
    }

    /// Waits until `find` finds something; `None` if it never does.
    pub async fn wait_for<T>(&self, find: impl Fn(&[Event]) -> Option<T>) -> Option<T> {
        let poll = async {
            loop {
                if let Some(found) = find(&self.state().events) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(GUARD, poll).await.ok()
    }

    /// Waits for the event that ends a request.
    pub async fn wait_for_end(&self, id: &Value) -> Option<Event> {
        let ends = |event: &&Event| event.is_terminal() && event.is_about(id);
        self.wait_for(|events| events.iter().find(ends).cloned()).await
    }

    /// Waits for an event about a request, by name.
    pub async fn wait_for_event(&self, id: &Value, message: &str) -> Option<Event> {
        let is_it = |event: &&Event| event.message == message && event.is_about(id);
        self.wait_for(|events| events.iter().find(is_it).cloned()).await
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Logs {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
