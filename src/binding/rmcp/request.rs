use std::{borrow::Cow, sync::Arc};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestMethod, CallToolRequestParams, CallToolResponse, ClientNotification,
        ClientRequest, ConstString as _, InitializeRequestParams, JsonObject, MetaObject,
        NumberOrString, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use super::{ClientGone, RmcpReply, connection::Connection};
use crate::{
    binding::{InlineClient, McpRequest},
    call::{Call, Client, Kind, Origin, RequestId, Session, TraceContext},
};

const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// See <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>.
const SESSION_HEADER: &str = "mcp-session-id";

/// A message for a handler, on its way through the layers.
///
/// A pointer: what it carries is large, and each layer moves it.
#[derive(Debug)]
pub struct RmcpRequest(pub(super) Box<Exchange>);

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) message: Message,
    pub(super) call: Option<Call>,
    /// Whether the first layer has looked for a call further out.
    has_looked: bool,
    /// What the client said of itself at `initialize`, shared with rmcp.
    pub(super) peer: Option<Arc<InitializeRequestParams>>,
    pub(super) connection: Arc<Connection>,
}

/// Tool calls are the common message; what is larger than they are is behind a box of its own.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it stands in a box, and is mostly the largest one")]
pub(super) enum Message {
    CallTool(CallToolRequestParams, RequestContext<RoleServer>),
    Request(Box<ClientRequest>, RequestContext<RoleServer>),
    Listen(Box<ClientRequest>, Box<SubscriptionContext>),
    Notification(Box<(ClientNotification, NotificationContext<RoleServer>)>),
    /// The handler has it.
    Taken,
    /// The tool's answer, on its way back in the place of the call.
    Answered(CallToolResponse),
}

impl RmcpRequest {
    /// A request outside of any connection, for calling a stack of layers directly.
    #[must_use]
    pub fn new(request: ClientRequest, context: RequestContext<RoleServer>) -> Self {
        Self::of_request(request, context, Arc::new(Connection::new(None)))
    }

    pub(super) fn of_request(
        request: ClientRequest,
        context: RequestContext<RoleServer>,
        connection: Arc<Connection>,
    ) -> Self {
        let peer = context.peer.peer_info();
        let message = match request {
            ClientRequest::CallToolRequest(request) => Message::CallTool(request.params, context),
            request => Message::Request(Box::new(request), context),
        };
        Self::boxed(message, peer, connection)
    }

    #[inline]
    fn boxed(
        message: Message,
        peer: Option<Arc<InitializeRequestParams>>,
        connection: Arc<Connection>,
    ) -> Self {
        // Written in place: a copy of what a request carries is the dearest part of this binding.
        let place = Box::new_uninit();
        Self(Box::write(
            place,
            Exchange { message, call: None, has_looked: false, peer, connection },
        ))
    }

    #[inline]
    pub(super) fn of_tool_call(
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        connection: Arc<Connection>,
    ) -> Self {
        let peer = context.peer.peer_info();
        Self::boxed(Message::CallTool(params, context), peer, connection)
    }

    pub(super) fn of_listen(
        request: ClientRequest,
        subscription: SubscriptionContext,
        connection: Arc<Connection>,
    ) -> Self {
        let peer = subscription.request_context().peer.peer_info();
        let message = Message::Listen(Box::new(request), Box::new(subscription));
        Self::boxed(message, peer, connection)
    }

    pub(super) fn of_notification(
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
        connection: Arc<Connection>,
    ) -> Self {
        let peer = context.peer.peer_info();
        let message = Message::Notification(Box::new((notification, context)));
        Self::boxed(message, peer, connection)
    }

    /// The parameters of a tool call.
    #[must_use]
    pub fn tool_call(&self) -> Option<&CallToolRequestParams> {
        match &self.0.message {
            Message::CallTool(params, _) => Some(params),
            _ => None,
        }
    }

    /// The parameters of a tool call, to change them.
    pub fn tool_call_mut(&mut self) -> Option<&mut CallToolRequestParams> {
        match &mut self.0.message {
            Message::CallTool(params, _) => Some(params),
            _ => None,
        }
    }

    /// The arguments of a tool call.
    #[must_use]
    pub fn arguments(&self) -> Option<&JsonObject> {
        self.tool_call().and_then(|params| params.arguments.as_ref())
    }

