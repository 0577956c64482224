//! On rmcp, as such servers are written today.

use rmcp::{
    ErrorData, ServerHandler,
    handler::server::wrapper::Parameters,
    model::{CallToolResult, ContentBlock},
    tool, tool_handler, tool_router,
};

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

    /// Counts the notes. rmcp takes no error of an unknown type: its text is the nearest thing.
    #[tool]
    async fn count_notes(&self) -> Result<String, String> {
        work::connect().map_err(|error| error.to_string())
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
    async fn read_note(&self, Parameters(read): Parameters<Read>) -> Result<String, String> {
        Err(work::no_note(&read.path))
    }

    /// Replaces a note's text.
    #[tool]
    async fn edit_note(&self, Parameters(edit): Parameters<Edit>) -> Result<String, String> {
        Err(work::changed(&edit))
    }
}

#[tool_handler]
impl ServerHandler for Notes {}
