use std::{sync::Arc, time::Duration};

use tower_layer::Layer;

use crate::{contain::Contain, policy::Policy};

/// Answers panics, unknown errors and, where a deadline is set, silence.
///
/// Everything between it and the handler may fail with anything that is `Into<BoxError>`: tower's
/// timeout, limits, load shed, buffer. A timeout or a rate limit in an error's source chain is
/// told as one that heals itself.
///
/// ```
/// use std::time::Duration;
/// use tower::{ServiceBuilder, load_shed::LoadShedLayer};
/// use tower_outcome::{ContainLayer, LogLayer};
///
/// let stack = ServiceBuilder::new()
///     .layer(LogLayer::new())
///     .layer(ContainLayer::new().deadline(Duration::from_secs(30)))
///     .layer(LoadShedLayer::new());
/// # let _ = stack;
/// ```
#[derive(Clone, Debug, Default)]
pub struct ContainLayer {
    pub(super) settings: Settings,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) policy: Option<Arc<Policy>>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) abort_on_cancel: bool,
    #[cfg(feature = "http")]
    pub(crate) max_request_bytes: Option<usize>,
}

impl ContainLayer {
    /// Catches panics and errors; no deadline, no abort.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Levels, and whether errors that declare nothing are masked. For use without a
    /// [`ClassifyLayer`](crate::ClassifyLayer), which takes the same policy.
    #[must_use]
    pub fn policy(mut self, policy: impl Into<Arc<Policy>>) -> Self {
        self.settings.policy = Some(policy.into());
        self
    }

    /// Answers a tool call that has no answer after this long, as a fault that heals itself, and
    /// drops what it was doing. It counts from the call on and covers what is inside of this
    /// layer, the wait for a limit included. What is dropped may have taken effect all the same, so
    /// the model is told to check before it sends a call again that changes anything. Where none
    /// is set here, that of the [policy](crate::Policy::deadline) counts, and by default there is
    /// none; other requests have none, since a subscription may last for days.
    ///
    /// Needs a tokio runtime with its timer enabled: without one it has passed at once.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// See [`LogLayer::max_request_bytes`](crate::LogLayer::max_request_bytes).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_request_bytes = Some(bytes);
        self
    }

    /// Drops what a request was doing as soon as its client has cancelled it or is gone, so that a
    /// tool that never asks does not run on for nobody. Off by default: code that is dropped at an
    /// `await` leaves what it had begun.
    #[must_use]
    pub fn abort_on_cancel(mut self, abort: bool) -> Self {
        self.settings.abort_on_cancel = abort;
        self
    }
}

impl<S> Layer<S> for ContainLayer {
    type Service = Contain<S>;

    fn layer(&self, inner: S) -> Contain<S> {
        Contain::new(inner, self.settings.clone())
    }
}
