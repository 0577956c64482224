//! What the tools do, or rather fail to do, and what they are called with.

use std::{io, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tower_outcome::ToolError;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Read {
    pub(super) path: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Edit {
    pub(super) path: String,
    #[allow(dead_code, reason = "nothing is ever written")]
    text: String,
    pub(super) if_match: String,
}

pub(super) fn export() -> String {
    panic!("no handler for /srv/notes/.export.lock")
}

pub(super) async fn print() -> String {
    tokio::time::sleep(Duration::from_millis(1)).await;
    panic!("no font in /usr/share/fonts")
}

/// As drivers write their errors.
pub(super) fn connect() -> io::Result<String> {
    Err(io::Error::other("connect postgres://notes:hunter2@db.internal/notes"))
}

pub(super) const UNREADABLE: &str = "The archive is not readable.";

pub(super) fn index() -> Value {
    json!({ "status": "failed", "error": "The index is locked." })
}

/// What a tool can say of a wrong path where it cannot say what that means.
pub(super) fn no_note(path: &str) -> String {
    format!("No note at '{path}'. Find the path with search_notes.")
}

/// The same for a version.
pub(super) fn changed(edit: &Edit) -> String {
    let Edit { path, if_match, .. } = edit;
    format!("Note '{path}' has changed since '{if_match}'. Call read_note first.")
}

/// Where it can.
pub(super) fn unknown_note(path: String) -> ToolError {
    ToolError::rejected("unknown_note", format!("No note at '{path}'."))
        .field("path")
        .received(path)
        .closest(["inbox/todo.md", "plan.md"])
        .recover("Find the path with search_notes.")
}

pub(super) fn version_conflict(edit: &Edit) -> ToolError {
    let Edit { path, if_match, .. } = edit;
    ToolError::stale(
        "version_conflict",
        format!("Note '{path}' has changed since version '{if_match}'."),
    )
    .recover("Call read_note first, and pass the new version as if_match.")
}
