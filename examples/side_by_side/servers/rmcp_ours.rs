//! On rmcp, with `ToolError` where a failure means something, and for what `?` meets. The other
//! tools are as they were.

use rmcp::{
    ErrorData, ServerHandler,
    handler::server::wrapper::Parameters,
    model::{CallToolResult, ContentBlock},
    tool, tool_handler, tool_router,
};
use tower_outcome::ToolError;

use super::work::{self, Edit, Read};

#[derive(Clone)]
pub(crate) struct Notes;

#[tool_router]
impl Notes {
    /// Exports all notes.
    #[tool]
    async fn export_notes(&self) -> String {
        work::export()
    }

    /// Prints all notes.
    #[tool]
    async fn print_notes(&self) -> String {
        work::print().await
    }

    /// Counts the notes.
    #[tool]
    async fn count_notes(&self) -> Result<String, ToolError> {
        Ok(work::connect()?)
    }

    /// Synchronises the notes.
    #[tool]
    async fn sync_notes(&self) -> Result<String, ErrorData> {
        work::connect().map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Imports notes.
    #[tool]
    async fn import_notes(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(work::UNREADABLE)])
    }

    /// Indexes the notes.
    #[tool]
    async fn index_notes(&self) -> CallToolResult {
        CallToolResult::structured(work::index())
    }

    /// Returns a note's text.
    #[tool]
    async fn read_note(&self, Parameters(read): Parameters<Read>) -> Result<String, ToolError> {
        Err(work::unknown_note(read.path))
    }

    /// Replaces a note's text.
    #[tool]
    async fn edit_note(&self, Parameters(edit): Parameters<Edit>) -> Result<String, ToolError> {
        Err(work::version_conflict(&edit))
    }
}

#[tool_handler]
impl ServerHandler for Notes {}
