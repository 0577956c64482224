//! On tower-mcp, with `ToolError` where a failure means something, and for what `?` meets.

use tower_mcp::{CallToolResult, McpRouter, NoParams, Tool, ToolBuilder};
use tower_outcome::{ToolError, binding::tower_mcp::answering};

use super::{
    tower_mcp_plain,
    work::{self, Edit, Read},
};

type Ends = Result<CallToolResult, ToolError>;

pub(crate) fn router() -> McpRouter {
    McpRouter::new().server_info("notes", "1.0.0").tools(tower_mcp_plain::shared()).tools(failing())
}

fn failing() -> [Tool; 3] {
    [
        ToolBuilder::new("count_notes").handler(answering(count_notes)).build(),
        ToolBuilder::new("read_note").handler(answering(read_note)).build(),
        ToolBuilder::new("edit_note").handler(answering(edit_note)).build(),
    ]
}

async fn count_notes(_: NoParams) -> Ends {
    Ok(CallToolResult::text(work::connect()?))
}

async fn read_note(read: Read) -> Ends {
    Err(work::unknown_note(read.path))
}

async fn edit_note(edit: Edit) -> Ends {
    Err(work::version_conflict(&edit))
}
