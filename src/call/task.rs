//! What is known of a task by its protocol.

use std::time::Duration;

use crate::text;

/// A task that was created.
#[derive(Clone, Copy, Debug)]
pub struct NewTask<'a> {
    /// Its id.
    pub id: &'a str,
    /// For how long the server remembers it; `None` where it does not say, or for ever.
    pub ttl: Option<Duration>,
    /// Which form of the protocol it is told in.
    pub form: TaskForm,
}

/// The same, to keep.
#[derive(Clone, Debug)]
pub(super) struct CreatedTask {
    /// Cut at [`text::RAW_NAME_CHARS`].
    pub(super) id: Box<str>,
    pub(super) ttl: Option<Duration>,
    pub(super) form: TaskForm,
}

impl CreatedTask {
    pub(super) fn of(task: NewTask<'_>) -> Self {
        Self {
            id: text::prefix(task.id, text::RAW_NAME_CHARS).into(),
            ttl: task.ttl,
            form: task.form,
        }
    }
}

/// Which form of the protocol a task is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskForm {
    /// 2025-11-25: the client asks for a task. `tasks/get` shows no more than a status;
    /// `tasks/result` gives what the call would have been answered with.
    ///
    /// See <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>.
    Core,
    /// The extension `io.modelcontextprotocol/tasks` (SEP-2663): the server decides. `tasks/get` and
    /// `notifications/tasks` have what the task ended in.
    Extension,
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// It goes on. Whatever a peer says that is none of the others counts as this.
    #[default]
    Working,
    /// It waits for the client.
    InputRequired,
    /// It has a result. With [`TaskForm::Extension`] that may have the `isError` flag.
    Completed,
    /// It has none. With [`TaskForm::Core`] a result with the `isError` flag counts as this.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl TaskStatus {
    /// The status with this name on the wire; [`Working`](Self::Working) for what is none.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "input_required" => Self::InputRequired,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            _ => Self::Working,
        }
    }

    /// Whether nothing more comes of it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
