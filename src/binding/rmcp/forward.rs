//! `Layered` as an rmcp handler: each method of rmcp's trait, sent through the layers.
//!
//! A test reads the trait of the rmcp in use and fails on a method that is missing here.

use std::borrow::Cow;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use tower_service::Service;

use super::{Contained, Layered, RmcpReply, RmcpRequest, connection::Key};
use crate::{
    binding::catch,
    call::{Call, Kind, Verdict},
    outcome::{Actor, Cause, Code},
    tool_error::Rendering,
};

/// What of a reply a method of rmcp's trait returns.
trait FromReply: Sized {
    fn from_result(result: ServerResult) -> Option<Self>;
}

macro_rules! from_reply {
    ($($type:ty: $($pattern:pat => $value:expr),+;)+) => { $(
        impl FromReply for $type {
            fn from_result(result: ServerResult) -> Option<Self> {
                match result {
                    $($pattern => Some($value),)+
                    _ => None,
                }
            }
        }
    )+ };
}

from_reply! {
    (): ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => ();
    InitializeResult: ServerResult::InitializeResult(r) => r;
    DiscoverResult: ServerResult::DiscoverResult(r) => r;
    CompleteResult: ServerResult::CompleteResult(r) => r;
    GetPromptResponse:
        ServerResult::GetPromptResult(r) => r.into(),
        ServerResult::InputRequiredResult(r) => Self::InputRequired(r);
    ListPromptsResult: ServerResult::ListPromptsResult(r) => r;
    ListResourcesResult: ServerResult::ListResourcesResult(r) => r;
    ListResourceTemplatesResult: ServerResult::ListResourceTemplatesResult(r) => r;
    ReadResourceResponse:
        ServerResult::ReadResourceResult(r) => r.into(),
        ServerResult::InputRequiredResult(r) => Self::InputRequired(r);
    ListToolsResult: ServerResult::ListToolsResult(r) => r;
    GetTaskResult: ServerResult::GetTaskResult(r) => r;
    ListSkillsResult: ServerResult::ListSkillsResult(r) => r;
    GetSkillResult: ServerResult::GetSkillResult(r) => r;
    CustomResult: ServerResult::CustomResult(r) => r;
}

impl RmcpReply {
    fn into_response<T: FromReply>(self) -> Result<T, ErrorData> {
        let response = match self.into_result() {
            Some(Ok(result)) => T::from_result(result),
            Some(Err(error)) => return Err(error),
            None => None,
        };
        response.ok_or_else(mismatch)
    }
}

/// A layer in between has answered with the result of another method.
fn mismatch() -> ErrorData {
    let cause = Cause::new("mismatch", "a layer answered with the result of another method");
    let code = Code::CONTRACT_VIOLATION;
    internal_error("", Verdict::fault(code, Actor::Operator, Some(cause)))
}

/// The fixed text, with `fault` in the log under its reference.
fn internal_error(method: &'static str, fault: Verdict) -> ErrorData {
    let call = Call::begin(Kind::Request, method.into(), None, None);
    call.report(fault);
    super::reply::error_data(Rendering::fault(Kind::Request, None, call.id()))
}

/// The methods that only differ in the types of request and result.
macro_rules! forward_requests {
    ($($method:ident($request:ident, $params:ty) -> $result:ty;)+) => { $(
        async fn $method(
            &self,
            params: $params,
            context: RequestContext<RoleServer>,
        ) -> Result<$result, ErrorData> {
            let request = ClientRequest::$request(forward_requests!(@build $request, params));
            self.send(request, context).await
        }
    )+ };
    (@build ListPromptsRequest, $params:ident) => { optional(ListPromptsRequest::default(), $params) };
    (@build ListResourcesRequest, $params:ident) => { optional(ListResourcesRequest::default(), $params) };
    (@build ListResourceTemplatesRequest, $params:ident) => {
        optional(ListResourceTemplatesRequest::default(), $params)
    };
    (@build ListToolsRequest, $params:ident) => { optional(ListToolsRequest::default(), $params) };
    (@build ListSkillsRequest, $params:ident) => { optional(ListSkillsRequest::default(), $params) };
    (@build CustomRequest, $params:ident) => { $params };
    (@build $request:ident, $params:ident) => { $request::new($params) };
}

fn optional<M, P>(
    mut request: RequestOptionalParam<M, P>,
    params: Option<P>,
) -> RequestOptionalParam<M, P> {
    request.params = params;
    request
}

impl<H, S> Layered<H, S>
where
    H: ServerHandler,
    S: Service<RmcpRequest, Response = RmcpReply> + Clone + Send + Sync + 'static,
    S::Error: Contained,
    S::Future: Send,
{
    async fn send<T: FromReply>(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        let request = RmcpRequest::of_request(request, context, self.connection.clone());
        self.run(request).await.into_response()
    }

    async fn notify(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) {
        let connection = self.connection.clone();
        self.run(RmcpRequest::of_notification(notification, context, connection)).await;
    }
}

