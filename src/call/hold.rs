//! How long a verdict waits for its answer.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use crate::{call::Call, timer::Timer};

/// How long a verdict waits for layers further out before it is logged as it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of a layer whose inner service is pending: watches for a verdict that was reached further in,
/// and whose answer does not come out.
#[derive(Debug, Default)]
pub(crate) struct Hold(Option<Timer>);

impl Hold {
    /// Ready when the verdict has waited for long enough. Wakes the task also when it is reached
    /// from another one, since nothing else may.
    pub(crate) fn poll(&mut self, call: &Call, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = call.decided_at(cx.waker()) else { return Poll::Pending };
        let timer = self.0.get_or_insert_with(|| Timer::until(at + PATIENCE));
        Pin::new(timer).poll(cx)
    }
}
