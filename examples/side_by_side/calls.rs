//! The ten calls. Every server has these tools, except the one that nobody has.

use serde_json::{Value, json};

/// One call, and what it is here to show.
pub(crate) struct Call {
    pub(crate) what: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

pub(crate) fn calls() -> [Call; 10] {
    let call = |what, tool, arguments| Call { what, tool, arguments };
    let edit = json!({ "path": "plan.md", "text": "new", "if_match": "a1" });
    [
        call("a panic", "export_notes", json!({})),
        call("a panic in a later poll", "print_notes", json!({})),
        call("`?` on an unknown error", "count_notes", json!({})),
        call("`internal_error(e.to_string())`", "sync_notes", json!({})),
        call("an `isError` result", "import_notes", json!({})),
        call("`{\"status\":\"failed\"}` without the flag", "index_notes", json!({})),
        call("`rejected`: a wrong path", "read_note", json!({ "path": "inbox/tofo.md" })),
        call("`stale`: an old version", "edit_note", edit),
        call("an unknown tool", "raed_note", json!({ "path": "plan.md" })),
        call("arguments that do not fit", "read_note", json!({ "path": 7 })),
    ]
}
