//! What bindings and layers tell a call about where it came from and how much there was of it.

use std::sync::Arc;

use super::{Call, Origin};

/// What a binding saw of the bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) request: Option<u64>,
    pub(super) result: Option<u64>,
    pub(super) is_unread: bool,
}

impl Call {
    /// How many bytes the request's message had, for the log line.
    pub fn set_request_bytes(&self, bytes: u64) {
        self.state().traffic.request = Some(bytes);
    }

    /// How many bytes the answer's message had, for the log line.
    pub fn set_result_bytes(&self, bytes: u64) {
        self.state().traffic.result = Some(bytes);
    }

    /// Says that the answer could not be read, so that its end may be another than it seems:
    /// `result_scanned=false`, and a success is logged at WARN.
    pub fn set_result_unread(&self) {
        self.state().traffic.is_unread = true;
    }

    /// Adds to what is known about where the call came from; what is known already stays.
    pub fn add_origin(&self, mut origin: Origin) {
        let known = self.state().origin.clone();
        // Outside of the lock: a client's description may be a user's type.
        if let Some(known) = known {
            let mut known = Arc::unwrap_or_clone(known);
            known.fill_from(std::mem::take(&mut origin));
            origin = known;
        }
        self.state().origin = Some(Arc::new(origin));
    }

    /// Names the route: the innermost layer's name for it is right.
    pub(crate) fn set_route(&self, route: &Arc<str>) {
        let mut origin = Arc::unwrap_or_clone(self.state().origin.clone().unwrap_or_default());
        origin.route = Some(Arc::clone(route));
        self.state().origin = Some(Arc::new(origin));
    }
}
