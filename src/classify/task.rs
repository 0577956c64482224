//! What an answer says of a task: whether it has ended, and in what.
//!
//! The end of a task is judged as the end of the tool call that created it: by the same table,
//! under that call's policy, with that tool's classifier.

use serde_json::Value;

use super::table::{Judgement, bounded, judge, undeclared};
use crate::{
    binding::{Answer, ErrorView, RELATED_TASK, ResultView, TaskEnd, TaskView},
    call::{Call, Kind, Remembered, TaskForm, TaskStatus, Verdict, find_task},
    outcome::{Cause, Reason},
    tool_error::{Declaration, Rendering},
};

const TASK_RESULT: &str = "tasks/result";
const TASK_CANCEL: &str = "tasks/cancel";

/// A task that has ended, as an answer says.
#[derive(Debug)]
pub(crate) struct EndedTask {
    task: Remembered,
    verdict: Verdict,
    /// It is all that is known so far, and what it really ended in may still be asked for.
    is_status: bool,
    is_unread: bool,
}

impl EndedTask {
    /// Tells how it ended, if nobody has. Gives what the client is told in the place of what came:
    /// whatever was asked, it was a call of a tool that failed.
    pub(crate) fn withheld(self) -> Rendering {
        let mut rendering = Rendering::fault(Kind::ToolCall, None, self.task.call.id());
        rendering.related_task = self.task.call.asked_task();
        let verdict = self.verdict.told(rendering.text.clone());
        Self { verdict, ..self }.tell_as(true);
        rendering
    }

    /// Tells how it ended, if nobody has, as it came.
    pub(crate) fn tell(self) {
        self.tell_as(false);
    }

    fn tell_as(self, is_withheld: bool) {
        let Self { task, verdict, is_status, is_unread } = self;
        if is_unread {
            task.call.set_result_unread();
        }
        if is_status {
            task.note(verdict, is_withheld);
        } else {
            task.end(verdict, is_withheld);
        }
    }

    /// Whether nobody could read the result, and so whether it is one of a failure.
    #[cfg(feature = "http")]
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread
    }
}

/// What the answer to a request about a task means; `None` where it tells nothing of one.
pub(super) fn judge_of_task(call: &Call, answer: &Answer<'_>) -> Option<Judgement> {
    match answer {
        Answer::Task(view) => Some(judge_state(call, view)),
        Answer::Result(result) if call.method() == TASK_RESULT => {
            let id = call.asked_task().or_else(|| related_task(result))?;
            Some(judge_result(call, &id, result))
        }
        Answer::Error(error) if call.method() == TASK_RESULT => {
            judge_error(call, &call.asked_task()?, error)
        }
        Answer::Result(_) if call.method() == TASK_CANCEL => {
            find_task(call, &call.asked_task()?).cancel();
            None
        }
        _ => None,
    }
}

/// The task that a result belongs to, as it says itself.
fn related_task(result: &ResultView<'_>) -> Option<Box<str>> {
    let related = result.meta?.get(RELATED_TASK)?;
    related.get("taskId")?.as_str().map(Into::into)
}

/// A task as it stands.
fn judge_state(call: &Call, view: &TaskView<'_>) -> Judgement {
    let completed = Judgement::from(Verdict::completed());
    let Some(id) = view.id.map(Into::into).or_else(|| call.asked_task()) else { return completed };
    let task = find_task(call, &id);
    if let Some(ttl) = view.ttl {
        task.renew(ttl);
    }
    if call.method() == TASK_CANCEL {
        task.cancel();
    }
    if !view.has_ended() {
        return completed;
    }
    // What a status says is all that there is to come, unless the result has to be asked for.
    let is_status = view.end.is_none()
        && view.status != TaskStatus::Cancelled
        && task.form != Some(TaskForm::Extension);
    let judged = match (view.end, view.status) {
        (Some(TaskEnd::Result(result)), status) => {
            let judged = judge(&task.call, &Answer::Result(result));
            match status {
                TaskStatus::Failed if judged.verdict.failure().is_none() => {
                    failed(&task.call, view).into()
                }
                _ => judged,
            }
        }
        (Some(TaskEnd::Error(error)), _) => judge(&task.call, &Answer::Error(error)),
        (None, TaskStatus::Failed) => mask(&task, failed(&task.call, view), view),
        (None, TaskStatus::Cancelled) => {
            let is_asked = task.is_cancelled || call.method() == TASK_CANCEL;
            Verdict::cancelled_by(is_asked.then_some(Reason::ClientCancelled)).into()
        }
        (None, _) => Verdict::completed().into(),
    };
    let Judgement { verdict, withhold, is_unread, .. } = judged;
    let ended = EndedTask { task, verdict, is_status, is_unread };
    Judgement { withhold, task: Some(Box::new(ended)), ..completed }
}

/// All that is known is that it failed, and what it says of that.
fn failed(task: &Call, view: &TaskView<'_>) -> Verdict {
    undeclared(view.message.map(bounded), &task.policy())
}

/// What it says of that is its author's, which the policy may mask; unless it is known by now to be
/// what may not be told.
fn mask(task: &Remembered, verdict: Verdict, view: &TaskView<'_>) -> Judgement {
    let is_hidden = task.is_withheld || task.call.policy().masks_undeclared();
    match view.message.filter(|_| is_hidden) {
        Some(message) => {
            let hidden = Cause::new("status_message", bounded(message));
            Judgement { withhold: true, ..verdict.with_cause(hidden).into() }
        }
        None => verdict.into(),
    }
}

/// What the call would have been answered with.
fn judge_result(call: &Call, id: &str, result: &ResultView<'_>) -> Judgement {
    let task = find_task(call, id);
    let Judgement { verdict, withhold, is_unread, .. } =
        judge(&task.call, &Answer::Result(*result));
    let ended = EndedTask { task, verdict, is_status: false, is_unread };
    Judgement {
        withhold,
        answer_as: Some(Kind::ToolCall),
        task: Some(Box::new(ended)),
        ..Verdict::completed().into()
    }
}

/// The same; unless it is between the client and `tasks/result`: there is no such task, it has no
/// result, the client may not have it, there is no such method, the request for it failed.
fn judge_error(call: &Call, id: &str, error: &ErrorView<'_>) -> Option<Judgement> {
    let task = find_task(call, id);
    let is_about_question = match error.code {
        // Only a task that is known to have failed may have failed with this.
        -32602 => !task.has_failed,
        -32700 | -32600 | -32601 | -32001 | -32002 => true,
        // What a layer further in has answered.
        _ => call.has_failed() || is_of(call, &task, error),
    };
    // In the other form there is no such request.
    if is_about_question || task.form == Some(TaskForm::Extension) {
        return None;
    }
    let Judgement { verdict, withhold, .. } = judge(&task.call, &Answer::Error(*error));
    let ended = EndedTask { task, verdict, is_status: false, is_unread: false };
    Some(Judgement { withhold, task: Some(Box::new(ended)), ..Verdict::completed().into() })
}

/// Whether an error refers to this very call, and not to that of the task, and so is a layer's of
/// ours.
fn is_of(call: &Call, task: &Remembered, error: &ErrorView<'_>) -> bool {
    // That of a task that nobody remembers is the one that has asked for it first.
    if task.call.id() == call.id() {
        return false;
    }
    let record = error.data.and_then(|data| data.get(Declaration::KEY));
    let reference = record.and_then(|record| record.get("reference")).and_then(Value::as_str);
    reference.is_some_and(|reference| reference == call.id().to_string())
}
