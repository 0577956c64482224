//! Forgets in time what a list remembers, as long as it remembers anything.

use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Instant,
};

use crate::timer::Timer;

/// Forgets the entries of one list when they are due. There is no thread and, while the list is
/// empty, no task for it.
pub(crate) struct Sweeper {
    /// When the next entry of the list is due.
    next_due: fn() -> Option<Instant>,
    /// Forgets all that are due by then.
    forget_due: fn(Instant),
    state: Mutex<State>,
}

struct State {
    is_running: bool,
    /// What the task sleeps until, and who is to be woken if something is due earlier.
    until: Option<Instant>,
    waker: Option<Waker>,
}

impl Sweeper {
    pub(crate) const fn new(next_due: fn() -> Option<Instant>, forget_due: fn(Instant)) -> Self {
        let state = Mutex::new(State { is_running: false, until: None, waker: None });
        Self { next_due, forget_due, state }
    }

    /// To be called when something is remembered, and not under the list's lock.
    pub(crate) fn notice(&'static self) {
        let Some(due) = (self.next_due)() else { return };
        let mut state = self.state();
        if state.is_running {
            let is_earlier = state.until.is_some_and(|until| due < until);
            let waker = if is_earlier { state.waker.take() } else { None };
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
            return;
        }
        state.is_running = true;
        drop(state);
        let sweep = Sweep { sweeper: self, timer: None };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(sweep)),
            // The next one has it done.
            Err(_) => {
                drop(sweep);
                (self.forget_due)(Instant::now());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that forgets. Where its runtime is shut down, another one takes over.
struct Sweep {
    sweeper: &'static Sweeper,
    timer: Option<(Instant, Timer)>,
}

impl Future for Sweep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let sweeper = self.sweeper;
        loop {
            let earlier = {
                let mut state = sweeper.state();
                // Before the list is looked at: what is remembered from now on wakes us.
                let earlier = state.waker.replace(cx.waker().clone());
                state.until = (sweeper.next_due)();
                state.is_running = state.until.is_some();
                (earlier, state.until)
            };
            // A waker's destructor is somebody else's code.
            let (_waker, due) = earlier;
            let Some(due) = due else { return Poll::Ready(()) };
            let timer = match &mut self.timer {
                Some((until, timer)) if *until == due => timer,
                timer => &mut timer.insert((due, Timer::until(due))).1,
            };
            ready!(Pin::new(timer).poll(cx));
            self.timer = None;
            // As of when they were due, which a runtime without a timer does not wait for.
            (sweeper.forget_due)(due);
        }
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        let waker = {
            let mut state = self.sweeper.state();
            state.is_running = false;
            state.until = None;
            state.waker.take()
        };
        drop(waker);
    }
}
