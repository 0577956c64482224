//! The server: its state, and what it does besides tools.
//!
//! Tests serve it in their own process too, so nothing here knows about flags or transports.

mod declared;
mod layers;
mod notes;
mod params;
mod stack;
mod tasks;
mod tools;
mod trouble;

use std::sync::{Arc, Mutex};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::{router::tool::ToolRouter, tool::ToolCallContext},
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomNotification,
        CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourcesResult, PaginatedRequestParams, Prompt, PromptArgument,
        PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext},
    task_manager::TaskManager,
    tool_handler,
};
use serde_json::{Value, json};

pub(crate) use self::{layers::layer, stack::layered};
use self::{
    notes::Notes,
    trouble::{HOWS, misbehave},
};

/// The server. Clones share their notes and tasks, as the sessions of one server do.
#[derive(Clone)]
pub(crate) struct Misbehaving {
    tool_router: ToolRouter<Self>,
    notes: Arc<Mutex<Notes>>,
    tasks: TaskManager,
    /// Poisoned by `panic` with `when: locked`, for good.
    poisonable: Arc<Mutex<u64>>,
}

impl Misbehaving {
    pub(crate) fn new() -> Self {
        Self {
            tool_router: Self::tool_router() + Self::task_router(),
            notes: Arc::default(),
            tasks: TaskManager::new(),
            poisonable: Arc::default(),
        }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Misbehaving {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_prompts()
                .enable_resources()
                .enable_completions()
                .enable_tasks()
                .build(),
        )
    }

    // By hand, and not `async`, so that `when: sync` panics before there is a future.
    fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send + '_ {
        trouble::before_the_future(&request);
        self.tool_router.call(ToolCallContext::new(self, request, context))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        assert!(request.client_info.name != "panic-at-initialize", "asked to panic at initialize");
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let client = context.meta.client_info().map(|client| client.name);
        assert!(client.as_deref() != Some("panic-at-discover"), "asked to panic at discover");
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let how = PromptArgument::new("how").with_description(HOWS.join(", "));
        let prompt = Prompt::new("misbehave", Some("Ends as it is told."), Some(vec![how]));
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != "misbehave" {
            return Err(ErrorData::invalid_params("prompt not found", None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let text = misbehave(how(arguments.get("how"))).await?;
        let messages = vec![PromptMessage::new_text(Role::User, text)];
        Ok(GetPromptResult::new(messages).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = HOWS.iter().map(|how| Resource::new(format!("test://{how}"), *how));
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(how) = request.uri.strip_prefix("test://").filter(|how| HOWS.contains(how)) else {
            let asked = json!({ "uri": request.uri });
            return Err(ErrorData::resource_not_found("resource not found", Some(asked)));
        };
        let text = misbehave(how).await?;
        let contents = vec![ResourceContents::text(text, &request.uri)];
        Ok(ReadResourceResult::new(contents).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let Some(how) = request.method.strip_prefix("misbehave/") else {
            return Err(ErrorData::new(
                rmcp::model::ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ));
        };
        let text = misbehave(how).await?;
        Ok(CustomResult::new(json!({ "text": text })))
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _: NotificationContext<RoleServer>,
    ) {
        if notification.method == "notifications/misbehave" {
            let params = notification.params.unwrap_or_default();
            // A notification has no answer that an error could go into.
            let _ = misbehave(how(params.get("how"))).await;
        }
    }
}

fn how(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or("ok")
}
