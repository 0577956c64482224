//! The call in scope: how code deep inside a tool finds the call that it works for.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::call::{Call, Kind};

/// What a thread works for.
#[derive(Debug, Default)]
pub(super) enum Slot {
    /// Nothing that a layer knows of.
    #[default]
    None,
    /// Whatever it works for already.
    Unchanged,
    /// A message of this kind, whose call nobody has needed so far.
    Unrecorded(Kind),
    /// A call.
    Call(Call),
}

thread_local! {
    static CURRENT: RefCell<Slot> = const { RefCell::new(Slot::None) };
}

/// The call whose future is being polled on this thread.
pub(super) fn current() -> Option<Call> {
    // Neither panics where a thread's locals are gone, nor where a destructor asks during a swap.
    CURRENT
        .try_with(|current| {
            let mut current = current.try_borrow_mut().ok()?;
            match &*current {
                Slot::None | Slot::Unchanged => None,
                Slot::Call(call) => Some(call.clone()),
                Slot::Unrecorded(kind) => {
                    let call = Call::begin_unrecorded(*kind);
                    *current = Slot::Call(call.clone());
                    Some(call)
                }
            }
        })
        .ok()
        .flatten()
}

/// Puts a slot's content in scope until it is dropped, and what was there back then.
struct Scope<'a> {
    slot: &'a mut Slot,
}

impl<'a> Scope<'a> {
    #[inline]
    fn enter(slot: &'a mut Slot) -> Self {
        swap(slot);
        Self { slot }
    }
}

impl Drop for Scope<'_> {
    #[inline]
    fn drop(&mut self) {
        swap(self.slot);
    }
}

#[inline]
fn swap(slot: &mut Slot) {
    if matches!(slot, Slot::Unchanged) {
        return;
    }
    let _ = CURRENT.try_with(|current| {
        if let Ok(mut current) = current.try_borrow_mut() {
            std::mem::swap(&mut *current, slot);
        }
    });
}

/// A call that is in scope of pieces of work which are no one future; or none, and then whatever
/// is in scope already stays.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Reach(Slot);

#[cfg(feature = "http")]
impl Reach {
    pub(crate) fn of(call: Call) -> Self {
        Self(Slot::Call(call))
    }

    pub(crate) fn within<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _scope = Scope::enter(&mut self.0);
        work()
    }
}

#[cfg(feature = "http")]
impl Default for Reach {
    fn default() -> Self {
        Self(Slot::Unchanged)
    }
}

pin_project! {
    /// A future with a call in scope while it is polled and while it is dropped. See
    /// [`Call::scope`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Scoped<F> {
        #[pin]
        future: Option<F>,
        slot: Slot,
    }

    impl<F> PinnedDrop for Scoped<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                let _scope = Scope::enter(this.slot);
                this.future.set(None);
            }
        }
    }
}

impl<F> Scoped<F> {
    /// `future` as the work for a message of this kind: with its call in scope, or, where no layer
    /// has needed one, with one that begins when it is asked for. For bindings, round a handler.
    pub fn new(call: Option<Call>, kind: Kind, future: F) -> Self {
        let slot = call.map_or(Slot::Unrecorded(kind), Slot::Call);
        Self { future: Some(future), slot }
    }

    /// `future` with what is in scope already.
    pub(crate) fn unchanged(future: F) -> Self {
        Self { future: Some(future), slot: Slot::Unchanged }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let _scope = Scope::enter(this.slot);
        match this.future.as_mut().as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}
