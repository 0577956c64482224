//! Tasks whose end has yet to be seen, by their ids.
//!
//! A tool call that is answered with a task has ended; what becomes of the task is seen later, in
//! the answer to another request, on whatever connection. There is one list for the process: rmcp
//! makes the layers anew for each session, and an HTTP route may have layers of its own. Tasks of
//! several servers in one process are told apart by the route that their layers name.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use super::{
    Call, Verdict,
    task::{CreatedTask, TaskForm},
};
use crate::{outcome::Reason, sweep::Sweeper, text};

/// How long a task is remembered that does not say.
const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// How much longer: whoever waits for a server's own end of the time asks for it after that. Less of
/// a shorter one.
const GRACE: Duration = Duration::from_secs(60);
/// A bound that every clock can count to.
const MAX_TTL: Duration = Duration::from_secs(365 * 24 * 3600);
/// Tasks that are remembered until their end is seen, and those since then: each takes a kilobyte or
/// two, more where it has a long id. Of more than that those are forgotten whose time is up first.
const MAX_REMEMBERED: usize = 8192;

static TASKS: Mutex<Option<List>> = Mutex::new(None);
static SWEEPER: Sweeper = Sweeper::new(|| with(|list| list.next_due()), forget_due);

#[derive(Default)]
struct List {
    tasks: HashMap<u64, Entry>,
    /// Which are to be forgotten when. Apart, so that those whose end was seen do not displace
    /// others.
    open: BTreeSet<(Instant, u64)>,
    over: BTreeSet<(Instant, u64)>,
}

struct Entry {
    /// The task's own, with the id of the call that it was created by.
    call: Call,
    form: Option<TaskForm>,
    ttl: Duration,
    due: Instant,
    /// Whether it is known to have failed.
    has_failed: bool,
    /// Whether the text of that was withheld.
    is_withheld: bool,
    state: State,
}

enum State {
    Open {
        /// What it ended in if nobody asks for more.
        noted: Option<(Verdict, Instant)>,
        is_cancelled: bool,
    },
    /// Nobody has asked for it in time.
    Forgotten,
    /// Its end was told. Remembered, since it may be asked for again.
    Ended {
        /// What it is, where nobody had heard of the task: its creation may yet be on its way.
        early: Option<(Verdict, Instant)>,
    },
}

/// What is known of a task that an answer tells of.
#[derive(Debug)]
pub(crate) struct Remembered {
    key: u64,
    /// The task's own: what it ends in is judged, and logged, as the end of that call.
    pub(crate) call: Call,
    is_known: bool,
    /// How it was created, where that was seen.
    pub(crate) form: Option<TaskForm>,
    /// Whether it is known to have failed.
    pub(crate) has_failed: bool,
    /// Whether the text of that was withheld.
    pub(crate) is_withheld: bool,
    /// Whether its client has asked for it to be stopped.
    pub(crate) is_cancelled: bool,
}

/// A call has ended as a task.
pub(super) fn remember(call: Call, task: &CreatedTask) {
    call.set_asked_task(&task.id);
    let ttl = with_grace(task.ttl.unwrap_or(DEFAULT_TTL));
    let state = State::Open { noted: None, is_cancelled: false };
    let due = Instant::now() + ttl;
    let key = key(&call, &task.id);
    let entry = Entry {
        form: Some(task.form),
        ttl,
        due,
        has_failed: false,
        is_withheld: false,
        state,
        call,
    };
    let displaced = with(|list| list.remember(key, entry));
    displaced.into_iter().flatten().for_each(Forgotten::tell);
    SWEEPER.notice();
}

/// What is known of the task `id` that the answer to `asking` tells of.
pub(crate) fn find(asking: &Call, id: &str) -> Remembered {
    let key = key(asking, id);
    let known = with(|list| {
        let entry = list.tasks.get(&key)?;
        Some(Remembered {
            key,
            call: entry.call.clone(),
            is_known: true,
            form: entry.form,
            has_failed: entry.has_failed,
            is_withheld: entry.is_withheld,
            is_cancelled: matches!(entry.state, State::Open { is_cancelled: true, .. }),
        })
    });
    known.unwrap_or_else(|| Remembered {
        key,
        call: asking.of_unknown_task(id),
        is_known: false,
        form: None,
        has_failed: false,
        is_withheld: false,
        is_cancelled: false,
    })
}

