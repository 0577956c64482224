// A stack of tower's own layers, without containment.
use std::time::Duration;

use rmcp::ServerHandler;
use tower::timeout::TimeoutLayer;
use tower_outcome::ServerHandlerExt as _;

struct Notes;
impl ServerHandler for Notes {}

pub fn serve() {
    let _ = Notes.layered(TimeoutLayer::new(Duration::from_secs(1)));
}
