//! Raw MCP clients: JSON-RPC by hand over every transport, without an SDK that would hide what is
//! on the wire, and what the server logged meanwhile.
//!
//! ```ignore
//! let client = Client::connect(Transport::Stdio, Layers::Typed).await;
//! let answer = client.call("ok", json!({"text": "hello"})).await;
//! assert_eq!(answer.text(), "hello");
//! ```

// Every test binary that says `mod support;` compiles all of it and uses a part.
#![allow(dead_code, unused_imports, unreachable_pub, missing_debug_implementations)]

pub(crate) mod alone;
mod answer;
mod client;
pub(crate) mod example;
mod http;
mod inbox;
mod lines;
pub(crate) mod logs;
mod messages;
mod process;
pub(crate) mod readiness;
mod sse;
mod transport;

/// The server of the example, to serve in this process.
#[path = "../../examples/misbehaving_server/server/mod.rs"]
pub(crate) mod server;
mod socket;

use std::time::Duration;

pub use self::{
    answer::Answer,
    client::Client,
    inbox::Inbox,
    logs::{Event, Logs},
    messages::Revision,
    process::binary,
    transport::{Layers, Transport},
};

/// How long to wait for what should come at once. A guard against hangs, not a measurement.
pub const GUARD: Duration = Duration::from_secs(30);

/// A server, in the layers, whose one tool returns this.
pub fn one_tool(
    name: &'static str,
    result: rmcp::model::CallToolResult,
    policy: tower_outcome::Policy,
) -> impl rmcp::ServerHandler {
    use rmcp::{
        ErrorData, RoleServer, ServerHandler,
        model::{CallToolRequestParams, CallToolResponse},
        service::RequestContext,
    };
    use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

    struct One(&'static str, rmcp::model::CallToolResult);

    impl ServerHandler for One {
        async fn call_tool(
            &self,
            call: CallToolRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            if call.name != self.0 {
                return Err(ErrorData::invalid_params("tool not found", None));
            }
            Ok(self.1.clone().into())
        }
    }

    One(name, result).layered(OutcomeLayer::new().policy(policy))
}
