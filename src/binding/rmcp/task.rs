//! What `tasks/get` is answered with.

use std::time::Duration;

use rmcp::model::{GetTaskResult, JsonObject, TaskPayload};
use serde_json::Value;

use super::reply::{error_data, tool_failure};
use crate::{
    binding::{Answer, ErrorView, ResultView, TaskEnd, TaskView},
    call::TaskStatus,
    tool_error::Rendering,
};

/// What the answer says.
pub(super) fn answer(result: &GetTaskResult) -> Answer<'_> {
    let task = &result.task.task;
    let (status, end) = match &result.task.payload {
        TaskPayload::InputRequired { .. } => (TaskStatus::InputRequired, None),
        TaskPayload::Completed { result } => {
            (TaskStatus::Completed, Some(TaskEnd::Result(ResultView::of_json(result))))
        }
        TaskPayload::Failed { error } => {
            (TaskStatus::Failed, Some(TaskEnd::Error(ErrorView::of_json(error))))
        }
        TaskPayload::Cancelled => (TaskStatus::Cancelled, None),
        // Also what a newer rmcp has.
        _ => (TaskStatus::Working, None),
    };
    Answer::Task(TaskView {
        id: Some(&task.task_id),
        status,
        message: task.status_message.as_deref(),
        ttl: task.ttl_ms.map(Duration::from_millis),
        end,
    })
}

/// Puts `rendering` in the place of what the task ended in, and of what is said about it.
pub(super) fn replace_end(result: &mut GetTaskResult, rendering: Rendering) {
    if let Some(message) = &mut result.task.task.status_message {
        message.clone_from(&rendering.text);
    }
    match &mut result.task.payload {
        TaskPayload::Completed { result } => *result = object(&tool_failure(rendering)),
        TaskPayload::Failed { error } => *error = object(&error_data(rendering)),
        _ => {}
    }
}

fn object(value: &impl serde::Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        // Neither is anything else.
        _ => JsonObject::new(),
    }
}
