use std::sync::Arc;

use tower_layer::Layer;

use crate::{
    log::{Log, Logging, OnOutcome},
    redact::Redact,
    target,
};

/// Logs how each request ended, once.
///
/// ```
/// use tower::ServiceBuilder;
/// use tower_outcome::{ContainLayer, LogLayer};
///
/// let stack = ServiceBuilder::new().layer(LogLayer::new()).layer(ContainLayer::new());
/// # let _ = stack;
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogLayer {
    logging: Arc<Logging>,
}

impl LogLayer {
    /// Events with the target `tower_outcome`, no hooks, the default redactor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also tells `hook` of each finished call: see [`OnOutcome`]. Hooks add up.
    #[must_use]
    pub fn hook(mut self, hook: impl OnOutcome + 'static) -> Self {
        target::need_calls();
        Arc::make_mut(&mut self.logging).hooks.push(Arc::new(hook));
        self
    }

    /// Takes secrets out of everything that is logged, in place of the
    /// [default](crate::Redactor) one: a type of your own, a function, or a closure by
    /// [`redact_fn`](crate::redact_fn).
    #[must_use]
    pub fn redactor(mut self, redactor: impl Redact + 'static) -> Self {
        let logging = Arc::make_mut(&mut self.logging);
        logging.redactor = Arc::new(redactor);
        logging.has_own_redactor = true;
        self
    }

    /// Names the route that the layer stands on, for the field `route`: where several routes, or
    /// servers, of one process have layers of their own. Of several in a stack the innermost is
    /// right. None by default.
    #[must_use]
    pub fn route(mut self, route: impl Into<Arc<str>>) -> Self {
        Arc::make_mut(&mut self.logging).route = Some(route.into());
        self
    }

    /// Bytes of a request's body that the layers round an HTTP service read before they hand it
    /// on: 4 MiB by default, which is what MCP servers accept. A longer one passes as it streams; it
    /// is known by as much of it as was read and by its `Mcp-Method` and `Mcp-Name` headers. The
    /// outermost layer decides.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.logging).max_request_bytes = Some(bytes);
        self
    }

    /// Whether events are written. `true` by default; with `false` only hooks are told.
    #[must_use]
    pub fn events(mut self, events: bool) -> Self {
        Arc::make_mut(&mut self.logging).events = events;
        self
    }

    /// Whether tool calls run in a span `tool_call` with the fields `tool` and `call_id`, at INFO,
    /// so that the tool's own lines can be found by the call's. `false` by default.
    #[must_use]
    pub fn span(mut self, span: bool) -> Self {
        Arc::make_mut(&mut self.logging).span = span;
        self
    }
}

impl<S> Layer<S> for LogLayer {
    type Service = Log<S>;

    fn layer(&self, inner: S) -> Log<S> {
        Log::new(inner, Arc::clone(&self.logging))
    }
}
