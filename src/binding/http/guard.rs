//! What containment puts round everything that it polls.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use super::answer::Desk;
use crate::{
    call::{Call, VERDICT_HOLD, Verdict},
    contain::Fault,
    log::ToolSpan,
    outcome::{Cause, Code},
    timer::Timer,
    unwind,
};

/// Catches panics where its layer contains, keeps the tool's span, and watches the time.
#[derive(Default)]
pub(super) struct Guard {
    pub(super) contains: bool,
    pub(super) span: Option<ToolSpan>,
    deadline: Option<Deadline>,
    /// Runs while a verdict from further in has not come out as an answer.
    hold: Option<Timer>,
    pub(super) aborts: bool,
}

/// Why something is not waited for any longer.
pub(super) enum Interrupt {
    /// The time is up.
    Late(Fault),
    /// Nobody waits for it.
    Unwanted(Fault),
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

    /// Logs the verdict of a call that was decided further in, where its answer does not come out
    /// for long.
    fn poll_hold(&mut self, call: Option<&Call>, cx: &mut Context<'_>) {
        let Some((call, (at, _))) = call.and_then(|call| Some((call, call.decided()?))) else {
            return;
        };
        let hold = self.hold.get_or_insert_with(|| Timer::until(at + VERDICT_HOLD));
        if Pin::new(hold).poll(cx).is_ready() {
            self.hold = None;
            call.close(|| Verdict::abandoned(None));
        }
    }

    /// What cuts short what is pending.
    pub(super) fn poll_pending(&mut self, desk: &Desk, cx: &mut Context<'_>) -> Option<Interrupt> {
        if self.aborts {
            desk.exchange.wake_by(cx.waker());
            if desk.is_unwanted() {
                let cause = Cause::new("cancelled", "the client does not want the answer any more");
                let fault = Fault::new(Code::INTERNAL_ERROR, None, cause);
                return Some(Interrupt::Unwanted(fault));
            }
        }
        self.poll_hold(desk.seats.calls().next(), cx);
        if self.deadline.is_some() && desk.owes() {
            return self.poll_deadline(cx).map(Interrupt::Late);
        }
        None
    }

    /// What there is to say where the time is up.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Option<Fault> {
        let deadline = self.deadline.as_mut()?;
        let at = deadline.at;
        let timer = deadline.timer.get_or_insert_with(|| Timer::until(at));
        match Pin::new(timer).poll(cx) {
            Poll::Ready(()) => Some(Fault::deadline(deadline.after)),
            Poll::Pending => None,
        }
    }
}
