//! An answer as the layers see it: borrowed from whatever the protocol library made of it.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{
    call::{Call, Kind, NewTask, TaskStatus},
    classify::judge_error_of,
    tool_error::{Declaration, Rendering},
};

/// What an answer says.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Answer<'a> {
    /// A result of any kind but those below.
    Result(ResultView<'a>),
    /// A task was created.
    Deferred(Option<NewTask<'a>>),
    /// What a task says of itself: the answer to `tasks/get`, and to `tasks/cancel` where that is
    /// one.
    Task(TaskView<'a>),
    /// The server asks for input.
    InputRequired,
    /// A JSON-RPC error.
    Error(ErrorView<'a>),
    /// The message was a notification and has been handled.
    Nothing,
}

impl Answer<'_> {
    /// Whether it is a result that nothing speaks against: no flag, no record, no end of a task.
    #[inline]
    pub(crate) fn is_plain_success(&self) -> bool {
        match self {
            Self::Result(result) => {
                !result.is_error
                    && result.meta.is_none_or(|meta| !meta.contains_key(Declaration::KEY))
            }
            Self::Task(task) => !task.has_ended(),
            Self::Nothing => true,
            Self::Deferred(_) | Self::InputRequired | Self::Error(_) => false,
        }
    }
}

/// A result, as far as it matters for its verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResultView<'a> {
    /// The `isError` flag of a tool's result.
    pub is_error: bool,
    /// Its `_meta`.
    pub meta: Option<&'a Map<String, Value>>,
    /// Its first text block.
    pub text: Option<&'a str>,
    /// Whether that block is all of its content.
    pub is_text_alone: bool,
    /// Its `structuredContent`.
    pub structured: Option<&'a Value>,
    /// Whether the text, or `structuredContent` if there is one, is only a part of what there is:
    /// nobody can tell what a classifier would find in the rest.
    pub is_cut: bool,
}

impl<'a> ResultView<'a> {
    /// The view of a tool's result that is JSON.
    ///
    /// ```
    /// use serde_json::json;
    /// use tower_outcome::binding::ResultView;
    ///
    /// let result = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    /// let view = result.as_object().map(ResultView::of_json).unwrap_or_default();
    /// assert!(view.is_error && view.is_text_alone && view.text == Some("no"));
    /// ```
    #[must_use]
    pub fn of_json(result: &'a Map<String, Value>) -> Self {
        let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice);
        let text = |block: &'a Value| {
            let is_text = block.get("type")?.as_str()? == "text";
            block.get("text")?.as_str().filter(|_| is_text)
        };
        Self {
            is_error: result.get("isError") == Some(&Value::Bool(true)),
            meta: result.get("_meta").and_then(Value::as_object),
            text: blocks.and_then(|blocks| blocks.iter().find_map(text)),
            is_text_alone: matches!(blocks, Some([block]) if text(block).is_some()),
            structured: result.get("structuredContent"),
            is_cut: false,
        }
    }
}

/// A JSON-RPC error.
#[derive(Clone, Copy, Debug)]
pub struct ErrorView<'a> {
    /// Its code.
    pub code: i64,
    /// Its message.
    pub message: &'a str,
    /// Its data.
    pub data: Option<&'a Value>,
}

impl<'a> ErrorView<'a> {
    /// The view of an error that is JSON. One without a code that is a number has -32603: it says
    /// nothing of whose fault it is.
    #[must_use]
    pub fn of_json(error: &'a Map<String, Value>) -> Self {
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(-32603),
            message: error.get("message").and_then(Value::as_str).unwrap_or_default(),
            data: error.get("data"),
        }
    }

    /// What a tool's client is told in the place of this error, where its text is not for the client: of
    /// one that blames the server and declares nothing. What it says is then left with the
    /// [current call](Call::current), for the log.
    ///
    /// Layers do so with every answer that passes them. This is for an error that goes out another way as
    /// well, as what a task ends in does in a notification.
    #[must_use]
    pub fn withheld(&self) -> Option<Rendering> {
        let call = Call::current().unwrap_or_else(|| Call::begin_unrecorded(Kind::ToolCall));
        let judgement = judge_error_of(&call, self);
        if !judgement.withhold {
            return None;
        }
        let rendering = Rendering::fault(Kind::ToolCall, None, call.id());
        call.deposit(judgement.verdict.told(rendering.text.clone()));
        Some(rendering)
    }
}

/// A task as it stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskView<'a> {
    /// Its id, where the answer says it. By default it is the one that was
    /// [asked about](crate::McpRequest::task_id).
    pub id: Option<&'a str>,
    /// How far it has come.
    pub status: TaskStatus,
    /// What it says of that in words.
    pub message: Option<&'a str>,
    /// For how long the server remembers it; `None` where it does not say, or for ever.
    pub ttl: Option<Duration>,
    /// What it ended in, where the answer says it: SEP-2663.
    pub end: Option<TaskEnd<'a>>,
}

impl TaskView<'_> {
    /// Whether there is nothing more to come.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.status.is_terminal() || self.end.is_some()
    }
}

/// What a task ended in.
#[derive(Clone, Copy, Debug)]
pub enum TaskEnd<'a> {
    /// The result of the tool.
    Result(ResultView<'a>),
    /// A JSON-RPC error.
    Error(ErrorView<'a>),
}
