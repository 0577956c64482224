// The right order, which shows that the others fail for their order alone.
use std::time::Duration;

use rmcp::ServerHandler;
use tower::{ServiceBuilder, timeout::TimeoutLayer};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

struct Notes;
impl ServerHandler for Notes {}

pub fn serve() {
    let stack = ServiceBuilder::new()
        .layer(OutcomeLayer::new())
        .layer(TimeoutLayer::new(Duration::from_secs(1)));
    let _ = Notes.layered(stack);
}
