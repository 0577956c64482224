//! `notifications/tasks`, by which a server tells the end of a task unasked.

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
        GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig, ServerNotification,
        SubscriptionFilter, TaskStatusNotification, TaskStatusNotificationParams,
    },
    service::{RequestContext, SubscriptionContext},
    task_manager::{TaskManager, TaskOptions},
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _, binding::rmcp::contain_operation};

use crate::{
    kit::{Created, Tasks, line, serve},
    support::{Client, GUARD, Layers, Logs, Revision, Transport},
};

/// Waits for the notification about a task; its params.
async fn told(client: &Client, task: &str) -> Value {
    let is_it = |message: &&Value| {
        message["method"] == "notifications/tasks" && message["params"]["taskId"] == task
    };
    let poll = async {
        loop {
            if let Some(message) = client.inbox().others().iter().find(is_it) {
                return message["params"].clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    let told = tokio::time::timeout(GUARD, poll).await;
    told.unwrap_or_else(|_| panic!("nothing of {task} in {:?}", client.inbox().others()))
}

/// Waits for the end of the task, before anybody polls.
async fn end_by_notification(tasks: &Tasks, created: &Created, expected: &str) {
    tasks.wait_for_end(created).await;
    let end = tasks.end(created).await;
    assert_eq!(line(&end), expected);
    assert_eq!(end.field("task_id"), Some(&*created.task), "{end:?}");
    assert_eq!(end.field("tool"), Some("task"), "{end:?}");
}

const ENDS: [(&str, &str); 5] = [
    ("ok", "INFO tool_call_completed completed -"),
    ("is_error", "ERROR tool_call_failed undeclared undeclared_error"),
    ("soft", "ERROR tool_call_failed soft_error soft_error"),
    ("error", "ERROR tool_call_failed fault internal_error"),
    ("panic", "ERROR tool_call_failed fault panic"),
];

#[tokio::test]
async fn a_notification_on_a_sessions_stream_is_the_end() {
    for layers in [Layers::Http, Layers::Both] {
        let tasks = Tasks::connect(Transport::Stateful, layers).await;
        tasks.first().listen().await;
        for (ends, expected) in ENDS {
            // Contained out of reach of any call, it is in a line of its own what it was.
            let expected = match (ends, layers) {
                ("panic", Layers::Http) => "ERROR tool_call_failed fault internal_error",
                _ => expected,
            };
            let text = format!("SECRET-of-{ends}");
            let arguments = json!({ "ends": ends, "ms": 20, "text": text, "notify": true });
            let created = tasks.create(arguments).await;
            let params = told(tasks.first(), &created.task).await;
            end_by_notification(&tasks, &created, expected).await;
            // Whoever polls afterwards learns the same, and makes no second end.
            let polled = tasks.polled(&created).await;
            let task = polled.result().unwrap();
            for key in ["status", "result", "error", "createdAt", "taskId"] {
                assert_eq!(params.get(key), task.get(key), "{layers:?}, {ends}: {key}");
            }
            tasks.end(&created).await;
            if matches!(ends, "error" | "panic") {
                assert!(!tasks.received().contains(&text), "{layers:?}, {ends}: {params}");
                assert_eq!(params["error"]["code"], -32603, "{layers:?}, {ends}: {params}");
            }
        }
    }
}

/// Layers round a handler see what it answers, and not what it sends by itself.
#[tokio::test]
async fn a_notification_past_the_layers_is_no_end() {
    for transport in [Transport::Duplex, Transport::Stdio, Transport::Stateful] {
        let tasks = Tasks::connect(transport, Layers::Typed).await;
        if transport == Transport::Stateful {
            tasks.first().listen().await;
        }
        let created = tasks.create(json!({ "ends": "is_error", "ms": 20, "notify": true })).await;
        let params = told(tasks.first(), &created.task).await;
        assert_eq!(params["result"]["isError"], true, "{transport:?}: {params}");
        tasks.first().call("ok", json!({})).await;
        assert_eq!(tasks.ends(&created), [], "{transport:?}");
        tasks.polled(&created).await;
        let expected = "ERROR tool_call_failed undeclared undeclared_error";
        assert_eq!(line(&tasks.end(&created).await), expected, "{transport:?}");
    }
}

/// Tells whoever listens how its tasks end: rmcp's own sinks do not, as long as its filter has no
/// room for the ids of tasks.
#[derive(Clone)]
struct Tells {
    tasks: TaskManager,
    newest: watch::Sender<Option<String>>,
}

impl ServerHandler for Tells {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if params.name != "task" {
            return Ok(CallToolResult::success(vec![ContentBlock::text("fine")]).into());
        }
        let fails = params.arguments.is_some_and(|it| it["ends"] == "error");
        let operation = contain_operation(move |_| async move {
            match fails {
                true => Err(ErrorData::internal_error("SECRET-of-listen", None)),
                false => Ok("fine".to_owned()),
            }
        });
        let task = self.tasks.spawn(TaskOptions::new(), operation);
        self.newest.send_replace(Some(task.task_id.clone()));
        Ok(CreateTaskResult::new(task).into())
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&params.task_id).map(GetTaskResult::new)
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut newest = self.newest.subscribe();
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                Ok(()) = newest.changed() => {}
            }
            let id = newest.borrow_and_update().clone().unwrap_or_default();
            let task = loop {
                match self.tasks.get_task(&id)? {
                    task if task.status().is_terminal() => break task,
                    _ => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
                }
            };
            let params = TaskStatusNotificationParams::new(task);
            let told = TaskStatusNotification::new(params);
            let peer = &subscription.request_context().peer;
            let _ = peer.send_notification(ServerNotification::TaskStatusNotification(told)).await;
        }
    }
}

#[tokio::test]
async fn a_notification_to_whom_listens_in_2026_07_28_is_the_end() {
    for is_round_both in [false, true] {
        let (logs, _capture) = Logs::capture();
        let handler = Tells { tasks: TaskManager::new(), newest: watch::Sender::new(None) };
        let layer = OutcomeLayer::new;
        let address = if is_round_both {
            serve(handler.layered(layer()), layer()).await
        } else {
            serve(handler, layer()).await
        };
        let clients = ["first", "second"];
        let clients = clients.map(|_| Client::at(&address, Revision::V2026, logs.clone()));
        let listening = json!({ "notifications": {} });
        let id = json!("listens");
        clients[0].start_as(&id, "subscriptions/listen", listening).await;
        let acknowledged = async {
            let came =
                |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
            while !clients[0].inbox().others().iter().any(came) {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        let is_listening = tokio::time::timeout(GUARD, acknowledged).await;
        assert!(is_listening.is_ok(), "{}", String::from_utf8_lossy(&clients[0].bytes()));
        let tasks = Tasks::of(clients.into(), true).await;
        for (ends, expected) in [ENDS[0], ENDS[3]] {
            let created = tasks.create(json!({ "ends": ends })).await;
            let params = told(tasks.first(), &created.task).await;
            end_by_notification(&tasks, &created, expected).await;
            let polled = tasks.polled(&created).await;
            assert_eq!(params.get("error"), polled.result().unwrap().get("error"), "{ends}");
            tasks.end(&created).await;
        }
        let received = tasks.received();
        assert!(!received.contains("SECRET-of-listen"), "{received}");
    }
}
