//! The right to be waited for.

use std::sync::atomic::Ordering;

use crate::{
    call::{Call, Verdict},
    outcome::{Actor, Code},
};

/// Held by a layer for as long as it works on a call. The last one that is given up closes the
/// call: with the verdict, or, where there is none, as abandoned; as a panic where the thread
/// unwinds.
#[derive(Debug)]
pub(crate) struct Seat {
    call: Call,
}

impl Seat {
    pub(super) fn new(call: Call) -> Self {
        Self { call }
    }

    pub(crate) fn call(&self) -> &Call {
        &self.call
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.call.0.seats.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.call.close(|| {
                if std::thread::panicking() {
                    Verdict::fault(Code::PANIC, Actor::Operator, None)
                } else {
                    Verdict::abandoned(None)
                }
            });
        }
    }
}
