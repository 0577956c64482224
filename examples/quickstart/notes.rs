//! The server: ordinary rmcp, with `ToolError` where a failure means something.

use std::time::Duration;

use rmcp::{
    ErrorData, ServerHandler,
    handler::server::wrapper::{Json, Parameters},
    model::{CallToolResult, ContentBlock},
    schemars, tool, tool_handler, tool_router,
};
use serde::{Deserialize, Serialize};
use tower_outcome::ToolError;

const NOTES: [(&str, &str, &str); 2] =
    [("inbox/todo.md", "Water the plants.", "c7"), ("plan.md", "Ship it.", "b2")];

#[derive(Clone)]
pub(crate) struct Notes;

#[derive(Deserialize, schemars::JsonSchema)]
struct Search {
    query: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Read {
    path: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Edit {
    path: String,
    #[allow(dead_code, reason = "this server only pretends to write")]
    text: String,
    if_match: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Found {
    paths: Vec<String>,
}

#[tool_router]
impl Notes {
    pub(crate) fn new() -> Self {
        Self
    }

    #[tool(description = "Finds notes that contain the query.")]
    async fn search_notes(&self, Parameters(search): Parameters<Search>) -> Json<Found> {
        let hits = NOTES.iter().filter(|(_, text, _)| text.contains(&search.query));
        Json(Found { paths: hits.map(|(path, ..)| (*path).to_owned()).collect() })
    }

    #[tool(description = "Returns a note's text and version.")]
    async fn read_note(&self, Parameters(read): Parameters<Read>) -> Result<String, ToolError> {
        let (_, text, version) = find(&read.path)?;
        Ok(format!("{text} (version {version})"))
    }

    #[tool(description = "Replaces a note's text, if its version is still if_match.")]
    async fn edit_note(&self, Parameters(edit): Parameters<Edit>) -> Result<String, ToolError> {
        let (path, _, version) = find(&edit.path)?;
        if *version != edit.if_match {
            let changed = format!("Note '{path}' has changed since version '{}'.", edit.if_match);
            return Err(ToolError::stale("version_conflict", changed).recover(
                "Call read_note for the current text and version, reapply the edit, and pass the \
                 new version as if_match.",
            ));
        }
        Ok("Saved.".into())
    }

    #[tool(description = "Suggests tags.")]
    async fn tag_note(&self) -> Result<String, ToolError> {
        Err(ToolError::transient("index_rebuilding", "The tag index is being rebuilt.")
            .retry_after(Duration::from_secs(60)))
    }

    #[tool(description = "Exports all notes.")]
    #[allow(clippy::panic, reason = "that is what it shows")]
    async fn export_notes(&self) -> String {
        panic!("no handler for /srv/notes/.export.lock");
    }

    /// As such errors are written today: whatever the driver says goes to the model.
    #[tool(description = "Synchronises the notes.")]
    async fn sync_notes(&self) -> Result<String, ErrorData> {
        let error = std::io::Error::other("connect postgres://notes:hunter2@db.internal/notes");
        Err(ErrorData::internal_error(error.to_string(), None))
    }

    #[tool(description = "Imports notes.")]
    async fn import_notes(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text("The archive is not readable.")])
    }

    #[tool(description = "Indexes the notes.")]
    async fn index_notes(&self) -> String {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        "Indexed.".into()
    }
}

fn find(path: &str) -> Result<&'static (&'static str, &'static str, &'static str), ToolError> {
    NOTES.iter().find(|(known, ..)| *known == path).ok_or_else(|| {
        ToolError::rejected("unknown_note", format!("No note at '{path}'."))
            .field("path")
            .received(path)
            .closest(NOTES.iter().map(|(path, ..)| *path))
            .recover("Find the path with search_notes.")
    })
}

#[tool_handler]
impl ServerHandler for Notes {}
