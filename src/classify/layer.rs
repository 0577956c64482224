use std::sync::Arc;

use tower_layer::Layer;

use crate::{classify::Classify, policy::Policy, target};

/// Says which rules apply to the answers that pass.
///
/// It judges answers where it stands: a layer further out that rewrites results cannot hide a
/// failure from it. Put it, or [`OutcomeLayer`](crate::OutcomeLayer), inside of such layers.
///
/// ```
/// use tower_outcome::{ClassifyLayer, Level, Policy};
///
/// let layer = ClassifyLayer::new().policy(Policy::new().undeclared_level(Level::Warn));
/// # let _ = layer;
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClassifyLayer {
    policy: Option<Arc<Policy>>,
}

impl ClassifyLayer {
    /// The rules of the protocol alone.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Levels, and what becomes of failures that declare nothing.
    #[must_use]
    pub fn policy(self, policy: impl Into<Arc<Policy>>) -> Self {
        target::need_calls();
        Self { policy: Some(policy.into()) }
    }
}

impl<S> Layer<S> for ClassifyLayer {
    type Service = Classify<S>;

    fn layer(&self, inner: S) -> Classify<S> {
        Classify::new(inner, self.policy.clone())
    }
}
