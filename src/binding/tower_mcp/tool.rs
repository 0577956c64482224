use std::borrow::Cow;

use tower_mcp::{ToolRequest, protocol::CallToolResult};

use super::{Carried, ClientGone, request};
use crate::{
    binding::McpRequest,
    call::{Call, Kind, Origin, RequestId},
};

/// The call of one tool, for layers that stand round it alone, by `ToolBuilder`'s `layer`. tower-mcp
/// does not say there which tool it is; with layers round the server as well, they do.
impl McpRequest for ToolRequest {
    type Reply = CallToolResult;
    type Gone = ClientGone;

    fn kind(&self) -> Kind {
        Kind::ToolCall
    }

    fn method(&self) -> Cow<'static, str> {
        Cow::Borrowed("tools/call")
    }

    fn tool(&self) -> Option<&str> {
        let around = self.ctx.extension::<Carried>();
        around.and_then(|carried| carried.call.tool())
    }

    fn id(&self) -> Option<RequestId> {
        Some(request::id_of(self.ctx.request_id()))
    }

    fn origin(&self) -> Origin {
        Origin::default()
    }

    fn call(&self) -> Option<&Call> {
        self.ctx.extension::<Carried>().map(|carried| &carried.call)
    }

    fn set_call(&mut self, call: Call) {
        let cancelled = self.ctx.cancellation_token();
        self.ctx.extensions_mut().insert(Carried { call, cancelled });
    }

    fn gone(&self) -> ClientGone {
        ClientGone::new(Some(self.ctx.cancellation_token()))
    }
}
