//! A server with tasks of 2025-11-25.
//!
//! See <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::watch;
use tower_outcome::{Kind, contain};

use crate::{
    binding::{Reply, failed_result},
    kit::{Pen, Piece, event, guarded},
    work::{self, Outcome, failure},
};

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A handle to it.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<State>);

#[derive(Default)]
struct State {
    tasks: Mutex<BTreeMap<String, Arc<Task>>>,
    /// Where it sends what it sends by itself.
    streams: Mutex<Vec<Pen>>,
    /// Whether a task is none to other sessions than its own.
    is_private: AtomicBool,
}

struct Task {
    id: String,
    session: String,
    /// Milliseconds.
    ttl: Option<u64>,
    /// The same in answers about it, where that is another one.
    later_ttl: Option<u64>,
    progress: watch::Sender<Progress>,
    running: Mutex<Option<tokio::task::AbortHandle>>,
}

#[derive(Clone)]
struct Progress {
    status: &'static str,
    message: Option<String>,
    outcome: Option<Outcome>,
}

/// An id that no other task of this process has: the memory of the layers is one for all.
pub(crate) fn fresh_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("task-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Server {
    /// Tasks are for the sessions that have created them.
    pub(crate) fn keep_private(&self) {
        self.0.is_private.store(true, Ordering::Relaxed);
    }

    pub(crate) async fn handle(&self, session: &str, message: &Value) -> Reply {
        let params = &message["params"];
        if message.get("id").is_none() {
            return Reply::Handled;
        }
        assert!(params["panic"] != true, "told to panic");
        let task = || self.find(session, params["taskId"].as_str().unwrap_or_default());
        Reply::of(match message["method"].as_str().unwrap_or_default() {
            "tools/call" if params["task"].is_object() => Ok(self.create(session, params).await),
            "tasks/get" => task().map(|task| task.view()),
            "tasks/list" => Ok(json!({ "tasks": self.list() })),
            "tasks/cancel" => task().and_then(|task| self.cancel(&task)),
            "tasks/result" => match task() {
                Ok(task) => task.result().await,
                Err(error) => Err(error),
            },
            _ => Err(failure(-32601, "no such method")),
        })
    }

    /// Begins a task, which goes on behind its answer.
    async fn create(&self, session: &str, params: &Value) -> Value {
        let arguments = &params["arguments"];
        if let Some(ms) = arguments["before_ms"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let text = |key: &str| arguments[key].as_str().map(str::to_owned);
        let begun = Progress { status: "working", message: None, outcome: None };
        let task = Arc::new(Task {
            id: text("id").unwrap_or_else(fresh_id),
            session: session.to_owned(),
            ttl: params["task"]["ttl"].as_u64(),
            later_ttl: arguments["later_ttl"].as_u64(),
            progress: watch::Sender::new(begun),
            running: Mutex::default(),
        });
        self.tasks().insert(task.id.clone(), Arc::clone(&task));
        let answer = json!({ "task": task.view_with(task.ttl) });
        let (ends, ms) = (text("ends").unwrap_or_default(), arguments["ms"].as_u64());
        let work = contain(move || work::run(ends, ms.unwrap_or_default()));
        let (server, settled) = (self.clone(), Arc::clone(&task));
        let running = async move {
            let outcome = match work.await {
                Ok(outcome) => outcome,
                Err(error) => Ok(failed_result(error.render(Kind::ToolCall))),
            };
            server.settle(&settled, outcome);
        };
        *task.running.lock().unwrap() = Some(tokio::spawn(running).abort_handle());
        answer
    }

    /// The work has ended. An `isError` result is a failed task in this form.
    fn settle(&self, task: &Task, outcome: Outcome) {
        let text = match &outcome {
            Ok(result) if result["isError"] == true => &result["content"][0]["text"],
            Ok(_) => return self.advance(task, "completed", None, Some(outcome)),
            // A careful server: of a status nobody knows so far what it is about.
            Err(error) if error["code"] == -32603 => &json!("It did not work."),
            Err(error) => &error["message"],
        };
        let message = text.as_str().map(str::to_owned);
        self.advance(task, "failed", message, Some(outcome));
    }

    /// Has a task end well that does not end by itself.
    pub(crate) fn finish(&self, id: &str) {
        let task = Arc::clone(&self.tasks()[id]);
        self.settle(&task, Ok(json!({ "content": [{ "type": "text", "text": "done" }] })));
    }

    fn cancel(&self, task: &Task) -> Outcome {
        if task.is_over() {
            return Err(failure(-32602, "Cannot cancel task: it has ended"));
        }
        self.stop(&task.id);
        Ok(task.view())
    }

    /// Cancels a task, whoever wants that.
    pub(crate) fn stop(&self, id: &str) {
        let task = Arc::clone(&self.tasks()[id]);
        if let Some(running) = task.running.lock().unwrap().take() {
            running.abort();
        }
        let outcome = Err(failure(-31001, "the task was cancelled"));
        self.advance(&task, "cancelled", Some("It was stopped.".into()), Some(outcome));
    }

    fn advance(
        &self,
        task: &Task,
        status: &'static str,
        message: Option<String>,
        outcome: Option<Outcome>,
    ) {
        task.progress.send_replace(Progress { status, message, outcome });
        let method = "notifications/tasks/status";
        let told = json!({ "jsonrpc": "2.0", "method": method, "params": task.view() });
        let told = event(&told.to_string());
        self.streams().retain(|stream| stream.send(Piece::Data(told.clone().into())).is_ok());
    }

    /// Sends to this stream what it sends by itself.
    pub(crate) fn listen(&self, stream: Pen) {
        self.streams().push(stream);
    }

    /// How many streams there are for what it sends by itself.
    pub(crate) fn listeners(&self) -> usize {
        self.streams().len()
    }

    /// Waits until a task has ended, which nobody else learns by that.
    pub(crate) async fn ended(&self, id: &str) {
        let mut progress = self.tasks()[id].progress.subscribe();
        guarded(progress.wait_for(|progress| progress.outcome.is_some())).await.unwrap();
    }

    /// Forgets a task, as servers do once its time is up.
    pub(crate) fn forget(&self, id: &str) {
        self.tasks().remove(id);
    }

    fn list(&self) -> Vec<Value> {
        self.tasks().values().map(|task| task.view()).collect()
    }

    fn find(&self, session: &str, id: &str) -> Result<Arc<Task>, Value> {
        let is_private = self.0.is_private.load(Ordering::Relaxed);
        let task = self.tasks().get(id).cloned();
        task.filter(|task| !is_private || task.session == session)
            .ok_or_else(|| failure(-32602, "Failed to retrieve task: Task not found"))
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Task>>> {
        self.0.tasks.lock().unwrap()
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Pen>> {
        self.0.streams.lock().unwrap()
    }
}

impl Task {
    fn view(&self) -> Value {
        self.view_with(self.later_ttl.or(self.ttl))
    }

    fn view_with(&self, ttl: Option<u64>) -> Value {
        let progress = self.progress.borrow();
        let mut view = json!({
            "taskId": self.id,
            "status": progress.status,
            "createdAt": "2025-11-25T10:30:00Z",
            "lastUpdatedAt": "2025-11-25T10:30:01Z",
            "ttl": ttl,
            "pollInterval": 10,
        });
        if let Some(message) = &progress.message {
            view["statusMessage"] = json!(message);
        }
        view
    }

    fn is_over(&self) -> bool {
        self.progress.borrow().outcome.is_some()
    }

    /// What the call would have been answered with; waits for it, as the specification has it.
    async fn result(&self) -> Outcome {
        let mut progress = self.progress.subscribe();
        let progress = progress.wait_for(|progress| progress.outcome.is_some()).await;
        let mut outcome = progress.unwrap().outcome.clone().unwrap();
        if let Ok(result) = &mut outcome {
            result["_meta"][RELATED] = json!({ "taskId": self.id });
        }
        outcome
    }
}
