//! JSON-RPC messages, as the two kinds of revisions want them.

use serde_json::{Map, Value, json};

/// A protocol revision: the newest with sessions, and the first without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    V2025,
    V2026,
}

impl Revision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2025 => "2025-11-25",
            Self::V2026 => "2026-07-28",
        }
    }

    /// A request of this revision. `_meta` in `params` is kept.
    pub(super) fn request(self, id: &Value, method: &str, params: Value) -> Value {
        let params = self.with_meta(params);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// From 2026-07-28 on each request says who sends it; there is no `initialize`.
    fn with_meta(self, mut params: Value) -> Value {
        if self == Self::V2026
            && let Some(params) = params.as_object_mut()
            && let Some(meta) = object_at(params, "_meta")
        {
            let prefix = "io.modelcontextprotocol";
            meta.entry(format!("{prefix}/protocolVersion")).or_insert(json!(self.as_str()));
            meta.entry(format!("{prefix}/clientInfo")).or_insert(client_info("raw"));
            meta.entry(format!("{prefix}/clientCapabilities")).or_insert(json!({}));
        }
        params
    }
}

fn object_at<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    object.entry(key).or_insert_with(|| json!({})).as_object_mut()
}

fn client_info(name: &str) -> Value {
    json!({ "name": name, "version": "0.1" })
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub(super) fn initialize_params(client_name: &str, capabilities: &Value) -> Value {
    json!({
        "protocolVersion": Revision::V2025.as_str(),
        "capabilities": capabilities,
        "clientInfo": client_info(client_name),
    })
}

pub(super) fn call_params(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}
