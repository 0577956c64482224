//! Tasks: a panic (A5), a failure that passes as a success (C15), and a text that leaks (H5), where
//! they happen behind an answer that was given long before.

use std::{collections::BTreeMap, future::poll_fn, io, sync::Arc, task::Poll, time::Duration};

use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    handler::server::tool::IntoCallToolResult,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
        ErrorCode, GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions},
};
use serde_json::json;
use tower_outcome::{
    OutcomeLayer, ServerHandlerExt as _, ToolError,
    binding::rmcp::{OperationError, contain_operation},
    contain,
};

use crate::{
    kit::{boom, line},
    task_kit::{Created, Tasks, assert_fixed, status},
};

type Spawn = dyn Fn(TaskContext) -> TaskFuture + Send + Sync;

/// A server whose tools are operations of a task manager, but for `ok`.
#[derive(Clone, Default)]
struct Operations {
    tasks: TaskManager,
    tools: BTreeMap<&'static str, Arc<Spawn>>,
}

impl Operations {
    /// With an operation that is contained.
    fn with<F, T, E>(
        self,
        name: &'static str,
        operation: impl Fn(TaskContext) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoCallToolResult + 'static,
        E: OperationError + 'static,
    {
        self.with_bare(name, move |context| contain_operation(operation.clone())(context))
    }

    /// With an operation as rmcp has them.
    fn with_bare(
        mut self,
        name: &'static str,
        spawn: impl Fn(TaskContext) -> TaskFuture + Send + Sync + 'static,
    ) -> Self {
        self.tools.insert(name, Arc::new(spawn));
        self
    }

    async fn serve(self) -> Tasks {
        Tasks::serve(self.layered(OutcomeLayer::new())).await
    }
}

impl ServerHandler for Operations {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(spawn) = self.tools.get(&*params.name) else {
            return Ok(CallToolResult::success(vec![ContentBlock::text("fine")]).into());
        };
        let task = self.tasks.spawn(TaskOptions::new(), |context| spawn(context));
        Ok(CreateTaskResult::new(task).into())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&params.task_id).map(GetTaskResult::new)
    }
}

/// Panics when it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            boom("at /srv/live.rs");
        }
    }
}

/// What is done after the answer, by hand: `contain` where `contain_operation` does not fit.
fn by_hand(_: TaskContext) -> TaskFuture {
    let work: BoxFuture<'static, Result<String, ToolError>> =
        Box::pin(contain(|| async { Ok::<_, ToolError>(boom("at /srv/live.rs")) }));
    Box::pin(async move {
        let answer = match work.await {
            Ok(text) => text.into_call_tool_result(),
            Err(error) => error.into_call_tool_result(),
        };
        match answer? {
            CallToolResponse::Complete(result) => Ok(result),
            _ => unreachable!(),
        }
    })
}

fn panicking() -> Operations {
    Operations::default()
        .with("later", |_| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, ToolError>(boom("at /srv/live.rs"))
        })
        .with("at_once", |_| {
            boom("at /srv/live.rs");
            async { Ok::<_, ToolError>(String::new()) }
        })
        .with("in_a_destructor", |_| {
            let held = Dropped;
            // Held until it is dropped itself, with its result out already.
            poll_fn(move |_| {
                let _ = &held;
                Poll::Ready(Ok::<_, ToolError>("done".to_owned()))
            })
        })
        .with("elsewhere", |_| async {
            Ok::<_, ToolError>(tokio::spawn(async { boom("at /srv/live.rs") }).await?)
        })
        .with_bare("by_hand", by_hand)
}

#[tokio::test]
async fn a5_a_task_whose_work_panics_ends_instead_of_working_for_ever() {
    let tasks = panicking().serve().await;
    for (tool, expected) in [
        ("later", "failed"),
        ("at_once", "failed"),
        ("in_a_destructor", "failed"),
        // A panic that was caught and raised as an error ends as a tool's error does.
        ("elsewhere", "completed"),
        ("by_hand", "completed"),
    ] {
        let created = tasks.create_with(tool, json!({})).await;
        assert_eq!(line(&created.deferred), "INFO tool_call_deferred deferred -", "{tool}");
        let answer = tasks.polled(&created).await;
        let end = tasks.end(&created).await;
        assert_eq!(line(&end), "ERROR tool_call_failed fault panic", "{tool}");
        assert_eq!(end.field("tool"), Some(tool), "{end:?}");
        assert!(end.field("cause").unwrap().contains("/srv/live.rs"), "{tool}: {end:?}");
        assert_eq!(status(&answer), expected, "{tool}");
        if expected == "failed" {
            assert_fixed(&answer, &end);
        } else {
            assert_fixed_result(&answer, &created);
        }
        assert_eq!(tasks.call("ok", json!({})).await.text(), "fine", "{tool}");
    }
    assert!(!tasks.received().contains("/srv"), "{}", tasks.received());
    let alarms = tasks.logs().of_target("tower_outcome").into_iter();
    assert_eq!(alarms.filter(|event| event.is_alarming()).count(), 5, "one failure event each");
}

