//! Tools that contain what they do: while they are waited for, beside them, and in their tasks.

use std::{future::Ready, io, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
        GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    task_manager::{TaskManager, TaskOptions},
};
use tokio::sync::Notify;
use tower_outcome::{
    Kind, OutcomeLayer, ServerHandlerExt as _, ToolError, binding::rmcp::contain_operation, contain,
};
use tracing::subscriber::DefaultGuard;

use crate::{
    bench::SECRET,
    polls::{Tasks, serve},
    support::{Client, Logs, Revision},
};

type Ended = Result<String, ToolError>;

async fn boom() -> Ended {
    panic!("{SECRET}")
}

/// Panics before there is a future.
fn boom_at_once() -> Ready<Ended> {
    panic!("{SECRET}")
}

async fn rejects() -> Ended {
    Err(ToolError::rejected("unknown_note", "No note at 'x'."))
}

async fn fails(cause: &'static str) -> Ended {
    Err(io::Error::other(cause).into())
}

/// Its own end is for nobody.
async fn until_it_ended<T>(work: tokio::task::JoinHandle<T>) -> Ended {
    while !work.is_finished() {
        tokio::task::yield_now().await;
    }
    Ok("fine".into())
}

#[derive(Clone, Default)]
pub(crate) struct Works {
    tasks: TaskManager,
    /// For what panics only once it is told to.
    pub(crate) goes_on: Arc<Notify>,
}

impl Works {
    async fn call(&self, tool: &str) -> Ended {
        let goes_on = Arc::clone(&self.goes_on);
        match tool {
            "awaited" => contain(boom).await,
            "awaited_at_once" => contain(boom_at_once).await,
            "spawned" => tokio::spawn(contain(boom)).await.unwrap(),
            "nested" => contain(|| contain(|| contain(boom))).await,
            "failed" => contain(|| fails(SECRET)).await,
            "rejected" => contain(rejects).await,
            "forgotten_before" => until_it_ended(tokio::spawn(contain(boom))).await,
            "forgotten_before_at_once" => until_it_ended(tokio::spawn(contain(boom_at_once))).await,
            "forgotten_later" => {
                tokio::spawn(contain(|| async move {
                    goes_on.notified().await;
                    boom().await
                }));
                Ok("fine".into())
            }
            "both" => {
                let (one, other) =
                    futures::join!(contain(|| fails("one")), contain(|| fails("other")));
                let _ = one.unwrap_err().render(Kind::ToolCall);
                other
            }
            _ => Ok("fine".into()),
        }
    }

    /// The same as tasks.
    fn begin(&self, task: &str) -> Option<CreateTaskResult> {
        let options = TaskOptions::default;
        Some(CreateTaskResult::new(match task {
            "task_panics" => self.tasks.spawn(options(), contain_operation(|_| boom())),
            "task_fails" => self.tasks.spawn(options(), contain_operation(|_| fails(SECRET))),
            "task_rejects" => self.tasks.spawn(options(), contain_operation(|_| rejects())),
            "task_awaits" => {
                self.tasks.spawn(options(), contain_operation(|_| async { contain(boom).await }))
            }
            "task_awaits_at_once" => {
                let operation = contain_operation(|_| async { contain(boom_at_once).await });
                self.tasks.spawn(options(), operation)
            }
            "task_spawns" => {
                let operation =
                    contain_operation(|_| async { tokio::spawn(contain(boom)).await.unwrap() });
                self.tasks.spawn(options(), operation)
            }
            "task_has_what_the_call_began" => {
                let begun = contain(boom);
                self.tasks.spawn(options(), contain_operation(|_| begun))
            }
            "task_with_both" => {
                let works = (contain(|| fails("one")), contain(|| fails("other")));
                let operation = contain_operation(|_| async move {
                    let (one, other) = futures::join!(works.0, works.1);
                    let _ = one.unwrap_err().render(Kind::ToolCall);
                    other
                });
                self.tasks.spawn(options(), operation)
            }
            "task_with_both_in_it" => {
                let operation = contain_operation(|_| async move {
                    let one = contain(|| fails("one")).await;
                    let _ = one.unwrap_err().render(Kind::ToolCall);
                    contain(|| fails("other")).await
                });
                self.tasks.spawn(options(), operation)
            }
            _ => return None,
        }))
    }
}

impl ServerHandler for Works {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(task) = self.begin(&params.name) {
            return Ok(task.into());
        }
        match self.call(&params.name).await {
            Ok(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            failed => failed.into_call_tool_result(),
        }
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&params.task_id).map(GetTaskResult::new)
    }
}

/// A server, and where the layers are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Pipe,
    /// Round the handler, and round the HTTP service that it is served by.
    Both,
}

impl Place {
    pub(crate) const ALL: [Self; 2] = [Self::Pipe, Self::Both];

    /// A client, as long as the guard is there.
    pub(crate) async fn serve(self, works: &Works) -> (Tasks, Option<DefaultGuard>) {
        let handler = works.clone().layered(OutcomeLayer::new());
        match self {
            Self::Pipe => (Tasks::serve(handler).await, None),
            Self::Both => {
                let (logs, capture) = Logs::capture();
                let address = serve(handler, OutcomeLayer::new()).await;
                let client = Client::at(&address, Revision::V2025, logs);
                (Tasks::of(vec![client], false).await, Some(capture))
            }
        }
    }
}
