//! Calls whose end may come on another connection: of a session, by the ids of its requests.
//!
//! There is one list for the process, since the route that a stream is taken up again on may have
//! layers of its own.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use super::exchange::Exchange;
use crate::{
    call::{Call, Client, RequestId, Session, Verdict, Waiting},
    outcome::Reason,
    sweep::Sweeper,
};

/// How long an answer that may still come on another connection is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Calls that are waited for, or remembered since their answer may be replayed.
const MAX_REMEMBERED: usize = 4096;
/// Calls that go on. Of more than that none is found from another connection.
const MAX_OPEN: usize = 64 * 1024;

/// Clients that are remembered, of which only the name and version are.
const MAX_CLIENTS: usize = 16 * 1024;

type Key = (u64, RequestId);
type Order = VecDeque<(Instant, Key)>;

static OPEN: Mutex<Option<List>> = Mutex::new(None);
static SWEEPER: Sweeper = Sweeper::new(|| with(|list| list.next_due()), forget_due);

#[derive(Default)]
struct List {
    calls: HashMap<Key, Entry>,
    /// When to forget whom; what is in it twice is forgotten at its own time. Apart, so that many
    /// answers that were delivered do not displace calls that are waited for.
    waiting: Order,
    delivered: Order,
    /// Who the clients are.
    clients: HashMap<u64, Arc<dyn Client>>,
    known: VecDeque<u64>,
}

struct Entry {
    state: State,
    until: Option<Instant>,
}

enum State {
    /// Its own exchange goes on.
    Working(Call, Weak<Exchange>),
    /// It has ended without an answer.
    Waiting(Waiting),
    /// The answer has gone by. What it was to is kept: a replay means the same.
    Delivered(Call),
}

/// What is known of an answer.
pub(super) enum Known {
    Nothing,
    /// It ends this call, which stays open until this is dropped: after the verdict.
    Open {
        call: Call,
        _waiting: Option<Waiting>,
    },
    /// It has gone by before.
    Delivered(Call),
}

/// A request of a session begins. Gives the session's client.
pub(super) fn begin(
    session: Session,
    id: &RequestId,
    call: &Call,
    exchange: &Arc<Exchange>,
) -> Option<Arc<dyn Client>> {
    let state = State::Working(call.clone(), Arc::downgrade(exchange));
    let entry = Entry { state, until: None };
    let (replaced, client) = with(|list| {
        let client = list.clients.get(&session.bits()).cloned();
        if list.calls.len() >= MAX_OPEN {
            return (Some(entry), client);
        }
        (list.calls.insert(key(session, id), entry), client)
    });
    // Others' code runs where that ends a call.
    drop(replaced);
    client
}

/// A session begins, of this client.
pub(super) fn introduce(session: Session, client: &Arc<dyn Client>) {
    let replaced = with(|list| {
        list.known.push_back(session.bits());
        let replaced = list.clients.insert(session.bits(), Arc::clone(client));
        let first = (list.known.len() > MAX_CLIENTS).then(|| list.known.pop_front()).flatten();
        (replaced, first.and_then(|first| list.clients.remove(&first)))
    });
    drop(replaced);
}

/// Its exchange is over, and there is nothing more to come.
pub(super) fn end(session: Session, id: &RequestId, of: &Call) {
    let removed = with(|list| {
        let key = key(session, id);
        match list.calls.get(&key).map(|entry| &entry.state) {
            // Not a later one that has taken the same id.
            Some(State::Working(call, _)) if call.id() == of.id() => list.calls.remove(&key),
            _ => None,
        }
    });
    drop(removed);
}

/// Its exchange is over, and its answer may come on another connection.
pub(super) fn wait(session: Session, id: &RequestId, call: &Call) {
    let until = Instant::now() + PATIENCE;
    let entry = Entry { state: State::Waiting(call.clone().wait()), until: Some(until) };
    let key = key(session, id);
    let displaced = with(|list| {
        list.waiting.push_back((until, key.clone()));
        (list.calls.insert(key, entry), list.forget_excess())
    });
    drop(displaced);
    SWEEPER.notice();
}

/// An answer goes by: whose is it? From now on it is a replay.
pub(super) fn deliver(session: Session, id: &RequestId) -> Known {
    let until = Instant::now() + PATIENCE;
    let (known, forgotten) = with(|list| {
        let key = key(session, id);
        let Some(entry) = list.calls.get_mut(&key) else { return (Known::Nothing, [None, None]) };
        let call = match &entry.state {
            State::Delivered(call) => return (Known::Delivered(call.clone()), [None, None]),
            State::Working(call, _) => call.clone(),
            State::Waiting(waiting) => waiting.call().clone(),
        };
        entry.until = Some(until);
        let known = match std::mem::replace(&mut entry.state, State::Delivered(call.clone())) {
            State::Waiting(waiting) => Known::Open { call, _waiting: Some(waiting) },
            State::Working(..) | State::Delivered(_) => Known::Open { call, _waiting: None },
        };
        list.delivered.push_back((until, key));
        (known, list.forget_excess())
    });
    drop(forgotten);
    SWEEPER.notice();
    known
}

