//! The table: each way that a task can end.

use serde_json::{Value, json};

use crate::support::Layers;

/// One way to end, and what is expected of it.
pub(crate) struct Row {
    pub(crate) ends: &'static str,
    pub(crate) text: &'static str,
    pub(crate) ms: u32,
    /// What `tasks/get` says at the end.
    pub(crate) status: &'static str,
    pub(crate) told: Told,
    /// The end's line: level, name, outcome and code.
    pub(crate) line: &'static str,
    pub(crate) actor: Option<&'static str>,
    pub(crate) retryable: Option<&'static str>,
}

/// What the client learns of how the task ended.
pub(crate) enum Told {
    /// What the tool said, at these pointers into the task.
    Said(Vec<(&'static str, Value)>),
    /// The fixed text, with the reference of the line, which has what the tool said.
    Fixed,
    /// The same, but the line has no cause and the reference is another's: who contained the panic
    /// was in reach of no call, and wrote `tool_failed`.
    FixedApart,
}

/// Whether the layers are where the panic is contained: round the handler.
fn is_in_reach(layers: Layers) -> bool {
    layers != Layers::Http
}

pub(crate) fn all(layers: Layers) -> Vec<Row> {
    vec![
        row("ok", "TEXT-of-ok")
            .says("/result/content/0/text", json!("TEXT-of-ok"))
            .line("INFO tool_call_completed completed -"),
        row("is_error", "TEXT-of-is-error")
            .says("/result/content", json!([{ "type": "text", "text": "TEXT-of-is-error" }]))
            .says("/result/isError", json!(true))
            .line("ERROR tool_call_failed undeclared undeclared_error"),
        row("soft", "TEXT-of-soft")
            .says(
                "/result/structuredContent",
                json!({ "status": "failed", "error": "TEXT-of-soft" }),
            )
            .line("ERROR tool_call_failed soft_error soft_error"),
        row("error", "SECRET-of-error").fault("ERROR tool_call_failed fault internal_error"),
        row("panic", "SECRET-of-panic").panic(layers),
        row("panic_sync", "SECRET-of-sync-panic").panic(layers),
    ]
}

fn row(ends: &'static str, text: &'static str) -> Row {
    Row {
        ends,
        text,
        ms: if ends == "panic_sync" { 0 } else { 40 },
        status: "failed",
        told: Told::Fixed,
        line: "",
        actor: None,
        retryable: None,
    }
}

impl Row {
    fn says(mut self, pointer: &'static str, value: Value) -> Self {
        self.status = "completed";
        match &mut self.told {
            Told::Said(said) => said.push((pointer, value)),
            _ => self.told = Told::Said(vec![(pointer, value)]),
        }
        self
    }

    fn line(mut self, line: &'static str) -> Self {
        self.line = line;
        self
    }

    fn fault(mut self, line: &'static str) -> Self {
        (self.actor, self.retryable) = (Some("operator"), Some("never"));
        self.line(line)
    }

    fn panic(mut self, layers: Layers) -> Self {
        if is_in_reach(layers) {
            return self.fault("ERROR tool_call_failed fault panic");
        }
        self.told = Told::FixedApart;
        self.fault("ERROR tool_call_failed fault internal_error")
    }

    pub(crate) fn arguments(&self) -> Value {
        json!({ "ends": self.ends, "ms": self.ms, "text": self.text })
    }
}