    /// Any other request.
    #[must_use]
    pub fn request(&self) -> Option<&ClientRequest> {
        match &self.0.message {
            Message::Request(request, _) | Message::Listen(request, _) => Some(request),
            _ => None,
        }
    }

    /// A notification.
    #[must_use]
    pub fn notification(&self) -> Option<&ClientNotification> {
        match &self.0.message {
            Message::Notification(notification) => Some(&notification.0),
            _ => None,
        }
    }

    /// The context of a request.
    #[must_use]
    pub fn context(&self) -> Option<&RequestContext<RoleServer>> {
        match &self.0.message {
            Message::CallTool(_, context) | Message::Request(_, context) => Some(context),
            Message::Listen(_, subscription) => Some(subscription.request_context()),
            _ => None,
        }
    }

    /// The context of a request, to change it; not that of a subscription, which rmcp keeps.
    pub fn context_mut(&mut self) -> Option<&mut RequestContext<RoleServer>> {
        match &mut self.0.message {
            Message::CallTool(_, context) | Message::Request(_, context) => Some(context),
            _ => None,
        }
    }

    /// The HTTP request that carried the message, where one did.
    #[must_use]
    pub fn http(&self) -> Option<&http::request::Parts> {
        match &self.0.message {
            Message::Notification(notification) => notification.1.extensions.get(),
            _ => self.context()?.extensions.get(),
        }
    }

    /// The id of the HTTP session that the message belongs to.
    pub(super) fn session_id(&self) -> Option<&http::HeaderValue> {
        session_id(self.http()?)
    }

    fn meta(&self) -> Option<&MetaObject> {
        match &self.0.message {
            Message::Notification(notification) => Some(&notification.1.meta.0),
            _ => Some(&self.context()?.meta.0),
        }
    }

    /// The request's `_meta`, where it may have more to say than which token to report progress
    /// under: the common case before 2026-07-28, which is not worth the look-ups.
    #[inline]
    pub(super) fn own_meta(&self) -> Option<&MetaObject> {
        self.meta().filter(|meta| {
            let mut keys = meta.0.keys();
            !matches!(
                (keys.next().map(String::as_str), keys.next()),
                (None | Some("progressToken"), None)
            )
        })
    }

    /// The revision that the request is under: its own word first, then the session's.
    pub(super) fn protocol_version(&self) -> Option<Cow<'static, str>> {
        let own = self.own_meta().and_then(|meta| meta.0.get(META_PROTOCOL_VERSION)?.as_str());
        let version = match own {
            Some(version) => version,
            None => self.0.peer.as_deref()?.protocol_version.as_str(),
        };
        // Nearly always one that rmcp knows: no copy.
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version);
        Some(known.map_or_else(|| version.to_owned().into(), |known| known.as_str().into()))
    }

    /// Whether the request is under 2026-07-28 or later. Revisions are dates, which compare as text.
    #[inline]
    pub(super) fn is_2026_07_28_or_later(&self) -> bool {
        let own = self.own_meta().and_then(|meta| meta.0.get(META_PROTOCOL_VERSION)?.as_str());
        own.or_else(|| Some(self.0.peer.as_deref()?.protocol_version.as_str()))
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
    }

    fn client(&self) -> Option<Arc<dyn Client>> {
        if let Some(info) = self.own_meta().and_then(|meta| meta.0.get(META_CLIENT_INFO)) {
            let text = |key| info.get(key)?.as_str();
            return Some(Arc::new(InlineClient::new(text("name"), text("version"))));
        }
        if let Some(ClientRequest::InitializeRequest(request)) = self.request() {
            return Some(Arc::new(request.params.clone()));
        }
        // Over HTTP without a session rmcp makes up who the client is.
        let has_session = self.http().is_none()
            || (self.session_id().is_some() && !self.is_2026_07_28_or_later());
        self.0.peer.clone().filter(|_| has_session).map(|peer| peer as Arc<dyn Client>)
    }
}

/// The id of the session that an HTTP request belongs to.
pub(super) fn session_id(http: &http::request::Parts) -> Option<&http::HeaderValue> {
    http.headers.get(SESSION_HEADER)
}

