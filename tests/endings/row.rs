//! One row of the table, and the words it is written in.

use serde_json::{Value, json};

use crate::support::Transport;

/// One way to end, and what is expected of it.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) wire: Wire,
    pub(crate) ends: Ends,
    /// What the text that the client reads contains.
    pub(crate) says: Vec<&'static str>,
    /// What the whole answer contains at these JSON pointers.
    pub(crate) holds: Vec<(&'static str, Value)>,
    /// What neither the client nor rmcp's own log may see.
    pub(crate) secret: Option<&'static str>,
    /// Whether the log line names the secret as the cause, for the operator.
    pub(crate) cause_is_logged: bool,
    /// Progress notifications that come first.
    pub(crate) progress: u32,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire {
    Result,
    ToolError,
    Error(i64),
}

/// What the log says of the end.
pub(crate) struct Ends {
    pub(crate) outcome: &'static str,
    pub(crate) level: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) actor: Option<&'static str>,
    pub(crate) retryable: Option<&'static str>,
}

const DIFFERENT: Option<&str> = Some("with_different_arguments");

pub(crate) fn call(name: &'static str, tool: &'static str, arguments: Value) -> Row {
    let params = json!({ "name": tool, "arguments": arguments });
    request(name, "tools/call", params)
}

pub(crate) fn request(name: &'static str, method: &'static str, params: Value) -> Row {
    let level = if method == "tools/call" { "INFO" } else { "DEBUG" };
    Row {
        name,
        method,
        params,
        wire: Wire::Result,
        ends: Ends { outcome: "completed", level, code: None, actor: None, retryable: None },
        says: Vec::new(),
        holds: Vec::new(),
        secret: None,
        cause_is_logged: false,
        progress: 0,
    }
}

impl Row {
    pub(crate) fn fails(
        mut self,
        outcome: &'static str,
        code: &'static str,
        level: &'static str,
        actor: Option<&'static str>,
        retryable: Option<&'static str>,
    ) -> Self {
        self.ends = Ends { outcome, level, code: Some(code), actor, retryable };
        // On `tools/call` an `isError` result, elsewhere a JSON-RPC error.
        self.wire = match (self.method, outcome) {
            ("tools/call", _) => Wire::ToolError,
            (_, "fault") => Wire::Error(-32603),
            _ => Wire::Error(-32602),
        };
        self
    }

    pub(crate) fn rejected(self, code: &'static str) -> Self {
        self.fails("rejected", code, "INFO", Some("model"), DIFFERENT)
    }

    pub(crate) fn stale(self, code: &'static str) -> Self {
        self.fails("stale", code, "INFO", Some("model"), DIFFERENT)
    }

    pub(crate) fn fault(self, code: &'static str) -> Self {
        self.fails("fault", code, "ERROR", Some("operator"), Some("never"))
    }

    /// A fault that heals itself.
    pub(crate) fn heals(self, code: &'static str) -> Self {
        self.fails("fault", code, "WARN", Some("time"), Some("after_delay"))
    }

    pub(crate) fn undeclared(self) -> Self {
        self.fails("undeclared", "undeclared_error", "ERROR", None, None)
    }

    /// A result that goes out as the success that it is dressed as.
    pub(crate) fn soft_error(self) -> Self {
        self.fails("soft_error", "soft_error", "ERROR", None, None).wire(Wire::Result)
    }

    /// A JSON-RPC error that goes out as it is.
    pub(crate) fn protocol_error(self, code: i64, name: &'static str) -> Self {
        self.fails("protocol_error", name, "INFO", Some("model"), DIFFERENT).wire(Wire::Error(code))
    }

    pub(crate) fn wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    pub(crate) fn level(mut self, level: &'static str) -> Self {
        self.ends.level = level;
        self
    }

    pub(crate) fn says(mut self, text: &'static str) -> Self {
        self.says.push(text);
        self
    }

    pub(crate) fn holds(mut self, pointer: &'static str, value: Value) -> Self {
        self.holds.push((pointer, value));
        self
    }

    /// `secret` stays in the process.
    pub(crate) fn hides(mut self, secret: &'static str) -> Self {
        self.secret = Some(secret);
        self
    }

    /// `secret` stays in the process, and the log line names it.
    pub(crate) fn logs_only(mut self, secret: &'static str) -> Self {
        self.cause_is_logged = true;
        self.hides(secret)
    }

    pub(crate) fn after_progress(mut self, n: u32) -> Self {
        self.progress = n;
        self.params["_meta"] = json!({ "progressToken": self.name });
        self
    }

    /// Why a transport cannot do this row.
    pub(crate) fn impossible_over(&self, _: Transport) -> Option<&'static str> {
        // Nothing so far: where a notification comes first, rmcp 3.11 answers with SSE in json
        // mode too. What is cancelled has exceptions of its own, in `leaving.rs`.
        None
    }
}