/// Checks that a task has ended in an error result with the fixed text.
fn assert_fixed_result(answer: &crate::support::Answer, created: &Created) {
    let result = &answer.result().unwrap()["result"];
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(result["isError"], true, "{answer:?}");
    assert!(text.starts_with("This call was fine, but the server could not"), "{text}");
    assert!(text.contains(&created.call_id), "no reference in: {text}");
}

#[tokio::test]
async fn c15_an_error_in_a_completed_task_is_a_failure_and_an_abort_is_none() {
    let runs = Operations::default()
        .with("fails", |_| async {
            let text = vec![ContentBlock::text("the run has failed")];
            Ok::<_, TaskExit>(CallToolResult::error(text))
        })
        .with("aborts", |_| async { Err::<String, _>(TaskExit::Cancelled) })
        .with("works", |_| async { Ok::<_, TaskExit>("40 pages".to_owned()) });
    let tasks = runs.serve().await;
    for (tool, ended, expected) in [
        ("fails", "completed", "ERROR tool_call_failed undeclared undeclared_error"),
        // The server's own doing: nobody asked for it.
        ("aborts", "cancelled", "INFO tool_call_cancelled cancelled -"),
        ("works", "completed", "INFO tool_call_completed completed -"),
    ] {
        let created = tasks.create_with(tool, json!({})).await;
        let answer = tasks.polled(&created).await;
        assert_eq!(status(&answer), ended, "{tool}");
        let end = tasks.end(&created).await;
        assert_eq!(line(&end), expected, "{tool}");
        assert_eq!(end.field("reason"), None, "{tool}: {end:?}");
        assert_eq!(end.field("task_id"), Some(&*created.task), "{tool}: {end:?}");
    }
}

/// What a store says that fails, path and all.
fn broken() -> io::Error {
    io::Error::other("cannot open /srv/tasks.db")
}

#[tokio::test]
async fn h5_a_background_failure_is_a_fixed_text_however_it_was_raised() {
    let stores = Operations::default()
        .with("raised", |_| async { Err::<String, ToolError>(broken().into()) })
        .with("protocol", |_| async {
            let data = json!({ "path": "/srv/tasks.db" });
            Err::<String, _>(ErrorData::internal_error(broken().to_string(), Some(data)))
        })
        .with("own_code", |_| async {
            Err::<String, _>(ErrorData::new(ErrorCode(-32050), broken().to_string(), None))
        })
        .with("exit", |_| async {
            let error = ErrorData::internal_error(broken().to_string(), None);
            Err::<String, _>(TaskExit::Error(error))
        })
        .with("status_message", |context| async move {
            context.set_status_message(broken().to_string());
            Err::<String, _>(ErrorData::internal_error("the store has failed", None))
        })
        // As it is without any help.
        .with_bare("bare", |_| {
            Box::pin(async { Err(ErrorData::internal_error(broken().to_string(), None).into()) })
        });
    let tasks = stores.serve().await;
    for tool in ["raised", "protocol", "own_code", "exit", "status_message", "bare"] {
        let created = tasks.create_with(tool, json!({})).await;
        let answer = tasks.polled(&created).await;
        let end = tasks.end(&created).await;
        assert_eq!(line(&end), "ERROR tool_call_failed fault internal_error", "{tool}");
        match tool {
            "raised" => assert_fixed_result(&answer, &created),
            _ => assert_fixed(&answer, &end),
        }
        let cause = end.field("cause").unwrap_or_default();
        match tool {
            "status_message" => {
                let message = answer.result().unwrap()["statusMessage"].as_str().unwrap();
                assert!(message.contains(&created.call_id), "{message}");
                assert!(cause.contains("the store has failed"), "{end:?}");
            }
            _ => assert!(cause.contains("/srv/tasks.db"), "{tool}: {end:?}"),
        }
        // The rest of the answer is the server's own.
        let (first, last) = (created.answer.result().unwrap(), answer.result().unwrap());
        for key in ["taskId", "createdAt", "ttlMs", "pollIntervalMs"] {
            assert_eq!(first[key], last[key], "{tool}: {key}");
        }
    }
    assert!(!tasks.received().contains("/srv"), "{}", tasks.received());
}
