use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolResponse, CallToolResult, ClientCapabilities, ClientNotification, ClientRequest,
        ErrorCode, GetPromptResponse, ReadResourceResponse, ServerResult,
    },
    service::{NotificationContext, RequestContext},
};
use tower_service::Service;

use super::{RmcpReply, RmcpRequest, request::Message};
use crate::{
    binding::{McpRequest as _, catch, schema::admits},
    call::{Name, Scoped},
    tool_error::Declaration,
};

/// The innermost service: calls the wrapped handler.
#[derive(Debug)]
pub struct HandlerService<H> {
    handler: Arc<H>,
}

impl<H> HandlerService<H> {
    pub(super) fn new(handler: Arc<H>) -> Self {
        Self { handler }
    }
}

impl<H> Clone for HandlerService<H> {
    fn clone(&self) -> Self {
        Self { handler: Arc::clone(&self.handler) }
    }
}

/// The error of [`HandlerService`], which has none: a handler's errors are
/// [replies](RmcpReply::error).
///
/// It is a type of its own so that a stack without containment is told from one that has it: a
/// handler never fails as a service, but it panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {}

impl fmt::Display for Unanswered {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Unanswered {}

/// The future of [`HandlerService`].
pub struct HandlerFuture {
    // rmcp's handler methods return futures that cannot be named.
    future: Pin<Box<dyn Future<Output = RmcpReply> + Send>>,
}

impl Future for HandlerFuture {
    type Output = Result<RmcpReply, Unanswered>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.future.as_mut().poll(cx).map(Ok)
    }
}

impl fmt::Debug for HandlerFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerFuture").finish_non_exhaustive()
    }
}

impl<H: ServerHandler> Service<RmcpRequest> for HandlerService<H> {
    type Response = RmcpReply;
    type Error = Unanswered;
    type Future = HandlerFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unanswered>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: RmcpRequest) -> HandlerFuture {
        let handler = Arc::clone(&self.handler);
        // Entered here, next to the handler, and not in a layer: a layer in between may run us on
        // another task.
        let (call, kind) = (request.0.call.take(), request.kind());
        let future: Pin<Box<dyn Future<Output = RmcpReply> + Send>> = match request.0.message {
            // The common case has a future without the room that the others need.
            Message::CallTool(..) => in_place(Scoped::new(call, kind, call_tool(handler, request))),
            _ => Box::pin(Scoped::new(call, kind, answer_other(handler, request))),
        };
        HandlerFuture { future }
    }
}

/// `future` on the heap, written there at once: most of one that has not begun is room, which a
/// move would copy.
#[inline]
fn in_place<F>(future: F) -> Pin<Box<dyn Future<Output = RmcpReply> + Send>>
where
    F: Future<Output = RmcpReply> + Send + 'static,
{
    let place: Box<F> = Box::write(Box::new_uninit(), future);
    Box::into_pin(place)
}

async fn call_tool<H: ServerHandler>(handler: Arc<H>, request: RmcpRequest) -> RmcpReply {
    let refusal = Refusal::of(&request);
    let mut place = request.0;
    let Message::CallTool(params, context) = std::mem::replace(&mut place.message, Message::Taken)
    else {
        return RmcpReply::handled();
    };
    let name = Name::new(&params.name);
    match handler.call_tool(params, context).await {
        Ok(mut response) => match refusal.of_tool(&response) {
            None => {
                if let CallToolResponse::Complete(result) = &mut response {
                    add_structured_record(&*handler, &name, result);
                }
                RmcpReply::in_place(place, response)
            }
            Some(refused) => RmcpReply::error(refused),
        },
        Err(error) => RmcpReply::error(error),
    }
}

/// Puts a failure's record where a host may look for a tool's structured answer, if the tool's
/// output schema admits it.
#[inline]
fn add_structured_record<H: ServerHandler>(handler: &H, name: &Name, result: &mut CallToolResult) {
    if result.is_error != Some(true) || result.structured_content.is_some() {
        return;
    }
    let Some(record) = result.meta.as_ref().and_then(|meta| meta.0.get(Declaration::KEY)) else {
        return;
    };
    // It may panic, and the failure that was declared is to stand all the same.
    let tool = catch(|| handler.get_tool(name.as_str())).ok().flatten();
    let schema = tool.and_then(|tool| tool.output_schema);
    if schema.is_some_and(|schema| admits(&schema, record)) {
        result.structured_content = Some(record.clone());
    }
}

async fn answer_other<H: ServerHandler>(handler: Arc<H>, request: RmcpRequest) -> RmcpReply {
    let refusal = Refusal::of(&request);
    let answer = match request.0.message {
        Message::Request(request, context) => answer(&*handler, *request, context).await,
        // rmcp makes the final result; here it only says that there is one.
        Message::Listen(_, subscription) => {
            handler.listen(*subscription).await.map(ServerResult::empty)
        }
        Message::Notification(notification) => {
            let (notification, context) = *notification;
            notify(&*handler, notification, context).await;
            return RmcpReply::handled();
        }
        Message::CallTool(params, context) => {
            handler.call_tool(params, context).await.map(ServerResult::from)
        }
        Message::Taken | Message::Answered(_) => return RmcpReply::handled(),
    };
    match answer {
        Ok(ServerResult::InputRequiredResult(_)) if !refusal.allows_input_required => {
            RmcpReply::error(Refusal::input_required())
        }
        Ok(result) => RmcpReply::result(result),
        Err(error) => RmcpReply::error(error),
    }
}