impl State {
    fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

impl Remembered {
    /// It is remembered for this long, counted from its creation.
    pub(crate) fn renew(&self, ttl: Duration) {
        with(|list| list.renew(self.key, with_grace(ttl)));
        SWEEPER.notice();
    }

    /// Its client has asked for it to be stopped.
    pub(crate) fn cancel(&self) {
        with(|list| {
            if let Some(Entry { state: State::Open { is_cancelled, .. }, .. }) =
                list.tasks.get_mut(&self.key)
            {
                *is_cancelled = true;
            }
        });
    }

    /// It has ended; what in, is for others to say, and this if nobody does.
    pub(crate) fn note(&self, verdict: Verdict, is_withheld: bool) {
        with(|list| {
            if let Some(entry) = list.tasks.get_mut(&self.key)
                && entry.call.id() == self.call.id()
                && let State::Open { noted: noted @ None, .. } = &mut entry.state
            {
                entry.has_failed = verdict.outcome.is_failure();
                entry.is_withheld = is_withheld;
                *noted = Some((verdict, Instant::now()));
            }
        });
    }

    /// It has ended in this. Told once, whoever sees it first.
    pub(crate) fn end(self, verdict: Verdict, is_withheld: bool) {
        let (has_failed, early) = (verdict.outcome.is_failure(), verdict.clone());
        let (told, displaced) = with(|list| list.end(&self, early, is_withheld));
        match told {
            Told::Never(call) => call.finish_task(verdict, Instant::now()),
            // There was a terminal event that did not know of this, or there is none.
            Told::Forgotten(call) if has_failed && !call.is_reported() => call.report(verdict),
            Told::Nobody if has_failed && (verdict.has_cause() || !self.call.is_unheard()) => {
                self.call.report(verdict);
            }
            Told::Nobody | Told::Forgotten(_) | Told::Before => {}
        }
        drop(displaced);
        SWEEPER.notice();
    }
}

fn with_grace(ttl: Duration) -> Duration {
    let ttl = ttl.min(MAX_TTL);
    ttl + ttl.min(GRACE)
}

/// What was told so far of a task that has ended.
enum Told {
    Never(Call),
    /// That nobody has asked for it.
    Forgotten(Call),
    Before,
    /// Nobody knows since when it runs, or as which tool.
    Nobody,
}

/// A task whose time is up, to be told of outside of the lock: others' code runs.
struct Forgotten {
    call: Call,
    end: Option<(Verdict, Instant)>,
}

impl Forgotten {
    fn tell(self) {
        if let Some((verdict, at)) = self.end {
            self.call.finish_task(verdict, at);
        }
    }
}

impl List {
    fn remember(&mut self, key: u64, entry: Entry) -> [Option<Forgotten>; 3] {
        if let Some(told) = self.end_early(key, &entry) {
            return [Some(told), None, None];
        }
        let replaced = self.forget(key, false);
        self.put(key, entry);
        [replaced, self.forget_excess(true), self.forget_excess(false)]
    }

    /// Its end has come on another connection before it was known that it was created, but after the
    /// call for it began.
    fn end_early(&mut self, key: u64, created: &Entry) -> Option<Forgotten> {
        let known = self.tasks.get_mut(&key)?;
        let State::Ended { early } = &mut known.state else { return None };
        let (verdict, at) = early.take().filter(|(_, at)| *at >= created.call.0.started)?;
        known.call = created.call.clone();
        known.form = created.form;
        Some(Forgotten { call: created.call.clone(), end: Some((verdict, at)) })
    }

    fn put(&mut self, key: u64, entry: Entry) {
        self.order(&entry.state).insert((entry.due, key));
        self.tasks.insert(key, entry);
    }

    fn take(&mut self, key: u64) -> Option<Entry> {
        let entry = self.tasks.remove(&key)?;
        self.order(&entry.state).remove(&(entry.due, key));
        Some(entry)
    }