#[allow(deprecated, reason = "older revisions have methods that newer ones deprecate")]
impl<H, S> ServerHandler for Layered<H, S>
where
    H: ServerHandler,
    S: Service<RmcpRequest, Response = RmcpReply> + Clone + Send + Sync + 'static,
    S::Error: Contained,
    S::Future: Send,
{
    // Not an `async fn`, whose future would carry parameters and context a second time.
    fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send + '_ {
        let connection = self.connection.clone();
        let run = self.run(RmcpRequest::of_tool_call(params, context, connection));
        async { run.await.into_tool().unwrap_or_else(|| Err(mismatch())) }
    }

    forward_requests! {
        initialize(InitializeRequest, InitializeRequestParams) -> InitializeResult;
        complete(CompleteRequest, CompleteRequestParams) -> CompleteResult;
        set_level(SetLevelRequest, SetLevelRequestParams) -> ();
        get_prompt(GetPromptRequest, GetPromptRequestParams) -> GetPromptResponse;
        list_prompts(ListPromptsRequest, Option<PaginatedRequestParams>) -> ListPromptsResult;
        list_resources(ListResourcesRequest, Option<PaginatedRequestParams>) -> ListResourcesResult;
        list_resource_templates(ListResourceTemplatesRequest, Option<PaginatedRequestParams>)
            -> ListResourceTemplatesResult;
        read_resource(ReadResourceRequest, ReadResourceRequestParams) -> ReadResourceResponse;
        subscribe(SubscribeRequest, SubscribeRequestParams) -> ();
        unsubscribe(UnsubscribeRequest, UnsubscribeRequestParams) -> ();
        list_tools(ListToolsRequest, Option<PaginatedRequestParams>) -> ListToolsResult;
        get_task(GetTaskRequest, GetTaskParams) -> GetTaskResult;
        update_task(UpdateTaskRequest, UpdateTaskParams) -> ();
        cancel_task(CancelTaskRequest, CancelTaskParams) -> ();
        list_skills(ListSkillsRequest, Option<PaginatedRequestParams>) -> ListSkillsResult;
        get_skill(GetSkillRequest, GetSkillRequestParams) -> GetSkillResult;
        read_resource_directory(ReadResourceDirectoryRequest, ReadResourceDirectoryRequestParams)
            -> ReadResourceDirectoryResult;
        on_custom_request(CustomRequest, CustomRequest) -> CustomResult;
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.send(ClientRequest::PingRequest(PingRequest::default()), context).await
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        // Its parameters are what is in `context.meta` already.
        let request = DiscoverRequest::new(DiscoverRequestParams::default());
        self.send(ClientRequest::DiscoverRequest(request), context).await
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let params = SubscriptionsListenRequestParams::new(subscription.requested().clone());
        let request =
            ClientRequest::SubscriptionsListenRequest(SubscriptionsListenRequest::new(params));
        let request = RmcpRequest::of_listen(request, subscription, self.connection.clone());
        self.run(request).await.into_response()
    }

    async fn on_cancelled(
        &self,
        params: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        // First of all: the cancelled request's layers wait for it.
        if let Some(id) = &params.request_id {
            let http = context.extensions.get().and_then(super::request::session_id);
            self.connection.note_cancelled(&Key { id: id.clone(), session: http.cloned() });
        }
        let notification = CancelledNotification::new(params);
        self.notify(ClientNotification::CancelledNotification(notification), context).await;
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        let notification = ProgressNotification::new(params);
        self.notify(ClientNotification::ProgressNotification(notification), context).await;
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let notification = InitializedNotification::default();
        self.notify(ClientNotification::InitializedNotification(notification), context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        let notification = RootsListChangedNotification::default();
        self.notify(ClientNotification::RootsListChangedNotification(notification), context).await;
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: NotificationContext<RoleServer>,
    ) {
        self.notify(ClientNotification::CustomNotification(notification), context).await;
    }

    // What rmcp asks synchronously does not pass the layers. A panic is caught where there is an
    // answer to give in its place.

    fn get_info(&self) -> ServerConfig {
        self.handler.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.handler.supported_protocol_versions()
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        catch(|| self.handler.negotiate_initialize(request))
            .unwrap_or_else(|cause| Err(internal_error("initialize", panicked(cause))))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        guarded("tools/call", || self.handler.get_tool(name))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        guarded("subscriptions/listen", || self.handler.accepted_subscription_filter(requested))
    }
}

/// What `ask` returns; nothing, and a `tool_failed` event, where it panics.
fn guarded<T>(method: &'static str, ask: impl FnOnce() -> Option<T>) -> Option<T> {
    catch(ask).unwrap_or_else(|cause| {
        Call::begin(Kind::Request, method.into(), None, None).report(panicked(cause));
        None
    })
}

fn panicked(cause: Cause) -> Verdict {
    Verdict::fault(Code::PANIC, Actor::Operator, Some(cause))
}
