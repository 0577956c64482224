//! The span that a tool runs in, where one is asked for.

use tracing::Span;

use crate::{call::Call, target, unwind};

/// A span whose subscriber may panic whenever it is told of it.
#[derive(Debug)]
pub(crate) struct ToolSpan(Option<Span>);

impl ToolSpan {
    pub(crate) fn new(call: &Call) -> Self {
        let span = unwind::catch(|| {
            tracing::info_span!(
                target: target::TARGET,
                "tool_call",
                tool = call.printable_tool(),
                call_id = %call.id(),
            )
        });
        Self(span.ok())
    }

    /// Runs `work` inside of the span. Its own panics pass.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = Entered::new(self.0.as_ref());
        work()
    }
}

impl Drop for ToolSpan {
    fn drop(&mut self) {
        unwind::drop_shielded(self.0.take());
    }
}

/// Exits the span when it is dropped.
struct Entered<'a>(Option<&'a Span>);

impl<'a> Entered<'a> {
    fn new(span: Option<&'a Span>) -> Self {
        if let Some(span) = span {
            unwind::shielded(|| {
                span.with_subscriber(|(id, dispatch)| dispatch.enter(id));
            });
        }
        Self(span)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(span) = self.0 {
            unwind::shielded(|| {
                span.with_subscriber(|(id, dispatch)| dispatch.exit(id));
            });
        }
    }
}
