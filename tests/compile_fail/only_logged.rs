// Logging alone contains nothing.
use rmcp::ServerHandler;
use tower_outcome::{LogLayer, ServerHandlerExt as _};

struct Notes;
impl ServerHandler for Notes {}

pub fn serve() {
    let _ = Notes.layered(LogLayer::new());
}
