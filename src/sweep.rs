//! Forgets in time what a list remembers, as long as it remembers anything.

use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Instant,
};

use tokio::runtime::{Handle, Id};

use crate::timer::Timer;

/// Forgets the entries of one list when they are due. There is no thread, and, while the list is
/// empty, no task for it.
pub(crate) struct Sweeper {
    /// When the next entry of the list is due.
    next_due: fn() -> Option<Instant>,
    /// Forgets all that are due by then.
    forget_due: fn(Instant),
    /// One for each runtime in which something was remembered lately: none of them need be there, or
    /// be driven, when it is due.
    tasks: Mutex<Vec<Task>>,
}

/// A task that sleeps until something is due.
struct Task {
    runtime: Id,
    /// Until when, and who is to be woken if something is due earlier.
    sleeps: Option<(Instant, Waker)>,
}

impl Sweeper {
    pub(crate) const fn new(next_due: fn() -> Option<Instant>, forget_due: fn(Instant)) -> Self {
        Self { next_due, forget_due, tasks: Mutex::new(Vec::new()) }
    }

    /// To be called when something is remembered, and not under the list's lock.
    pub(crate) fn notice(&'static self) {
        let Some(due) = (self.next_due)() else { return };
        let now = Instant::now();
        if due <= now {
            (self.forget_due)(now);
        }
        // Without a runtime the next one that comes by has it done.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut tasks = self.tasks();
        let Some(task) = tasks.iter_mut().find(|task| task.runtime == runtime.id()) else {
            tasks.push(Task { runtime: runtime.id(), sleeps: None });
            drop(tasks);
            runtime.spawn(Sweep {
                sweeper: self,
                runtime: runtime.id(),
                timer: None,
                is_over: false,
            });
            return;
        };
        let is_earlier = task.sleeps.as_ref().is_some_and(|(until, _)| due < *until);
        let sleeps = if is_earlier { task.sleeps.take() } else { None };
        drop(tasks);
        if let Some((_, waker)) = sleeps {
            waker.wake();
        }
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Sweep {
    sweeper: &'static Sweeper,
    runtime: Id,
    timer: Option<(Instant, Timer)>,
    /// It is none of the tasks any more, or must stay one so that no other begins.
    is_over: bool,
}

impl Sweep {
    /// Until when to sleep; `None` ends the task. What is remembered from then on wakes it, or
    /// begins another one.
    fn next(&mut self, waker: &Waker) -> Option<Instant> {
        let mut tasks = self.sweeper.tasks();
        let due = (self.sweeper.next_due)();
        let at = tasks.iter().position(|task| task.runtime == self.runtime);
        let earlier = match (due, at.and_then(|at| tasks.get_mut(at))) {
            (Some(due), Some(task)) => task.sleeps.replace((due, waker.clone())),
            _ => at.and_then(|at| tasks.swap_remove(at).sleeps),
        };
        drop(tasks);
        self.is_over = due.is_none();
        // A waker's destructor is somebody else's code.
        drop(earlier);
        due.filter(|_| at.is_some())
    }
}

impl Future for Sweep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(due) = self.next(cx.waker()) {
            let timer = match &mut self.timer {
                Some((until, timer)) if *until == due => timer,
                timer => &mut timer.insert((due, Timer::until(due))).1,
            };
            if !timer.can_wait() {
                // It is for other runtimes.
                self.is_over = true;
                break;
            }
            ready!(Pin::new(timer).poll(cx));
            self.timer = None;
            // As of when they were due: a runtime's clock may be ahead of the machine's.
            (self.sweeper.forget_due)(due);
        }
        Poll::Ready(())
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut tasks = self.sweeper.tasks();
        let at = tasks.iter().position(|task| task.runtime == self.runtime);
        let task = at.map(|at| tasks.swap_remove(at));
        drop(tasks);
        drop(task);
    }
}