impl McpRequest for RmcpRequest {
    type Reply = RmcpReply;
    type Gone = ClientGone;
    // By `HandlerService`.
    const IS_SCOPED: bool = true;

    #[inline]
    fn kind(&self) -> Kind {
        match &self.0.message {
            // No request is taken or answered while it is one.
            Message::CallTool(..) | Message::Taken | Message::Answered(_) => Kind::ToolCall,
            // rmcp hands a `tools/call` that it cannot read on as a custom request.
            Message::Request(request, _) | Message::Listen(request, _) => match &**request {
                ClientRequest::CustomRequest(request)
                    if request.method == CallToolRequestMethod::VALUE =>
                {
                    Kind::MalformedToolCall
                }
                _ => Kind::Request,
            },
            Message::Notification(_) => Kind::Notification,
        }
    }

    fn method(&self) -> Cow<'static, str> {
        match &self.0.message {
            Message::CallTool(..) | Message::Taken | Message::Answered(_) => {
                CallToolRequestMethod::VALUE.into()
            }
            Message::Request(request, _) | Message::Listen(request, _) => match &**request {
                ClientRequest::CustomRequest(request) => request.method.clone().into(),
                request => request.method().to_owned().into(),
            },
            Message::Notification(notification) => match &notification.0 {
                ClientNotification::CancelledNotification(_) => "notifications/cancelled".into(),
                ClientNotification::ProgressNotification(_) => "notifications/progress".into(),
                ClientNotification::InitializedNotification(_) => {
                    "notifications/initialized".into()
                }
                ClientNotification::RootsListChangedNotification(_) => {
                    "notifications/roots/list_changed".into()
                }
                ClientNotification::CustomNotification(notification) => {
                    notification.method.clone().into()
                }
                _ => "notifications".into(),
            },
        }
    }

    fn tool(&self) -> Option<&str> {
        match &self.0.message {
            Message::CallTool(params, _) => Some(&params.name),
            Message::Request(request, _) => match &**request {
                ClientRequest::CustomRequest(request)
                    if request.method == CallToolRequestMethod::VALUE =>
                {
                    request.params.as_ref()?.get("name")?.as_str()
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn id(&self) -> Option<RequestId> {
        Some(match &self.context()?.id {
            NumberOrString::Number(number) => RequestId::Number(*number),
            NumberOrString::String(text) => RequestId::String(Arc::clone(text)),
        })
    }

    fn task_id(&self) -> Option<&str> {
        let request = self.request()?;
        Some(match request {
            ClientRequest::GetTaskRequest(request) => &request.params.task_id,
            ClientRequest::UpdateTaskRequest(request) => &request.params.task_id,
            ClientRequest::CancelTaskRequest(request) => &request.params.task_id,
            // Of 2025-11-25; rmcp knows it no more.
            ClientRequest::CustomRequest(request) if request.method == "tasks/result" => {
                request.params.as_ref()?.get("taskId")?.as_str()?
            }
            _ => return None,
        })
    }

    fn origin(&self) -> Origin {
        let http = self.http();
        let session = match http {
            Some(_) => self.session_id().map(|id| Session::from_id(id.as_bytes())),
            None => Some(self.0.connection.session),
        };
        let trace = self
            .own_meta()
            .and_then(MetaObject::get_traceparent)
            .or_else(|| http?.headers.get("traceparent")?.to_str().ok())
            .and_then(TraceContext::parse);
        Origin {
            client: self.client(),
            protocol_version: self.protocol_version(),
            transport: http.map(|_| "http".into()).or_else(|| self.0.connection.transport.clone()),
            session,
            trace,
            ..Origin::default()
        }
    }

    #[inline]
    fn call(&self) -> Option<&Call> {
        self.0.call.as_ref()
    }

    fn set_call(&mut self, call: Call) {
        self.0.call = Some(call);
    }

    #[inline]
    fn outer_call(&mut self) -> Option<Call> {
        if std::mem::replace(&mut self.0.has_looked, true) {
            return None;
        }
        // A wrapper round this one; a layer round rmcp's HTTP service, which leaves it in the HTTP
        // request's extensions.
        Call::current().or_else(|| self.http().and_then(|http| http.extensions.get()).cloned())
    }

    fn gone(&self) -> ClientGone {
        ClientGone::new(self)
    }
}
