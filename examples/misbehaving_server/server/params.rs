//! The arguments of the tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct OkArgs {
    /// What to return; "ok" where absent.
    pub(crate) text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SearchArgs {
    /// Words to look for; an empty query finds all notes.
    pub(crate) query: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadArgs {
    /// The note's path, as search_notes returns it.
    pub(crate) path: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditArgs {
    /// The note's path, as search_notes returns it.
    pub(crate) path: String,
    /// The new text.
    pub(crate) text: String,
    /// The version that read_note returned.
    pub(crate) if_match: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeclaredArgs {
    /// rejected, stale or fault.
    pub(crate) outcome: String,
    /// The failure's code, in snake_case.
    pub(crate) code: String,
    /// model, user, time or operator.
    pub(crate) actor: Option<String>,
    /// trace, debug, info, warn or error.
    pub(crate) level: Option<String>,
    /// Seconds after which the same call may succeed.
    pub(crate) retry_after: Option<f64>,
    /// What the failure says.
    pub(crate) message: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TextArgs {
    /// A text that must not get out.
    pub(crate) text: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ProtocolArgs {
    /// The JSON-RPC error code.
    pub(crate) code: i32,
    /// The error's message.
    pub(crate) message: String,
    /// The error's data.
    pub(crate) data: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PayloadArgs {
    /// What to return.
    pub(crate) payload: Value,
    /// Whether to return it as structured content or as a text block.
    #[serde(rename = "as")]
    pub(crate) form: PayloadForm,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PayloadForm {
    Structured,
    Text,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PanicArgs {
    /// What the panic says.
    pub(crate) text: String,
    /// When to panic.
    pub(crate) when: When,
}

/// When `panic` panics.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
    /// Before there is a future.
    Sync,
    /// In its first poll.
    FirstPoll,
    /// In a later poll.
    AfterAwait,
    /// While it holds a lock that every such call takes.
    Locked,
    /// In a task of its own, whose failure is returned.
    Spawned,
    /// With a payload that panics when it is dropped.
    PayloadDrop,
    /// In the `Drop` of a local, when a timeout cuts the call short.
    LocalDrop,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SlowArgs {
    /// How long to sleep.
    pub(crate) ms: u64,
    /// Whether to return early when the call is cancelled.
    pub(crate) watch_cancel: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BigArgs {
    /// How much text to return.
    pub(crate) bytes: usize,
    /// Whether to return it as an error.
    pub(crate) is_error: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ProgressArgs {
    /// How many notifications to send first.
    pub(crate) n: u32,
    /// How to end.
    pub(crate) then: Then,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    Ok,
    Panic,
    Error,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TaskArgs {
    /// How the task ends.
    pub(crate) ends: Ends,
    /// After how many milliseconds.
    pub(crate) ms: u64,
    /// What its result, error or panic says.
    pub(crate) text: Option<String>,
    /// For how many milliseconds the server keeps it; five minutes where absent.
    pub(crate) ttl_ms: Option<u64>,
    /// Whether to send notifications/tasks when it has ended.
    pub(crate) notify: Option<bool>,
}

/// How a task ends.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ends {
    Ok,
    /// With an error result that does not say what it means.
    IsError,
    /// With an ordinary result that says it failed.
    Soft,
    /// With rmcp's internal error.
    Error,
    Panic,
    /// With a panic before there is a future, and so at once.
    PanicSync,
    /// Not at all, unless it is cancelled.
    Never,
}
