//! Layers round rmcp server handlers.
//!
//! ```
//! use rmcp::ServerHandler;
//! use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};
//!
//! struct Notes;
//! impl ServerHandler for Notes {}
//!
//! let notes = Notes.layered(OutcomeLayer::new());
//! // `notes` is a `ServerHandler` again: serve it over stdio, a child process, a duplex stream, or
//! // make one for each session of a `StreamableHttpService`.
//! # let _ = notes;
//! ```
//!
//! Every request, notification and `subscriptions/listen` goes through the tower stack as an
//! [`RmcpRequest`] and is answered by an [`RmcpReply`]. A JSON-RPC error is a reply; the service's
//! `Error` is what layers fail with. Any tower layer fits between ours and the handler. rmcp calls
//! a session's factory for each session, and in stateless mode for each request: layers with
//! state, such as limits, have to share it (`GlobalConcurrencyLimitLayer`).
//!
//! Two files say how: `forward` is rmcp calling the layers, `handler` the layers calling the handler.
//!
//! # What does not pass the layers
//!
//! rmcp answers some messages before any handler: `ping` before `initialize`; `tasks/get`,
//! `tasks/update` and `tasks/cancel` where the server or the client lacks the capability; an
//! unsupported protocol version; missing `_meta` of a 2026-07-28 request; methods that the
//! session's revision does not have (`ping`, `resources/subscribe` and `resources/unsubscribe` from
//! 2026-07-28 on, `subscriptions/listen` before it) and subscriptions that the server does not
//! accept; `skills/*` without the capability or with a URI of no skill; and what is no JSON-RPC at
//! all. It refuses the results of `skills/list` and `skills/get` that are not valid, after the
//! layers have seen them.
//!
//! Its synchronous methods have no answer to give in place of a panic: `get_info` and
//! `supported_protocol_versions` are not guarded; `get_tool`, `accepted_subscription_filter` and
//! `negotiate_initialize` are.
//!
//! A layer that cuts a call short drops what the tool held. tower's `Timeout` drops it when its own
//! future is dropped, inside of the containment; a timeout of your own that drops it in a poll
//! turns a destructor that panics into the call's end.
//!
//! rmcp's `local` feature, anywhere in the graph, is not supported: it takes `Send` from handlers.
//!
//! # rmcp's own log
//!
//! rmcp writes a WARN line, `response error`, for each JSON-RPC error, whoever has to act, and at
//! DEBUG whole requests and results. To have each failure once, filter it:
//! `RUST_LOG=info,rmcp::service=error`.

mod batch;
mod client;
mod connection;
mod conversion;
mod forward;
mod gone;
mod handler;
mod layered;
mod operation;
mod reply;
mod request;
mod task;

use std::sync::atomic::{AtomicBool, Ordering};

pub use self::{
    gone::ClientGone,
    handler::{HandlerFuture, HandlerService, Unanswered},
    layered::{AnswerErrors, AnswerErrorsFuture, Contained, Layered, ServerHandlerExt},
    operation::{OperationError, contain_operation},
    reply::RmcpReply,
    request::RmcpRequest,
};

/// The minor version of rmcp that this version was tested with.
const TESTED: (u64, u64) = (3, 11);

/// Says once if the rmcp in use is newer than the tested one.
fn check_version() {
    // Not a `Once`: a subscriber that calls a layered handler would wait for itself.
    static CHECKED: AtomicBool = AtomicBool::new(false);
    if CHECKED.load(Ordering::Relaxed) || CHECKED.swap(true, Ordering::Relaxed) {
        return;
    }
    // rmcp's own name and version, compiled into it.
    let found = rmcp::model::Implementation::from_build_env().version;
    if is_newer(&found, TESTED) {
        crate::target::untested_rmcp(&found, &format!("{}.{}", TESTED.0, TESTED.1));
    }
}

fn is_newer(found: &str, tested: (u64, u64)) -> bool {
    let mut parts = found.split('.').map_while(|part| part.parse().ok());
    matches!((parts.next(), parts.next()), (Some(major), Some(minor)) if (major, minor) > tested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_newer_minor_is_untested() {
        for (version, newer) in [
            ("3.11.0", false),
            ("3.11.9", false),
            ("3.2.0", false),
            ("3.12.0", true),
            ("4.0.0", true),
            ("x", false),
        ] {
            assert_eq!(is_newer(version, (3, 11)), newer, "{version}");
        }
    }

    #[test]
    fn the_resolved_rmcp_is_the_tested_one() {
        let found = rmcp::model::Implementation::from_build_env();
        assert_eq!(found.name, "rmcp");
        let tested = format!("{}.{}.", TESTED.0, TESTED.1);
        assert!(
            found.version.starts_with(&tested),
            "run the tests, then set TESTED: {}",
            found.version
        );
    }
}
