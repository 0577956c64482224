use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ContentBlock, ServerResult},
};

use crate::{
    binding::{Answer, ErrorView, McpReply, ResultView},
    call::Kind,
    tool_error::Rendering,
};

/// What a handler, or a layer in its place, answers a message with.
#[derive(Debug)]
#[non_exhaustive]
pub enum RmcpReply {
    /// The answer to a tool call.
    Tool(CallToolResponse),
    /// The result of any other request.
    Result(Box<ServerResult>),
    /// A JSON-RPC error.
    Error(ErrorData),
    /// A notification was handled.
    Handled,
}

impl McpReply for RmcpReply {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Tool(CallToolResponse::Complete(result)) => tool_result(result),
            Self::Tool(CallToolResponse::InputRequired(_)) => Answer::InputRequired,
            Self::Tool(CallToolResponse::Task(task)) => {
                Answer::Deferred { task_id: Some(&task.task.task_id) }
            }
            // A kind of response that a newer rmcp has.
            Self::Tool(_) => Answer::Result(ResultView::default()),
            Self::Result(result) => match &**result {
                ServerResult::CallToolResult(result) => tool_result(result),
                ServerResult::InputRequiredResult(_) => Answer::InputRequired,
                ServerResult::CreateTaskResult(task) => {
                    Answer::Deferred { task_id: Some(&task.task.task_id) }
                }
                _ => Answer::Result(ResultView::default()),
            },
            Self::Error(error) => Answer::Error(ErrorView {
                code: error.code.0.into(),
                message: &error.message,
                data: error.data.as_ref(),
            }),
            Self::Handled => Answer::Nothing,
        }
    }

    fn failure(kind: Kind, rendering: Rendering) -> Self {
        match kind {
            Kind::ToolCall => Self::Tool(tool_failure(rendering).into()),
            Kind::Notification => Self::Handled,
            _ => Self::Error(super::conversion::error_data(rendering)),
        }
    }
}

fn tool_result(result: &CallToolResult) -> Answer<'_> {
    let is_error = result.is_error == Some(true);
    Answer::Result(ResultView {
        is_error,
        meta: result.meta.as_ref().map(|meta| &meta.0),
        text: result.content.iter().find_map(ContentBlock::as_text).map(|text| &*text.text),
        structured: result.structured_content.as_ref(),
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
    meta.0.insert(crate::Declaration::KEY.to_owned(), record);
    result.meta = Some(meta);
    result
}
