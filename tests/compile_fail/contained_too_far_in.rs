// A timeout outside of the containment: its error gets past.
use std::time::Duration;

use rmcp::ServerHandler;
use tower::{ServiceBuilder, timeout::TimeoutLayer};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

struct Notes;
impl ServerHandler for Notes {}

pub fn serve() {
    let stack = ServiceBuilder::new()
        .layer(TimeoutLayer::new(Duration::from_secs(1)))
        .layer(OutcomeLayer::new());
    let _ = Notes.layered(stack);
}
