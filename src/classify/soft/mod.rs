//! Failures that come dressed as successes: what a result says that no flag says.

mod payload;
mod rules;

use serde_json::Value;

pub(crate) use self::payload::{Members, Payload, payload_of};
pub use self::rules::SoftErrors;

/// Tells of a tool's result that no flag calls a failure whether it says that it failed all the
/// same.
///
/// It is asked about `structuredContent` where that is an object, else about a lone text block that
/// holds a JSON object, and of nothing else: what a flag, a [record](crate::Declaration) or a
/// JSON-RPC error says stands. What the client gets is never changed. One that panics says nothing,
/// and is logged once, as `classifier_panicked`.
///
/// [`SoftErrors`] is one for keys and values; functions are classifiers too:
///
/// ```
/// use serde_json::Value;
/// use tower_outcome::{OutcomeLayer, Policy, ResultClassifier as _, SoftErrors};
///
/// fn houses_own(tool: &str, payload: &Value) -> Option<String> {
///     if payload["schema"] == "acme.error.v1" {
///         return Some(payload["kind"].to_string());
///     }
///     SoftErrors::new().classify(tool, payload)
/// }
///
/// let layer = OutcomeLayer::new().policy(Policy::new().soft_errors(houses_own));
/// # let _ = layer;
/// ```
pub trait ResultClassifier: Send + Sync {
    /// What `payload` says of a failure of `tool`, for the log; `None` if it says nothing of one.
    /// The payload is an object, with the [members](Self::members) that are asked for at least.
    fn classify(&self, tool: &str, payload: &Value) -> Option<String>;

    /// The members that it looks at, as dotted paths: over HTTP nothing else of an answer is kept,
    /// however large it is. `None`, as for functions, means all of it: over HTTP up to 16 KiB, and
    /// a longer result is one that could not be read. The same goes for more than 128 keys in all,
    /// a path of more than 8, or a key of more than 128 bytes.
    fn members(&self) -> Option<Vec<String>> {
        None
    }
}

impl<F> ResultClassifier for F
where
    F: Fn(&str, &Value) -> Option<String> + Send + Sync,
{
    fn classify(&self, tool: &str, payload: &Value) -> Option<String> {
        self(tool, payload)
    }
}
