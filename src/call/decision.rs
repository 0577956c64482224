//! How a call ended, as those say who see it, and what they know beside that.

use std::{task::Waker, time::Instant};

use super::{Call, Verdict};
use crate::outcome::Outcome;

impl Call {
    /// Decides how the call ended. The first to say so is right, except that a failure overrules
    /// an end that is none; who says later why, or what the client was told, adds to it. Once the
    /// call is closed, only a cause is still logged: with what its task ends in, or as `tool_failed`.
    pub fn decide(&self, verdict: Verdict) {
        let mut state = self.state();
        if state.closed {
            let task = state.background.clone();
            drop(state);
            match task.filter(|_| verdict.has_cause()) {
                Some(task) => task.deposit(verdict),
                None if verdict.has_cause() => self.report(verdict),
                None => {}
            }
            return;
        }
        match &mut state.verdict {
            Some((earlier, _)) if !earlier.is_overruled_by(&verdict) => {
                earlier.complete_with(verdict);
            }
            decided => *decided = Some((verdict, Instant::now())),
        }
        let is_waited_for = state.waiting > 0;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if is_waited_for && self.is_idle() {
            self.close(|| Verdict::abandoned(None));
        }
    }

    /// Decides that nobody waits for the answer any more, whatever the tool made of that: a tool
    /// that fails because it was cancelled was cancelled. Its cause is logged beside the end.
    pub(crate) fn leave(&self, verdict: Verdict) {
        let displaced = {
            let mut state = self.state();
            if state.closed {
                return;
            }
            let (earlier, at) = match state.verdict.take() {
                Some((earlier, at)) => (Some(earlier), at),
                None => (None, Instant::now()),
            };
            state.verdict = Some((verdict, at));
            // That a deadline passed meanwhile tells nothing.
            let earlier = earlier.filter(|earlier| earlier.has_cause() && !earlier.is_deadline());
            earlier.and_then(|earlier| state.deposit.replace(Box::new(earlier)))
        };
        if let Some(displaced) = displaced {
            self.report(*displaced);
        }
    }

    /// Logs at once, as `tool_failed`, a failure that no terminal event tells of.
    pub fn report(&self, verdict: Verdict) {
        let sinks = {
            let mut state = self.state();
            state.is_reported = true;
            state.sinks.clone()
        };
        sinks.lost(self.record_of_lost(verdict, self.origin()));
    }

    /// Whether the verdict is that it failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().verdict.as_ref().is_some_and(|(verdict, _)| verdict.outcome.is_failure())
    }

    /// Whether the verdict is that nobody waits any more.
    pub(crate) fn is_left(&self) -> bool {
        let left = [Outcome::Cancelled, Outcome::Abandoned];
        self.state().verdict.as_ref().is_some_and(|(verdict, _)| left.contains(&verdict.outcome))
    }

    /// When the verdict was reached; where it was not yet, `waker` is woken once it is.
    pub(super) fn decided_at(&self, waker: &Waker) -> Option<Instant> {
        let mut state = self.state();
        if let Some((_, at)) = &state.verdict {
            return Some(*at);
        }
        if state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            return None;
        }
        let earlier = state.waker.replace(waker.clone());
        drop(state);
        // Its destructor is somebody else's code.
        drop(earlier);
        None
    }

    /// Whether there is a verdict.
    #[cfg(feature = "http")]
    pub(crate) fn is_decided(&self) -> bool {
        self.state().verdict.is_some()
    }

    /// Leaves with the call what the client is not told about a failure that is about to be its
    /// answer. After the terminal event it is logged with what the call's task ends in, or, where there
    /// is none, at once, as `tool_failed`.
    pub fn deposit(&self, failure: Verdict) {
        let lost = {
            let mut state = self.state();
            if state.closed {
                if let Some(task) = state.background.clone() {
                    drop(state);
                    return task.deposit(failure);
                }
                Some(failure)
            } else {
                let earlier = state.deposit.replace(Box::new(failure));
                // Of several works in the background each may fail; a tool got over what it met before.
                earlier.filter(|_| state.is_background).map(|earlier| *earlier)
            }
        };
        if let Some(lost) = lost {
            self.report(lost);
        }
    }
}
