use std::time::Duration;

use rmcp::{
    ErrorData,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, CustomResult, ErrorCode,
        ServerResult,
    },
};
use serde_json::{Map, Value};

use super::{
    request::{Exchange, Message},
    task,
};
use crate::{
    binding::{Answer, ErrorView, McpReply, RELATED_TASK, ResultView},
    call::{Kind, NewTask, RequestId, TaskForm},
    outcome::Declared,
    tool_error::{Declaration, Rendering},
};

/// What a handler, or a layer in its place, answers a message with.
///
/// A pointer: answers are large, and each layer moves them.
#[derive(Debug)]
pub struct RmcpReply(Reply);

#[derive(Debug)]
enum Reply {
    /// The answer to a tool call, in the place that its request had.
    InPlace(Box<Exchange>),
    Tool(Box<CallToolResponse>),
    Result(Box<ServerResult>),
    Error(Box<ErrorData>),
    Handled,
}

impl RmcpReply {
    /// The answer to a tool call.
    #[must_use]
    pub fn tool(response: impl Into<CallToolResponse>) -> Self {
        Self(Reply::Tool(Box::new(response.into())))
    }

    /// The result of any other request.
    #[must_use]
    pub fn result(result: ServerResult) -> Self {
        Self(Reply::Result(Box::new(result)))
    }

    /// A JSON-RPC error.
    #[must_use]
    pub fn error(error: ErrorData) -> Self {
        Self(Reply::Error(Box::new(error)))
    }

    /// A notification was handled.
    #[must_use]
    pub fn handled() -> Self {
        Self(Reply::Handled)
    }

    /// The answer to a tool call, where the request was. `place` holds no request any more.
    #[inline]
    pub(super) fn in_place(mut place: Box<Exchange>, response: CallToolResponse) -> Self {
        place.message = Message::Answered(response);
        Self(Reply::InPlace(place))
    }

    /// The answer to a tool call, if it is one.
    #[must_use]
    #[inline]
    pub fn as_tool(&self) -> Option<&CallToolResponse> {
        match &self.0 {
            Reply::Tool(response) => Some(response),
            Reply::InPlace(place) => match &place.message {
                Message::Answered(response) => Some(response),
                _ => None,
            },
            _ => None,
        }
    }

    /// The JSON-RPC error, if it is one.
    #[must_use]
    pub fn as_error(&self) -> Option<&ErrorData> {
        match &self.0 {
            Reply::Error(error) => Some(error),
            _ => None,
        }
    }

    /// What goes on the wire; `None` for a handled notification.
    #[must_use]
    pub fn into_result(self) -> Option<Result<ServerResult, ErrorData>> {
        Some(match self.0 {
            Reply::Result(result) => Ok(*result),
            Reply::Error(error) => Err(*error),
            Reply::Handled => return None,
            reply => Self(reply).into_tool()?.map(ServerResult::from),
        })
    }

    /// The answer to a tool call; `None` where it is that of another message.
    #[inline]
    pub(super) fn into_tool(self) -> Option<Result<CallToolResponse, ErrorData>> {
        match self.0 {
            Reply::Tool(response) => Some(Ok(*response)),
            Reply::InPlace(place) => match place.message {
                Message::Answered(response) => Some(Ok(response)),
                _ => None,
            },
            Reply::Error(error) => Some(Err(*error)),
            Reply::Result(result) => match *result {
                ServerResult::CallToolResult(result) => Some(Ok(result.into())),
                ServerResult::InputRequiredResult(result) => Some(Ok(result.into())),
                ServerResult::CreateTaskResult(result) => Some(Ok(result.into())),
                _ => None,
            },
            Reply::Handled => None,
        }
    }
}

