//! What containment puts round everything that it polls.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::answer::Desk;
use crate::{
    call::Reach,
    contain::Fault,
    log::ToolSpan,
    outcome::{Cause, Code},
    timer::Deadline,
    unwind,
};

/// Catches panics where its layer contains, keeps the call in scope and the tool's span, and
/// watches the time.
#[derive(Default)]
pub(super) struct Guard {
    pub(super) contains: bool,
    pub(super) span: Option<ToolSpan>,
    /// What a tool that runs right here finds as its call, and leaves its causes with.
    pub(super) reach: Reach,
    deadline: Option<Deadline>,
    pub(super) aborts: bool,
}

/// Why something is not waited for any longer.
pub(super) enum Interrupt {
    /// The time is up.
    Late(Fault),
    /// Nobody waits for it.
    Unwanted(Fault),
}

impl Guard {
    pub(super) fn new(contains: bool) -> Self {
        Self { contains, ..Self::default() }
    }

    /// Sets when there has to be an answer, counted from now on.
    pub(super) fn set_deadline(&mut self, after: Option<Duration>) {
        self.deadline = after.and_then(Deadline::after);
    }

    /// Runs `work`, whose panic is caught if anything is.
    pub(super) fn run<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, Cause> {
        let span = self.span.as_ref();
        let work = || match span {
            Some(span) => span.within(work),
            None => work(),
        };
        let work = || self.reach.within(work);
        if self.contains { unwind::catch(work) } else { Ok(work()) }
    }

    /// Runs a destructor, and gives its panic where its layer contains.
    pub(super) fn drop(&mut self, work: impl FnOnce()) -> Option<Cause> {
        let work = || self.reach.within(work);
        if self.contains {
            return unwind::catch(work).err();
        }
        work();
        None
    }

    /// What cuts short what is pending.
    pub(super) fn poll_pending(
        &mut self,
        desk: &mut Desk,
        cx: &mut Context<'_>,
    ) -> Option<Interrupt> {
        if self.aborts {
            desk.exchange.wake_by(cx.waker());
            if desk.is_unwanted() {
                let cause = Cause::new("cancelled", "the client does not want the answer any more");
                let fault = Fault::new(Code::INTERNAL_ERROR, None, cause);
                return Some(Interrupt::Unwanted(fault));
            }
        }
        desk.seats.poll_hold(cx);
        let deadline = self.deadline.as_mut().filter(|_| desk.owes())?;
        match Pin::new(deadline).poll(cx) {
            Poll::Ready(after) => Some(Interrupt::Late(Fault::deadline(after))),
            Poll::Pending => None,
        }
    }
}
