//! A timer that needs no runtime to be there.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use tokio::time::Sleep;

use crate::unwind;

/// Resolves at a time. Where there is no tokio runtime, or one without a timer, it resolves at
/// once: what would be waited for is then taken as it is.
#[derive(Debug)]
pub(crate) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    pub(crate) fn until(at: Instant) -> Self {
        // Tokio tells by a panic that there is no timer.
        Self(unwind::catch(|| Box::pin(tokio::time::sleep_until(at.into()))).ok())
    }
}

impl Timer {
    /// Whether there is a timer to wait by.
    pub(crate) fn can_wait(&self) -> bool {
        self.0.is_some()
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(sleep) => sleep.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }
}

/// When there has to be an answer.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: Instant,
    after: Duration,
    /// Made at the first poll, where something is pending: most calls never need the timer.
    timer: Option<Timer>,
}

impl Deadline {
    /// Counted from now on. `None` if it is past what the clock can tell.
    pub(crate) fn after(after: Duration) -> Option<Self> {
        let at = Instant::now().checked_add(after)?;
        Some(Self { at, after, timer: None })
    }
}

impl Future for Deadline {
    /// How long there was.
    type Output = Duration;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Duration> {
        let at = self.at;
        let timer = self.timer.get_or_insert_with(|| Timer::until(at));
        Pin::new(timer).poll(cx).map(|()| self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_runtime_nothing_is_waited_for() {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let timer = std::pin::pin!(Timer::until(Instant::now() + Duration::from_secs(3600)));
        assert!(timer.poll(&mut cx).is_ready());
    }
}
