//! Catching panics: ours, the handler's, and those in what a panic leaves behind.

mod hook;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

pub use self::hook::install as install_panic_hook;
use crate::outcome::Cause;

/// Bytes of a panic's payload that are looked at.
const PAYLOAD_BYTES: usize = 4096;

/// Runs `work` and gives the cause of its panic, if it had one, as an error: with the place, where the
/// [panic hook](crate::install_panic_hook) is installed. What the panic leaves behind is dropped, whatever
/// its destructor does.
///
/// State that `work` shares with others may be half changed after a panic; it is the caller's to
/// use nothing of it again but its destructor.
///
/// # Errors
///
/// The cause of the panic, for a [`Verdict`](crate::Verdict).
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Cause> {
    let contained = hook::Contained::enter();
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => Ok(value),
        Err(payload) => Err(cause_of(payload, contained.site())),
    }
}

/// Runs `work`, whose panic costs nothing but what it would have done.
pub(crate) fn shielded(work: impl FnOnce()) {
    // What panicked here panics while it reports something; there is nobody left to tell.
    let _ = catch(work);
}

/// Drops `value`, whose destructor may panic.
pub(crate) fn drop_shielded<T>(value: T) {
    shielded(|| drop(value));
}

/// The cause that a panic's payload tells of. The payload is dropped, whatever its destructor does.
pub(crate) fn cause_of(payload: Box<dyn Any + Send>, site: Option<hook::Site>) -> Cause {
    let text = payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a payload that is no text");
    let mut cause = Cause::new("panic", crate::text::cut_bytes(text, PAYLOAD_BYTES));
    if let Some(site) = site {
        cause.location = Some(site.location);
        cause.backtrace = site.backtrace;
    }
    let contained = hook::Contained::enter();
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its destructor panicked with a payload of its own, whose destructor may do so again,
        // without end. Forgotten: a few bytes for each such panic.
        std::mem::forget(second);
    }
    drop(contained);
    cause
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Bomb(self.0 - 1));
            }
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        let cause = catch(|| panic_any(Bomb(3))).err().map(|cause| cause.chain);
        assert_eq!(cause.as_deref(), Some("a payload that is no text"));
    }

    #[test]
    fn the_payloads_text_is_kept_and_bounded() {
        let long = "x".repeat(10_000);
        let cause = catch(|| panic!("{long}")).err().map(|cause| cause.chain.len());
        assert_eq!(cause, Some(PAYLOAD_BYTES));
    }

    #[test]
    fn a_panic_while_unwinding_is_contained_too() {
        struct Nested;
        impl Drop for Nested {
            fn drop(&mut self) {
                shielded(|| panic!("inner"));
            }
        }
        let cause = catch(|| {
            let _nested = Nested;
            panic!("outer")
        });
        assert_eq!(cause.err().map(|cause: Cause| cause.chain).as_deref(), Some("outer"));
    }
}