impl McpReply for RmcpReply {
    #[inline]
    fn answer(&self) -> Answer<'_> {
        if let Some(response) = self.as_tool() {
            return tool_response(response);
        }
        match &self.0 {
            Reply::Result(result) => match &**result {
                ServerResult::CallToolResult(result) => tool_result(result),
                ServerResult::InputRequiredResult(_) => Answer::InputRequired,
                ServerResult::CreateTaskResult(created) => created_task(created),
                ServerResult::GetTaskResult(result) => task::answer(result),
                // What `tasks/result` gives.
                ServerResult::CustomResult(CustomResult(Value::Object(result))) => {
                    Answer::Result(ResultView::of_json(result))
                }
                _ => Answer::Result(ResultView::default()),
            },
            Reply::Error(error) => Answer::Error(ErrorView {
                code: error.code.0.into(),
                message: &error.message,
                data: error.data.as_ref(),
            }),
            Reply::Handled | Reply::Tool(_) | Reply::InPlace(_) => Answer::Nothing,
        }
    }

    // rmcp itself knows which request it answers.
    fn failure(kind: Kind, _: Option<&RequestId>, rendering: Rendering) -> Self {
        match kind {
            Kind::ToolCall => Self::tool(tool_failure(rendering)),
            Kind::Notification => Self::handled(),
            _ => Self::error(error_data(rendering)),
        }
    }

    fn with_task_end(mut self, id: Option<&RequestId>, rendering: Rendering) -> Self {
        match &mut self.0 {
            Reply::Result(result) => match &mut **result {
                ServerResult::GetTaskResult(result) => task::replace_end(result, rendering),
                _ => return Self::failure(Kind::Request, id, rendering),
            },
            _ => return Self::failure(Kind::Request, id, rendering),
        }
        self
    }
}

fn tool_response(response: &CallToolResponse) -> Answer<'_> {
    match response {
        CallToolResponse::Complete(result) => tool_result(result),
        CallToolResponse::InputRequired(_) => Answer::InputRequired,
        CallToolResponse::Task(created) => created_task(created),
        // A kind of response that a newer rmcp has.
        _ => Answer::Result(ResultView::default()),
    }
}

fn created_task(created: &CreateTaskResult) -> Answer<'_> {
    let CreateTaskResult { task, .. } = created;
    Answer::Deferred(Some(NewTask {
        id: &task.task_id,
        ttl: task.ttl_ms.map(Duration::from_millis),
        form: TaskForm::Extension,
    }))
}

fn tool_result(result: &CallToolResult) -> Answer<'_> {
    let is_error = result.is_error == Some(true);
    Answer::Result(ResultView {
        is_error,
        meta: result.meta.as_ref().map(|meta| &meta.0),
        text: result.content.iter().find_map(ContentBlock::as_text).map(|text| &*text.text),
        is_text_alone: matches!(&*result.content, [block] if block.as_text().is_some()),
        structured: result.structured_content.as_ref(),
        is_cut: false,
    })
}

/// A failure as an `isError` result: one text block that stands on its own, and the record.
pub(super) fn tool_failure(rendering: Rendering) -> CallToolResult {
    let record = rendering.declaration.to_value();
    let mut result = CallToolResult::error(vec![ContentBlock::text(rendering.text)]);
    if rendering.structured {
        result.structured_content = Some(record.clone());
    }
    let mut meta = rmcp::model::MetaObject::new();
    meta.0.insert(Declaration::KEY.to_owned(), record);
    if let Some(id) = rendering.related_task {
        meta.0.insert(RELATED_TASK.to_owned(), serde_json::json!({ "taskId": id }));
    }
    result.meta = Some(meta);
    result
}

/// The same as a JSON-RPC error: `rejected` and `stale` are -32602, a fault is -32603.
pub(super) fn error_data(rendering: Rendering) -> ErrorData {
    let code = match rendering.declaration.outcome {
        Declared::Rejected | Declared::Stale => ErrorCode::INVALID_PARAMS,
        Declared::Fault => ErrorCode::INTERNAL_ERROR,
    };
    let record = rendering.declaration.to_value();
    let data = Map::from_iter([(Declaration::KEY.to_owned(), record)]);
    ErrorData::new(code, rendering.text, Some(Value::Object(data)))
}
