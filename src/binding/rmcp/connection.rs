//! What the layers know about one connection.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use http::HeaderValue;
use rmcp::model::NumberOrString;

use crate::call::Session;

/// Cancelled requests of one connection that are remembered.
const MAX_NOTED: usize = 64;

/// One connection, or one wrapper: rmcp has nothing to tell connections apart by.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) session: Session,
    pub(super) transport: Option<Cow<'static, str>>,
    cancels: Mutex<Cancels>,
    hasher: RandomState,
}

/// A request: by its id and, where one handler serves several sessions, its session.
#[derive(Clone, Debug, Hash)]
pub(super) struct Key {
    pub(super) id: NumberOrString,
    pub(super) session: Option<HeaderValue>,
}

#[derive(Debug, Default)]
struct Cancels {
    /// Hashes of the requests that `notifications/cancelled` named: an id may be long. The oldest
    /// makes room; a request of the same name is not to come again within a session.
    noted: VecDeque<u64>,
    waiting: BTreeMap<u64, Waker>,
    next_ticket: u64,
}

impl Connection {
    pub(super) fn new(transport: Option<Cow<'static, str>>) -> Self {
        Self {
            session: Session::random(),
            transport,
            cancels: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// The client has cancelled this request.
    pub(super) fn note_cancelled(&self, key: &Key) {
        let hash = self.hasher.hash_one(key);
        let waiting = {
            let mut cancels = self.cancels();
            if cancels.noted.len() >= MAX_NOTED {
                cancels.noted.pop_front();
            }
            cancels.noted.push_back(hash);
            std::mem::take(&mut cancels.waiting)
        };
        waiting.into_values().for_each(Waker::wake);
    }

    /// Whether the client has cancelled this request; else wakes once it cancels one. `ticket`
    /// is the waiter's own, and has to be [given back](Self::leave).
    pub(super) fn poll_cancelled(
        &self,
        key: &Key,
        ticket: &mut Option<u64>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let hash = self.hasher.hash_one(key);
        let mut cancels = self.cancels();
        // Not taken away: several layers may ask about one request.
        if cancels.noted.contains(&hash) {
            return Poll::Ready(());
        }
        let ticket = *ticket.get_or_insert_with(|| {
            cancels.next_ticket = cancels.next_ticket.wrapping_add(1);
            cancels.next_ticket
        });
        cancels.waiting.insert(ticket, cx.waker().clone());
        Poll::Pending
    }

    /// Stops waiting.
    pub(super) fn leave(&self, ticket: u64) {
        let waker = self.cancels().waiting.remove(&ticket);
        drop(waker);
    }

    fn cancels(&self) -> MutexGuard<'_, Cancels> {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
