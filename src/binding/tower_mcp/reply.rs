use std::time::Duration;

use serde_json::{Map, Value};
use tower_mcp::{
    JsonRpcError, RouterResponse,
    protocol::{CallToolResult, Content, McpResponse, RequestId as Id, TaskObject},
    tasks::DetailedTask,
};

use crate::{
    binding::{Answer, ErrorView, McpReply, RELATED_TASK, ResultView, TaskEnd, TaskView},
    call::{Kind, NewTask, RequestId, TaskForm, TaskStatus},
    outcome::Declared,
    tool_error::{Declaration, Rendering},
};

impl McpReply for RouterResponse {
    fn answer(&self) -> Answer<'_> {
        match &self.inner {
            Ok(McpResponse::CallTool(result)) => Answer::Result(view(result)),
            Ok(McpResponse::InputRequired(_)) => Answer::InputRequired,
            Ok(McpResponse::FinalCreateTask(created)) => {
                let task = &created.task.metadata;
                deferred(&task.task_id, task.ttl_ms, TaskForm::Extension)
            }
            // It says so in both forms; its end is told as in the newer one.
            Ok(McpResponse::CreateTask(created)) => {
                deferred(&created.task.task_id, created.task.ttl, TaskForm::Extension)
            }
            Ok(McpResponse::FinalGetTask(result)) => Answer::Task(detailed(&result.task)),
            Ok(McpResponse::GetTaskInfo(task)) => Answer::Task(object(task)),
            Ok(_) => Answer::Result(ResultView::default()),
            Err(error) => Answer::Error(error_view(error)),
        }
    }

    fn failure(kind: Kind, id: Option<&RequestId>, rendering: Rendering) -> Self {
        let inner = match kind {
            Kind::ToolCall => Ok(McpResponse::CallTool(tool_failure(rendering))),
            _ => Err(rpc_error(rendering)),
        };
        Self { id: id.map_or(Id::Number(0), id_of), inner }
    }

    fn with_task_end(mut self, id: Option<&RequestId>, rendering: Rendering) -> Self {
        match &mut self.inner {
            Ok(McpResponse::FinalGetTask(result)) => replace_end(&mut result.task, rendering),
            Ok(McpResponse::GetTaskInfo(task)) => {
                if let Some(message) = &mut task.status_message {
                    message.clone_from(&rendering.text);
                }
                match (&mut task.result, &mut task.error) {
                    (_, Some(error)) => *error = rpc_error(rendering),
                    (Some(result), None) => *result = tool_failure(rendering),
                    (None, None) => {}
                }
            }
            _ => return Self::failure(Kind::Request, id, rendering),
        }
        self
    }
}

/// Of one tool alone: whatever it is that failed, it is told as a result.
impl McpReply for CallToolResult {
    fn answer(&self) -> Answer<'_> {
        Answer::Result(view(self))
    }

    fn failure(_: Kind, _: Option<&RequestId>, rendering: Rendering) -> Self {
        tool_failure(rendering)
    }
}

fn id_of(id: &RequestId) -> Id {
    match id {
        RequestId::Number(number) => Id::Number(*number),
        RequestId::String(text) | RequestId::Json(text) => Id::String(text.to_string()),
    }
}

fn view(result: &CallToolResult) -> ResultView<'_> {
    let text = |block: &Content| matches!(block, Content::Text { .. });
    ResultView {
        is_error: result.is_error,
        meta: result.meta.as_ref().and_then(Value::as_object),
        text: result.content.iter().find_map(|block| match block {
            Content::Text { text, .. } => Some(&**text),
            _ => None,
        }),
        is_text_alone: matches!(&*result.content, [block] if text(block)),
        structured: result.structured_content.as_ref(),
        is_cut: false,
    }
}

pub(super) fn error_view(error: &JsonRpcError) -> ErrorView<'_> {
    ErrorView { code: error.code.into(), message: &error.message, data: error.data.as_ref() }
}

fn deferred(id: &str, ttl: Option<u64>, form: TaskForm) -> Answer<'_> {
    Answer::Deferred(Some(NewTask { id, ttl: ttl.map(Duration::from_millis), form }))
}

fn detailed(task: &DetailedTask) -> TaskView<'_> {
    let metadata = task.metadata();
    let end = task.result().map(|result| TaskEnd::Result(ResultView::of_json(result)));
    TaskView {
        id: Some(&metadata.task_id),
        status: status(task.status()),
        message: metadata.status_message.as_deref(),
        ttl: metadata.ttl_ms.map(Duration::from_millis),
        end: end.or_else(|| task.error().map(|error| TaskEnd::Error(error_view(error)))),
    }
}

fn object(task: &TaskObject) -> TaskView<'_> {
    let end = task.error.as_ref().map(|error| TaskEnd::Error(error_view(error)));
    TaskView {
        id: Some(&task.task_id),
        status: status(task.status),
        message: task.status_message.as_deref(),
        ttl: task.ttl.map(Duration::from_millis),
        end: end.or_else(|| task.result.as_ref().map(|result| TaskEnd::Result(view(result)))),
    }
}

fn status(status: tower_mcp::protocol::TaskStatus) -> TaskStatus {
    use tower_mcp::protocol::TaskStatus as S;
    match status {
        S::InputRequired => TaskStatus::InputRequired,
        S::Completed => TaskStatus::Completed,
        S::Failed => TaskStatus::Failed,
        S::Cancelled => TaskStatus::Cancelled,
        _ => TaskStatus::Working,
    }
}

fn replace_end(task: &mut DetailedTask, rendering: Rendering) {
    match task {
        DetailedTask::Completed { metadata, result } => {
            if let Some(message) = &mut metadata.status_message {
                message.clone_from(&rendering.text);
            }
            let failure = serde_json::to_value(tool_failure(rendering));
            *result = match failure {
                Ok(Value::Object(failure)) => failure,
                // It is nothing else.
                _ => Map::new(),
            };
        }
        DetailedTask::Failed { metadata, error } => {
            if let Some(message) = &mut metadata.status_message {
                message.clone_from(&rendering.text);
            }
            *error = rpc_error(rendering);
        }
        _ => {}
    }
}

/// A failure as an `isError` result: one text block that stands on its own, and the record.
pub(super) fn tool_failure(rendering: Rendering) -> CallToolResult {
    let record = rendering.declaration.to_value();
    let mut result = CallToolResult::error(rendering.text);
    if rendering.structured {
        result.structured_content = Some(record.clone());
    }
    let mut meta = Map::from_iter([(Declaration::KEY.to_owned(), record)]);
    if let Some(id) = rendering.related_task {
        meta.insert(RELATED_TASK.to_owned(), serde_json::json!({ "taskId": id }));
    }
    result.meta = Some(Value::Object(meta));
    result
}

/// The same as a JSON-RPC error: `rejected` and `stale` are -32602, a fault is -32603.
pub(super) fn rpc_error(rendering: Rendering) -> JsonRpcError {
    let code = match rendering.declaration.outcome {
        Declared::Rejected | Declared::Stale => -32602,
        Declared::Fault => -32603,
    };
    let record = rendering.declaration.to_value();
    let data = Map::from_iter([(Declaration::KEY.to_owned(), record)]);
    JsonRpcError { code, message: rendering.text, data: Some(Value::Object(data)) }
}
