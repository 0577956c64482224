//! Everything that a client received.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tokio::sync::watch;

use super::{GUARD, answer::Answer};

/// What came in, shared between the client and the tasks that read for it.
#[derive(Clone)]
pub struct Inbox(Arc<watch::Sender<State>>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// By the JSON text of the id. More than one answer to an id is a bug that tests look for.
    answers: HashMap<String, Vec<Answer>>,
    others: Vec<Value>,
    garbage: Vec<String>,
    closed: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::default())))
    }
}

impl Inbox {
    pub(super) fn keep_bytes(&self, bytes: &[u8]) {
        self.0.send_modify(|state| state.bytes.extend_from_slice(bytes));
    }

    /// Takes in a text that should be a JSON-RPC message.
    pub(super) fn take(&self, status: Option<u16>, text: &str) {
        match serde_json::from_str::<Value>(text) {
            Ok(message) => match Answer::from_message(status, &message) {
                Some(answer) => self.settle(&message["id"], answer),
                None => self.0.send_modify(|state| state.others.push(message)),
            },
            Err(_) => self.0.send_modify(|state| state.garbage.push(text.to_owned())),
        }
    }

    /// The answer to a request, from wherever it is known.
    pub(super) fn settle(&self, id: &Value, answer: Answer) {
        self.0.send_modify(|state| {
            state.answers.entry(id.to_string()).or_default().push(answer);
        });
    }

    /// There will be no answer to this request, if there was none yet.
    pub(super) fn give_up(&self, id: &Value) {
        if self.answers(id).is_empty() {
            self.settle(id, Answer::None);
        }
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.0.send_modify(|state| state.closed = true);
    }

    /// The first answer to a request; [`Answer::None`] once it is clear that none comes.
    pub(super) async fn wait(&self, id: &Value) -> Answer {
        let key = id.to_string();
        let mut receiver = self.0.subscribe();
        let settled = receiver.wait_for(|state| state.closed || state.answers.contains_key(&key));
        let Ok(Ok(state)) = tokio::time::timeout(GUARD, settled).await else {
            return Answer::None;
        };
        state.answers.get(&key).and_then(|all| all.first()).cloned().unwrap_or(Answer::None)
    }

    /// Waits until what came in makes `holds` true, or nothing more comes.
    pub(crate) async fn wait_until(&self, holds: impl Fn() -> bool) {
        let mut receiver = self.0.subscribe();
        let came = async {
            loop {
                let closed = receiver.borrow_and_update().closed;
                if closed || holds() || receiver.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(GUARD, came).await;
    }

    /// All answers to a request so far.
    pub fn answers(&self, id: &Value) -> Vec<Answer> {
        self.0.borrow().answers.get(&id.to_string()).cloned().unwrap_or_default()
    }

    /// Notifications and requests of the server.
    pub fn others(&self) -> Vec<Value> {
        self.0.borrow().others.clone()
    }

    /// What should have been JSON and is not.
    pub fn garbage(&self) -> Vec<String> {
        self.0.borrow().garbage.clone()
    }

    /// Every byte, HTTP heads included.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.borrow().bytes.clone()
    }
}
