//! The seats of a layer on the calls of one HTTP request.

use std::{sync::Arc, task::Context};

use super::{exchange::Exchange, request::Message};
use crate::{
    call::{Call, Hold, Seat, Sink, Verdict},
    log::Logging,
    policy::Policy,
};

/// A seat for each message; there is nearly always one.
#[derive(Default)]
pub(super) struct Seats {
    first: Slot,
    more: Vec<Slot>,
    /// What a call that begins late is introduced to.
    logging: Option<Arc<Logging>>,
    policy: Option<Arc<Policy>>,
}

/// What a layer has to do with one message.
#[derive(Default)]
struct Slot {
    seat: Option<Seat>,
    hold: Hold,
    /// The layer has seen its end.
    is_done: bool,
}

impl Seats {
    /// None so far.
    pub(super) fn new(logging: Option<Arc<Logging>>, policy: Option<Arc<Policy>>) -> Self {
        Self { logging, policy, ..Self::default() }
    }

    /// Tells the calls of the layer, and, where `sits`, takes the seats.
    pub(super) fn take(&mut self, exchange: &Exchange, sits: bool) {
        if let Some(call) = exchange.http_call() {
            self.introduce(call);
        }
        for (at, message) in exchange.messages().iter().enumerate() {
            self.introduce(&message.call);
            if sits {
                self.slot(at).seat = Some(message.call.clone().sit());
            }
        }
    }

    /// Whether the layer logs.
    pub(super) fn logs(&self) -> bool {
        self.logging.is_some()
    }

    /// Tells a call of the layer.
    pub(super) fn introduce(&self, call: &Call) {
        if let Some(logging) = &self.logging {
            call.add_sink(Arc::clone(logging) as Arc<dyn Sink>);
        }
        if let Some(policy) = &self.policy {
            call.set_policy(policy);
        }
    }

    /// The layer's own policy, or the default one.
    pub(super) fn policy(&self) -> Arc<Policy> {
        self.policy.clone().unwrap_or_else(Policy::default_shared)
    }

    /// Whether there is no seat on the message's call.
    pub(super) fn is_empty(&self, at: usize) -> bool {
        self.get(at).is_none_or(|slot| slot.seat.is_none())
    }

    /// Whether the layer has seen how the message ended.
    pub(super) fn is_done(&self, at: usize) -> bool {
        self.get(at).is_some_and(|slot| slot.is_done)
    }

    pub(super) fn set_done(&mut self, at: usize) {
        self.slot(at).is_done = true;
    }

    /// The message's call, on which a seat is taken now if there is none.
    pub(super) fn call(&mut self, at: usize, message: &Message) -> &Call {
        if self.is_empty(at) {
            self.introduce(&message.call);
        }
        self.slot(at).seat.get_or_insert_with(|| message.call.clone().sit()).call()
    }

    pub(super) fn give_up(&mut self, at: usize) {
        if !self.is_empty(at) {
            self.slot(at).seat.take();
        }
    }

    /// Logs the verdicts that were reached further in, and whose answers do not come out for long.
    pub(super) fn poll_hold(&mut self, cx: &mut Context<'_>) {
        for slot in std::iter::once(&mut self.first).chain(&mut self.more) {
            if let Some(seat) = &slot.seat
                && slot.hold.poll(seat.call(), cx).is_ready()
            {
                seat.call().close(|| Verdict::abandoned(None));
            }
        }
    }

    /// Gives up all of them.
    pub(super) fn clear(&mut self) {
        self.first.seat.take();
        self.more.clear();
    }

    /// The calls that there are seats on.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        let slots = std::iter::once(&self.first).chain(&self.more);
        slots.filter_map(|slot| slot.seat.as_ref()).map(Seat::call)
    }

    fn get(&self, at: usize) -> Option<&Slot> {
        at.checked_sub(1).map_or(Some(&self.first), |at| self.more.get(at))
    }

    fn slot(&mut self, at: usize) -> &mut Slot {
        let Some(at) = at.checked_sub(1) else { return &mut self.first };
        if self.more.len() <= at {
            self.more.resize_with(at + 1, Slot::default);
        }
        // There is one by now; the first is the one that is always there.
        self.more.get_mut(at).unwrap_or(&mut self.first)
    }
}
