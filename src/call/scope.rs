//! The call in scope: how code deep inside a tool finds the call that it works for.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::call::Call;

thread_local! {
    static CURRENT: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// The call whose future is being polled on this thread.
pub(super) fn current() -> Option<Call> {
    // Neither panics where a thread's locals are gone, nor where a destructor asks during a swap.
    CURRENT
        .try_with(|current| current.try_borrow().ok().and_then(|call| call.clone()))
        .ok()
        .flatten()
}

fn swap(call: Option<Call>) -> Option<Call> {
    CURRENT
        .try_with(|current| match current.try_borrow_mut() {
            Ok(mut current) => std::mem::replace(&mut *current, call),
            Err(_) => None,
        })
        .ok()
        .flatten()
}

/// Puts a call in scope until it is dropped, then the previous one again.
#[derive(Debug)]
pub(super) struct Scope {
    previous: Option<Call>,
}

impl Scope {
    pub(super) fn enter(call: Call) -> Self {
        Self { previous: swap(Some(call)) }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let ended = swap(self.previous.take());
        // Dropped here, outside the borrow: the last handle of a call may run a user's hook.
        drop(ended);
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
        call: Option<Call>,
    }

    impl<F> PinnedDrop for Scoped<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                let _scope = this.call.take().map(Scope::enter);
                this.future.set(None);
            }
        }
    }
}

impl<F> Scoped<F> {
    pub(crate) fn new(call: Option<Call>, future: F) -> Self {
        Self { future: Some(future), call }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = this.call.clone().map(Scope::enter);
        match this.future.as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}
