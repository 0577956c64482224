//! The layers round the server.

use rmcp::{ServerHandler, model::CallToolRequestParams};
use serde_json::Value;
use tower::ServiceBuilder;
use tower_outcome::{
    McpRequest as _, OutcomeLayer, ServerHandlerExt as _, binding::rmcp::RmcpRequest, only_tools,
};

use super::{Misbehaving, layers::CutLocalDropShort, trouble::Asked};

/// The server inside the layers of this crate, with a timeout in between that cuts
/// `panic` with `when: local_drop` short.
pub(crate) fn layered(server: Misbehaving, layer: &OutcomeLayer) -> impl ServerHandler + Clone {
    let stack = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(only_tools(CutLocalDropShort))
        .into_inner();
    server.layered(stack)
}

impl Asked for RmcpRequest {
    fn asked_for(&self) -> Option<&str> {
        self.tool()
    }

    fn argument(&self, name: &str) -> Option<&str> {
        self.arguments()?.get(name).and_then(Value::as_str)
    }
}

impl Asked for CallToolRequestParams {
    fn asked_for(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.as_ref()?.get(name)?.as_str()
    }
}