    /// Its time is up. Where it `may_come`, in an answer to somebody who asks late, it is remembered
    /// that it is over.
    fn forget(&mut self, key: u64, may_come: bool) -> Option<Forgotten> {
        let entry = self.take(key)?;
        let call = entry.call.clone();
        let State::Open { noted, .. } = entry.state else {
            return Some(Forgotten { call, end: None });
        };
        let now = Instant::now();
        let state = if noted.is_some() { State::Ended { early: None } } else { State::Forgotten };
        let end = noted.unwrap_or_else(|| (Verdict::abandoned(Some(Reason::Forgotten)), now));
        if may_come {
            self.put(key, Entry { state, due: now + entry.ttl, ..entry });
        }
        Some(Forgotten { call, end: Some(end) })
    }

    /// One of those that are too many, open or over: the one whose time is up first.
    fn forget_excess(&mut self, is_open: bool) -> Option<Forgotten> {
        let order = if is_open { &self.open } else { &self.over };
        let first = order.first().filter(|_| order.len() > MAX_REMEMBERED);
        let key = first.map(|(_, key)| *key)?;
        self.forget(key, true)
    }

    fn renew(&mut self, key: u64, ttl: Duration) {
        if self.tasks.get(&key).is_none_or(|entry| entry.ttl == ttl) {
            return;
        }
        let Some(mut entry) = self.take(key) else { return };
        if let Some(due) = entry.due.checked_sub(entry.ttl) {
            entry.due = due + ttl;
            entry.ttl = ttl;
        }
        self.put(key, entry);
    }

    /// It has ended. Gives what was told of it before.
    fn end(
        &mut self,
        task: &Remembered,
        verdict: Verdict,
        is_withheld: bool,
    ) -> (Told, [Option<Forgotten>; 2]) {
        let key = task.key;
        let mut ended = Entry {
            call: task.call.clone(),
            form: task.form,
            ttl: DEFAULT_TTL,
            due: Instant::now() + DEFAULT_TTL,
            has_failed: verdict.outcome.is_failure(),
            is_withheld,
            state: State::Ended { early: None },
        };
        let told = match self.tasks.get(&key) {
            None => {
                ended.state = State::Ended { early: Some((verdict, Instant::now())) };
                Told::Nobody
            }
            // It is the end of an earlier one, whose place it has taken.
            Some(entry) if task.is_known && entry.call.id() != task.call.id() => {
                return (Told::Before, [None, None]);
            }
            Some(entry) => {
                // As long again as it was remembered before: servers let clients ask meanwhile.
                ended.ttl = entry.ttl;
                ended.due = Instant::now() + entry.ttl;
                ended.call = entry.call.clone();
                match entry.state {
                    State::Ended { .. } => return (Told::Before, [None, None]),
                    State::Forgotten => Told::Forgotten(entry.call.clone()),
                    State::Open { .. } => Told::Never(entry.call.clone()),
                }
            }
        };
        let earlier = self.take(key).map(|entry| Forgotten { call: entry.call, end: None });
        self.put(key, ended);
        (told, [earlier, self.forget_excess(false)])
    }

    fn order(&mut self, state: &State) -> &mut BTreeSet<(Instant, u64)> {
        if state.is_open() { &mut self.open } else { &mut self.over }
    }

    fn next_due(&self) -> Option<Instant> {
        let first = |order: &BTreeSet<(Instant, u64)>| order.first().map(|(due, _)| *due);
        first(&self.open).into_iter().chain(first(&self.over)).min()
    }

    fn forget_due(&mut self, now: Instant) -> Option<[Option<Forgotten>; 2]> {
        let firsts = [self.open.first(), self.over.first()];
        let key = firsts.into_iter().flatten().find(|(due, _)| *due <= now).map(|(_, key)| *key)?;
        Some([self.forget(key, true), self.forget_excess(false)])
    }
}

/// Forgets who is due, one by one.
fn forget_due(now: Instant) {
    while let Some(forgotten) = with(|list| list.forget_due(now)) {
        forgotten.into_iter().flatten().for_each(Forgotten::tell);
    }
}

/// A hash: an id may be long, and a peer chooses it.
fn key(call: &Call, id: &str) -> u64 {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    let id = text::prefix(id, text::RAW_NAME_CHARS);
    let route = call.origin().route.clone();
    HASHER.get_or_init(RandomState::new).hash_one((route, id))
}

fn with<T>(work: impl FnOnce(&mut List) -> T) -> T {
    let mut list = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    work(list.get_or_insert_default())
}