/// What rmcp would refuse after the wrapper, with an error that no layer would see.
struct Refusal {
    allows_input_required: bool,
    /// Whether the request's own `_meta` declares the tasks extension.
    declares_tasks: bool,
    peer: Option<Arc<rmcp::model::InitializeRequestParams>>,
}

impl Refusal {
    #[inline]
    fn of(request: &RmcpRequest) -> Self {
        const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
        // A request that declares capabilities of its own does not have the session's.
        let own = request.own_meta().and_then(|meta| meta.0.get(CAPABILITIES)?.as_object());
        let declares_tasks = own
            .and_then(|own| own.get("extensions")?.get(rmcp::model::TASKS_EXTENSION_ID))
            .is_some();
        Self {
            allows_input_required: request.is_2026_07_28_or_later(),
            declares_tasks,
            peer: request.0.peer.clone().filter(|_| own.is_none()),
        }
    }

    /// A task for a client that cannot poll it (SEP-2663), or a question to one that cannot answer
    /// (SEP-2322).
    #[inline]
    fn of_tool(&self, response: &CallToolResponse) -> Option<ErrorData> {
        match response {
            CallToolResponse::Task(_) if !self.allows_tasks() => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                Some(ErrorData::missing_required_client_capability(required))
            }
            CallToolResponse::InputRequired(_) if !self.allows_input_required => {
                Some(Self::input_required())
            }
            _ => None,
        }
    }

    fn allows_tasks(&self) -> bool {
        self.declares_tasks
            || self.peer.as_ref().is_some_and(|peer| peer.capabilities.supports_tasks())
    }

    fn input_required() -> ErrorData {
        ErrorData::invalid_request(
            "asking for input needs protocol version 2026-07-28 or newer",
            None,
        )
    }
}

#[allow(deprecated, reason = "older revisions have methods that newer ones deprecate")]
async fn answer<H: ServerHandler>(
    handler: &H,
    request: ClientRequest,
    context: RequestContext<RoleServer>,
) -> Result<ServerResult, ErrorData> {
    use ClientRequest as Q;
    use ServerResult as A;
    Ok(match request {
        Q::PingRequest(_) => A::empty(handler.ping(context).await?),
        Q::InitializeRequest(q) => {
            A::InitializeResult(handler.initialize(q.params, context).await?)
        }
        Q::DiscoverRequest(_) => A::DiscoverResult(handler.discover(context).await?),
        Q::CompleteRequest(q) => A::CompleteResult(handler.complete(q.params, context).await?),
        Q::SetLevelRequest(q) => A::empty(handler.set_level(q.params, context).await?),
        Q::GetPromptRequest(q) => match handler.get_prompt(q.params, context).await? {
            GetPromptResponse::InputRequired(result) => A::InputRequiredResult(result),
            response => response.into(),
        },
        Q::ListPromptsRequest(q) => {
            A::ListPromptsResult(handler.list_prompts(q.params, context).await?)
        }
        Q::ListResourcesRequest(q) => {
            A::ListResourcesResult(handler.list_resources(q.params, context).await?)
        }
        Q::ListResourceTemplatesRequest(q) => A::ListResourceTemplatesResult(
            handler.list_resource_templates(q.params, context).await?,
        ),
        Q::ReadResourceRequest(q) => match handler.read_resource(q.params, context).await? {
            ReadResourceResponse::InputRequired(result) => A::InputRequiredResult(result),
            response => response.into(),
        },
        Q::SubscribeRequest(q) => A::empty(handler.subscribe(q.params, context).await?),
        Q::UnsubscribeRequest(q) => A::empty(handler.unsubscribe(q.params, context).await?),
        Q::ListToolsRequest(q) => A::ListToolsResult(handler.list_tools(q.params, context).await?),
        Q::GetTaskRequest(q) => A::GetTaskResult(handler.get_task(q.params, context).await?),
        Q::UpdateTaskRequest(q) => A::task_ack(handler.update_task(q.params, context).await?),
        Q::CancelTaskRequest(q) => A::task_ack(handler.cancel_task(q.params, context).await?),
        Q::ListSkillsRequest(q) => {
            A::ListSkillsResult(handler.list_skills(q.params, context).await?)
        }
        Q::GetSkillRequest(q) => A::GetSkillResult(handler.get_skill(q.params, context).await?),
        Q::ReadResourceDirectoryRequest(q) => {
            A::ListResourcesResult(handler.read_resource_directory(q.params, context).await?)
        }
        Q::CustomRequest(q) => A::CustomResult(handler.on_custom_request(q, context).await?),
        // Only by a layer that puts one request in another's place; tool calls and listening have
        // messages of their own.
        Q::CallToolRequest(q) => handler.call_tool(q.params, context).await?.into(),
        other => {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                other.method().to_owned(),
                None,
            ));
        }
    })
}

async fn notify<H: ServerHandler>(
    handler: &H,
    notification: ClientNotification,
    context: NotificationContext<RoleServer>,
) {
    use ClientNotification as N;
    match notification {
        N::CancelledNotification(n) => handler.on_cancelled(n.params, context).await,
        N::ProgressNotification(n) => handler.on_progress(n.params, context).await,
        N::InitializedNotification(_) => handler.on_initialized(context).await,
        N::RootsListChangedNotification(_) => handler.on_roots_list_changed(context).await,
        N::CustomNotification(n) => handler.on_custom_notification(n, context).await,
        _ => {}
    }
}
