//! `ToolError` as what rmcp's handlers return.

use crate::{call::Kind, tool_error::ToolError};
use rmcp::{
    ErrorData,
    handler::server::tool::IntoCallToolResult,
    model::{CallToolResponse, ErrorCode},
};

impl ToolError {
    /// A JSON-RPC error, for what the protocol wants told that way: it goes out as it is, `data`
    /// included. One that blames the server (-32603 and the server's own range) does not: it is
    /// withheld like any unknown error.
    pub fn protocol(error: ErrorData) -> Self {
        error.into()
    }

    /// rmcp's own error, where that is what was raised and nothing was declared on it.
    fn into_error_data(self) -> Result<ErrorData, Self> {
        if self.cause().is_some_and(|cause| {
            cause
                .downcast_ref::<ErrorData>()
                .is_some_and(|error| error.code != ErrorCode::INTERNAL_ERROR)
        }) {
            return self.into_source::<ErrorData>().map(|error| *error);
        }
        Err(self)
    }
}

impl IntoCallToolResult for ToolError {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        match self.into_error_data() {
            Ok(error) => Err(error),
            Err(error) => Ok(super::reply::tool_failure(error.render(Kind::ToolCall)).into()),
        }
    }
}

/// For prompts, resources and everything else that is not a tool: `rejected` and `stale` are
/// -32602, a fault is -32603, with the record in `data`.
impl From<ToolError> for ErrorData {
    fn from(error: ToolError) -> Self {
        match error.into_error_data() {
            Ok(error) => error,
            Err(error) => super::reply::error_data(error.render(Kind::Request)),
        }
    }
}
