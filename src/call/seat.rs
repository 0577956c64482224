//! The right to be waited for.

use std::sync::atomic::Ordering;

use crate::{
    call::{Call, Verdict},
    outcome::{Actor, Code},
};

/// Held by a layer, or by a binding, for as long as it works on a call: see [`Call::sit`]. The last one
/// that is given up closes the call: with the verdict, or, where there is none, as abandoned; as a
/// panic where the thread unwinds.
#[derive(Debug)]
#[must_use = "a seat that is dropped is given up"]
pub struct Seat {
    call: Call,
}

impl Seat {
    pub(super) fn new(call: Call) -> Self {
        Self { call }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.call
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.call.0.seats.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.call.close_unless_waited_for(|| {
                if std::thread::panicking() {
                    Verdict::fault(Code::PANIC, Actor::Operator, None)
                } else {
                    self.call.verdict_of_dropped()
                }
            });
        }
    }
}

/// Keeps a call open that nobody works on any more, as its end may come on another connection. It
/// gives way to the verdict: whoever decides closes the call.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Waiting {
    call: Call,
}

#[cfg(feature = "http")]
impl Waiting {
    pub(super) fn new(call: Call) -> Self {
        Self { call }
    }

    pub(crate) fn call(&self) -> &Call {
        &self.call
    }
}

#[cfg(feature = "http")]
impl Drop for Waiting {
    fn drop(&mut self) {
        self.call.wait_no_more();
    }
}
