//! What a message that has gone by says of a task.

use std::{borrow::Cow, time::Duration};

use super::{
    judge::{KeptError, KeptResult},
    kept::Kept,
    raw,
};
use crate::{
    binding::{
        Answer, TaskEnd, TaskView,
        http::scan::{Facts, Inner, Shape, Text},
    },
    call::{Call, TaskStatus, find_task},
    classify::{Judgement, judge},
};

/// What a task says of itself: the answer to a question for it, or a notification.
pub(super) struct TaskState<'a> {
    /// The member of the message that it is.
    pub(super) at: &'static str,
    id: &'a Text,
    status: &'a Text,
    message: &'a Text,
    ttl: Option<u64>,
    inner: Option<&'a Inner>,
}

impl<'a> TaskState<'a> {
    /// The one that an answer to `call` is, if it is one.
    pub(super) fn of_answer(call: &Call, facts: &'a Facts) -> Option<Self> {
        let result = &facts.result;
        let task = &result.flat_task;
        let is_task = !task.id.is_absent() && !task.status.is_absent();
        // What it ended in may be there also where the rest is not as it ought to be.
        // Of `tasks/result` they are members of a tool's own result.
        let is_answer = matches!(call.method(), "tasks/get" | "tasks/cancel" | "tasks/update")
            && facts.inner.is_some();
        (!call.kind().is_tool() && (is_task || is_answer)).then_some(Self {
            at: "result",
            id: &task.id,
            status: &task.status,
            message: &result.status_message,
            ttl: task.ttl.or(result.core_ttl),
            inner: facts.inner.as_deref(),
        })
    }

    /// The one that a notification tells, if it does.
    pub(super) fn of_notification(facts: &'a Facts) -> Option<Self> {
        let params = facts.params.as_deref().filter(|_| is_notification(facts))?;
        (!params.task_id.is_absent()).then_some(Self {
            at: "params",
            id: &params.task_id,
            status: &params.status,
            message: &params.status_message,
            ttl: None,
            inner: params.inner.as_deref(),
        })
    }

    /// Its id, as far as it is kept.
    pub(super) fn id(&self) -> Cow<'_, str> {
        self.id.get().unwrap_or_default()
    }

    /// What it means to the call of the message, and whether it may go out.
    pub(super) fn judge(&self, call: &Call, raw: Option<&[u8]>, kept: &Kept) -> Judgement {
        let id = self.id.get();
        let status = TaskStatus::from_name(&self.status.get().unwrap_or_default());
        let message = self.message.get();
        let view = TaskView {
            id: id.as_deref(),
            status,
            message: message.as_deref(),
            ttl: self.ttl.map(Duration::from_millis),
            end: None,
        };
        let Some(inner) = self.inner else { return judge(call, &Answer::Task(view)) };
        if !inner.error.shape.is_nothing() {
            let error = KeptError::new(&inner.error, raw, &[self.at, "error", "code"]);
            let end = Some(TaskEnd::Error(error.view()));
            let judgement = judge(call, &Answer::Task(TaskView { end, ..view }));
            let is_told = error.data.is_none();
            return self.with_hidden(judgement, raw.filter(|_| is_told), &["error", "data"]);
        }
        if inner.result.shape != Shape::Object {
            return judge(call, &Answer::Task(view));
        }
        let task = id.as_deref().map(Into::into).or_else(|| call.asked_task());
        let tool = find_task(call, &task.unwrap_or_default()).call;
        let result = KeptResult::new(&tool, &inner.result, kept);
        let end = Some(TaskEnd::Result(result.view()));
        let judgement = judge(call, &Answer::Task(TaskView { end, ..view }));
        let has_text = !inner.result.text.is_absent();
        self.with_hidden(judgement, raw.filter(|_| !has_text), &["result", "structuredContent"])
    }

    /// What is withheld says it nowhere else.
    fn with_hidden(
        &self,
        judgement: Judgement,
        raw: Option<&[u8]>,
        [part, member]: &[&str; 2],
    ) -> Judgement {
        match raw.filter(|_| judgement.withhold) {
            Some(raw) => judgement.with_more_cause(raw::member(raw, &[self.at, part, member])),
            None => judgement,
        }
    }
}

/// Whether a message is a notification of a task, or may be, as far as it has been read.
pub(super) fn is_notification(facts: &Facts) -> bool {
    const NAMES: [&str; 2] = ["notifications/tasks", "notifications/tasks/status"];
    let name = &facts.method.name;
    let is_unread = name.is_absent() && facts.method.shape == Shape::String && facts.end.is_none();
    is_unread || NAMES.iter().any(|task| name.is(task))
}

/// Whether there is an error in what a message says of a task, as far as it has been read; in a
/// result that `may_tell` of one.
pub(super) fn has_error(facts: &Facts, may_tell: bool) -> bool {
    let of_result = facts.inner.as_deref().filter(|_| may_tell);
    let of_params = facts.params.as_deref().and_then(|params| params.inner.as_deref());
    let of_params = of_params.filter(|_| is_notification(facts));
    of_result.or(of_params).is_some_and(|inner| !inner.error.shape.is_nothing())
}
