//! The target of all events of this crate: who listens to it, and what the crate says there about
//! itself.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    outcome::{Cause, Level},
    redact::{self, Redact as _},
    text, unwind,
};

/// The target of every event of this crate.
pub const TARGET: &str = "tower_outcome";

/// Whether anybody listens to events of this crate at `level`.
///
/// A macro, because `tracing` keeps its answer for each place in the code that asks.
macro_rules! listening {
    ($level:ident) => {
        tracing::event_enabled!(target: TARGET, tracing::Level::$level)
    };
}

static IS_NEEDED: AtomicBool = AtomicBool::new(false);

/// Has every layer keep the record of a call from now on: somewhere there is a hook that is told,
/// or a policy that layers further out have to follow.
pub(crate) fn need_calls() {
    IS_NEEDED.store(true, Ordering::Relaxed);
}

/// Whether the record of a call matters to anybody.
pub(crate) fn are_calls_needed() -> bool {
    IS_NEEDED.load(Ordering::Relaxed) || is_anyone_listening()
}

/// Whether anybody listens to anything: a single load.
#[inline]
pub(crate) fn is_anyone_listening() -> bool {
    tracing::level_filters::LevelFilter::current() != tracing::level_filters::LevelFilter::OFF
}

/// Whether anybody listens to events of this crate at `level`.
pub(crate) fn is_listened_to(level: Level) -> bool {
    match level {
        Level::Trace => listening!(TRACE),
        Level::Debug => listening!(DEBUG),
        Level::Info => listening!(INFO),
        Level::Warn => listening!(WARN),
        Level::Error => listening!(ERROR),
    }
}

/// Says once that panics cannot be contained in this build.
pub(crate) fn cannot_contain() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if cfg!(panic = "abort") && !SAID.swap(true, Ordering::Relaxed) {
        unwind::shielded(|| {
            tracing::warn!(
                target: TARGET,
                detail = "built with panic = \"abort\": a panic ends the process and is neither \
                          answered nor logged; build with panic = \"unwind\"",
                "containment_unavailable"
            );
        });
    }
}

/// Says once that a classifier does not work.
pub(crate) fn classifier_panicked(cause: &Cause) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        let cause = text::clean(&redact::Redactor::new().redact(&cause.chain), text::ERROR_CHARS)
            .into_owned();
        unwind::shielded(|| {
            tracing::warn!(
                target: TARGET,
                cause,
                detail = "a classifier panicked: what it was asked about counts as what it is \
                          without it; later panics are not logged",
                "classifier_panicked"
            );
        });
    }
}

/// Says once that the rmcp in use is newer than the one that this version was tested with.
#[cfg(feature = "rmcp")]
pub(crate) fn untested_rmcp(found: &str, tested: &str) {
    unwind::shielded(|| {
        tracing::warn!(
            target: TARGET,
            found,
            tested,
            detail = "requests of methods that this rmcp has and the tested one has not may pass \
                      the layers unseen; update tower-outcome",
            "untested_rmcp"
        );
    });
}