/// The client does not want the answer of a request any more.
pub(super) fn cancel(session: Session, id: &RequestId) {
    let found = with(|list| match &list.calls.get(&key(session, id))?.state {
        State::Working(call, exchange) => Some((call.clone(), exchange.upgrade())),
        State::Waiting(waiting) => Some((waiting.call().clone(), None)),
        State::Delivered(_) => None,
    });
    if let Some((call, exchange)) = found {
        leave(&call, Verdict::cancelled());
        if let Some(exchange) = exchange {
            exchange.cancel(&call);
        }
    }
}

/// A session has ended: nothing will come any more of what is not answered.
pub(super) fn end_session(session: Session) {
    let (_client, ended): (_, Vec<Entry>) = with(|list| {
        let keys: Vec<Key> = list
            .calls
            .iter()
            .filter(|((of, _), entry)| {
                *of == session.bits() && !matches!(entry.state, State::Delivered(_))
            })
            .map(|(key, _)| key.clone())
            .collect();
        let ended = keys.iter().filter_map(|key| list.calls.remove(key)).collect();
        (list.clients.remove(&session.bits()), ended)
    });
    for entry in ended {
        let (call, exchange) = match &entry.state {
            State::Working(call, exchange) => (call, exchange.upgrade()),
            State::Waiting(waiting) => (waiting.call(), None),
            State::Delivered(_) => continue,
        };
        leave(call, Verdict::abandoned(Some(Reason::SessionEnded)));
        if let Some(exchange) = exchange {
            exchange.cancel(call);
        }
    }
}

/// Closes the call of a client that does not wait any more.
pub(super) fn leave(call: &Call, verdict: Verdict) {
    call.leave(verdict);
    call.close(|| Verdict::abandoned(None));
}

impl List {
    /// Forgets whoever was to be forgotten first, where there are too many. What it gives back is
    /// to be dropped outside of the lock: it may end a call.
    fn forget_excess(&mut self) -> [Option<Entry>; 2] {
        let excess =
            |order: &mut Order| (order.len() > MAX_REMEMBERED).then(|| order.pop_front()).flatten();
        let excess = [excess(&mut self.waiting), excess(&mut self.delivered)];
        excess.map(|due| due.and_then(|(until, key)| self.forget(until, &key)))
    }

    /// When somebody is to be forgotten next.
    fn next_due(&self) -> Option<Instant> {
        let first = |order: &Order| order.front().map(|(until, _)| *until);
        match (first(&self.waiting), first(&self.delivered)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Forgets one that is due at `now`; `None` if nobody is.
    fn forget_due(&mut self, now: Instant) -> Option<Option<Entry>> {
        let is_due = |order: &Order| order.front().is_some_and(|(until, _)| *until <= now);
        let order = if is_due(&self.waiting) {
            &mut self.waiting
        } else if is_due(&self.delivered) {
            &mut self.delivered
        } else {
            return None;
        };
        let (until, key) = order.pop_front()?;
        Some(self.forget(until, &key))
    }

    fn forget(&mut self, until: Instant, key: &Key) -> Option<Entry> {
        // One that was remembered anew meanwhile has a later time.
        let is_due = self.calls.get(key).is_some_and(|entry| entry.until == Some(until));
        if is_due { self.calls.remove(key) } else { None }
    }
}

/// Forgets who is due, one by one: what is dropped may end a call, outside of the lock.
fn forget_due(now: Instant) {
    while let Some(entry) = with(|list| list.forget_due(now)) {
        drop(entry);
    }
}

fn key(session: Session, id: &RequestId) -> Key {
    (session.bits(), id.clone())
}

fn with<T>(work: impl FnOnce(&mut List) -> T) -> T {
    let mut list: MutexGuard<'_, Option<List>> =
        OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    work(list.get_or_insert_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        binding::http::{
            duty::Duty,
            request::{Contents, Sort},
        },
        policy::Policy,
    };

    #[test]
    fn a_call_is_in_the_list_no_longer_than_its_exchange() {
        let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
        let (parts, ()) = http::Request::post("/mcp")
            .header("mcp-session-id", "listed")
            .body(())
            .unwrap()
            .into_parts();
        let session = Session::from_id(b"listed");
        let is_listed =
            || with(|list| list.calls.contains_key(&key(session, &RequestId::Number(7))));
        let begin = || {
            let contents = Contents::of(&bytes::Bytes::from(text).into(), true, &parts.headers);
            let exchange = Arc::new(Exchange::new(Sort::Messages, &parts, contents));
            let policy = Some(Policy::default_shared());
            Duty { policy, ..Duty::default() }.begin(exchange, true)
        };
        let mut begun = begin();
        assert!(is_listed());
        begun.desk.decide_rest(|_| Verdict::completed());
        assert!(!is_listed(), "it was decided");
        let begun = begin();
        assert!(is_listed());
        drop(begun);
        assert!(!is_listed(), "nobody works on it any more");
    }
}
