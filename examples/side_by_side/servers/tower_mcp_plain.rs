//! On tower-mcp, with what it has for each of them.

use tower_mcp::{CallToolResult, Error, McpRouter, NoParams, ResultExt as _, Tool, ToolBuilder};

use super::work::{self, Edit, Read};

pub(crate) fn router() -> McpRouter {
    McpRouter::new().server_info("notes", "1.0.0").tools(shared()).tools(failing())
}

/// The tools that are the same with this crate.
pub(super) fn shared() -> Vec<Tool> {
    vec![
        ToolBuilder::new("export_notes")
            .handler(|_: NoParams| async { Ok(CallToolResult::text(work::export())) })
            .build(),
        ToolBuilder::new("print_notes")
            .handler(|_: NoParams| async { Ok(CallToolResult::text(work::print().await)) })
            .build(),
        ToolBuilder::new("sync_notes")
            .handler(|_: NoParams| async {
                let text = work::connect().map_err(|error| Error::internal(error.to_string()))?;
                Ok(CallToolResult::text(text))
            })
            .build(),
        ToolBuilder::new("import_notes")
            .handler(|_: NoParams| async { Ok(CallToolResult::error(work::UNREADABLE)) })
            .build(),
        ToolBuilder::new("index_notes")
            .handler(|_: NoParams| async { Ok(CallToolResult::json(work::index())) })
            .build(),
    ]
}

fn failing() -> [Tool; 3] {
    [
        ToolBuilder::new("count_notes")
            .handler(|_: NoParams| async { Ok(CallToolResult::text(work::connect().tool_err()?)) })
            .build(),
        ToolBuilder::new("read_note")
            .handler(|read: Read| async move { Err(Error::tool(work::no_note(&read.path))) })
            .build(),
        ToolBuilder::new("edit_note")
            .handler(|edit: Edit| async move { Err(Error::tool(work::changed(&edit))) })
            .build(),
    ]
}
