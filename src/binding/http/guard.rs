//! What containment puts round everything that it polls.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use crate::{contain::Fault, log::ToolSpan, outcome::Cause, timer::Timer, unwind};

/// Catches panics where its layer contains, keeps the tool's span, and watches the time.
#[derive(Default)]
pub(super) struct Guard {
    pub(super) contains: bool,
    pub(super) span: Option<ToolSpan>,
    deadline: Option<Deadline>,
}

struct Deadline {
    at: Instant,
    after: Duration,
    /// Made at the first pending poll: most calls never need the timer.
    timer: Option<Timer>,
}

impl Guard {
    pub(super) fn new(contains: bool) -> Self {
        Self { contains, ..Self::default() }
    }

    /// Sets when there has to be an answer, counted from now on.
    pub(super) fn set_deadline(&mut self, after: Option<Duration>) {
        self.deadline = after.and_then(|after| {
            // One past what the clock can tell is none.
            let at = Instant::now().checked_add(after)?;
            Some(Deadline { at, after, timer: None })
        });
    }

    /// Runs `work`, whose panic is caught if anything is.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Cause> {
        let work = || match &self.span {
            Some(span) => span.within(work),
            None => work(),
        };
        if self.contains { unwind::catch(work) } else { Ok(work()) }
    }

    /// Runs a destructor, and gives its panic where its layer contains.
    pub(super) fn drop(&self, work: impl FnOnce()) -> Option<Cause> {
        if self.contains {
            return unwind::catch(work).err();
        }
        work();
        None
    }

    /// What there is to say where the time is up.
    pub(super) fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Option<Fault> {
        let deadline = self.deadline.as_mut()?;
        let at = deadline.at;
        let timer = deadline.timer.get_or_insert_with(|| Timer::until(at));
        match Pin::new(timer).poll(cx) {
            Poll::Ready(()) => Some(Fault::deadline(deadline.after)),
            Poll::Pending => None,
        }
    }
}
