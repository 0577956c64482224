use std::{borrow::Cow, sync::Arc};

use tower_mcp::{
    RouterRequest, RouterResponse, TraceContext as Traced,
    context::CancellationToken,
    inspection::McpProtocolRevision,
    protocol::{McpRequest as Message, RequestId as Id, RequestMeta},
};

use super::{Carried, ClientGone};
use crate::{
    binding::{InlineClient, McpRequest},
    call::{Call, Client, Kind, Origin, RequestId, TraceContext},
    outcome::Reason,
};

/// The first revision without sessions. Revisions are dates, which compare as text.
const MODERN: &str = "2026-07-28";

impl McpRequest for RouterRequest {
    type Reply = RouterResponse;
    type Gone = ClientGone;

    fn kind(&self) -> Kind {
        match &self.inner {
            Message::CallTool(params) if is_object(&params.arguments) => Kind::ToolCall,
            Message::CallTool(_) => Kind::MalformedToolCall,
            Message::Unknown { method, .. } if method == "tools/call" => Kind::MalformedToolCall,
            _ => Kind::Request,
        }
    }

    fn method(&self) -> Cow<'static, str> {
        match &self.inner {
            Message::CallTool(_) => Cow::Borrowed("tools/call"),
            inner => inner.method_name().to_owned().into(),
        }
    }

    fn tool(&self) -> Option<&str> {
        match &self.inner {
            Message::CallTool(params) => Some(&params.name),
            Message::Unknown { method, params } if method == "tools/call" => {
                params.as_ref()?.get("name")?.as_str()
            }
            _ => None,
        }
    }

    fn id(&self) -> Option<RequestId> {
        Some(id_of(&self.id))
    }

    fn task_id(&self) -> Option<&str> {
        Some(match &self.inner {
            Message::GetTaskInfo(params) => &params.task_id,
            Message::UpdateTask(params) => &params.task_id,
            Message::CancelTask(params) => &params.task_id,
            Message::Unknown { method, params } if method == "tasks/result" => {
                params.as_ref()?.get("taskId")?.as_str()?
            }
            _ => return None,
        })
    }

    fn origin(&self) -> Origin {
        let meta = meta(&self.inner);
        let info = match &self.inner {
            Message::Initialize(params) => Some(&params.client_info),
            _ => meta.and_then(|meta| meta.client_info.as_ref()),
        };
        let client = info.map(|client| {
            let client = InlineClient::new(Some(&client.name), Some(&client.version));
            Arc::new(client) as Arc<dyn Client>
        });
        let version = version(self).map(|version| version.to_owned().into());
        let trace = self.extensions.get::<Traced>().and_then(|trace| {
            TraceContext::parse(&format!("00-{}-{}-01", trace.trace_id(), trace.parent_id()))
        });
        Origin { client, protocol_version: version, trace, ..Origin::default() }
    }

    fn call(&self) -> Option<&Call> {
        self.extensions.get::<Carried>().map(|carried| &carried.call)
    }

    fn set_call(&mut self, call: Call) {
        // The router cancels by the one that it finds here, and makes one that nobody knows of where
        // there is none.
        let cancelled = self.extensions.get::<CancellationToken>().cloned().unwrap_or_else(|| {
            let token = CancellationToken::new();
            self.extensions.insert(token.clone());
            token
        });
        self.extensions.insert(Carried { call, cancelled });
    }

    fn outer_call(&mut self) -> Option<Call> {
        // Of layers round tower-mcp's HTTP service, where it was told to bridge the type.
        Call::current().or_else(|| self.extensions.get::<Call>().cloned())
    }

    fn gone(&self) -> ClientGone {
        let carried = self.extensions.get::<Carried>();
        ClientGone::new(carried.map(|carried| carried.cancelled.clone()))
    }

    fn dropped(&self) -> Option<Reason> {
        let is_modern = version(self).is_some_and(|version| version >= MODERN);
        // Of HTTP without a session, whose stream was closed: from 2026-07-28 on this is cancelling.
        let has_stream = self.extensions.contains::<CancellationToken>();
        // Over HTTP the revision of every request is known, and its handler dropped with it.
        let is_http = has_stream || self.extensions.contains::<McpProtocolRevision>();
        match has_stream && is_modern {
            true => Some(Reason::ClientCancelled),
            false => is_http.then_some(Reason::Disconnected),
        }
    }
}

/// The revision that a request is under.
fn version(request: &RouterRequest) -> Option<&str> {
    let known = request.extensions.get::<McpProtocolRevision>().map(|known| known.as_str());
    known.or_else(|| meta(&request.inner)?.protocol_version.as_deref())
}

/// What a request says of itself, of those that tell most.
fn meta(request: &Message) -> Option<&RequestMeta> {
    match request {
        Message::CallTool(params) => params.meta.as_ref(),
        _ => None,
    }
}

pub(super) fn id_of(id: &Id) -> RequestId {
    match id {
        Id::Number(number) => RequestId::Number(*number),
        Id::String(text) => RequestId::String(text.as_str().into()),
        // A kind that a newer tower-mcp has.
        other => RequestId::Json(serde_json::to_string(other).unwrap_or_default().into()),
    }
}

/// Whether they are arguments: none are an empty object.
fn is_object(arguments: &serde_json::Value) -> bool {
    arguments.is_object() || arguments.is_null()
}
