//! Answers what would otherwise stay unanswered, or tell too much.
//!
//! [`ContainLayer`] catches panics and the errors of the layers inside of it, and answers both as
//! a fault: in fixed words, with a reference under which the log has the cause. It also withholds
//! errors whose text is not for the client: JSON-RPC's -32603 and the server's own range, and, by
//! policy, `isError` results that declare nothing. Its service's `Error` is
//! [`Infallible`](std::convert::Infallible): nothing gets past it.
//!
//! What it cannot contain: a build with `panic = "abort"` (it says so once, at WARN), a stack
//! overflow, and a destructor that panics while the thread already unwinds.

mod future;
mod layer;
mod service;
mod work;

use tower::BoxError;

#[cfg(feature = "http")]
pub(crate) use self::layer::Settings;
pub use self::{
    future::ContainFuture,
    layer::ContainLayer,
    service::Contain,
    work::{ContainedWork, contain},
};
use crate::{
    call::Call,
    cause::{self, Diagnosis},
    outcome::{Cause, Code},
    policy::Heals,
};

/// An error of a layer further in, as it came.
#[derive(Debug)]
pub(crate) struct UnknownError {
    error: BoxError,
    /// Where it is not that of a box.
    type_name: Option<&'static str>,
}

impl UnknownError {
    /// The conversion is somebody else's code, and may panic.
    pub(crate) fn new<E: Into<BoxError>>(error: E) -> Result<Self, Cause> {
        let type_name = std::any::type_name::<E>();
        let type_name = (type_name != std::any::type_name::<BoxError>()).then_some(type_name);
        crate::unwind::catch(|| error.into()).map(|error| Self { error, type_name })
    }
}

/// What kept the service from answering.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    code: Code,
    heals: Option<Heals>,
    cause: Cause,
}

impl Fault {
    #[cfg(feature = "http")]
    pub(crate) fn new(code: Code, heals: Option<Heals>, cause: Cause) -> Self {
        Self { code, heals, cause }
    }

    /// The same, where it was not this server that failed for a reason that nobody knows.
    #[cfg(feature = "http")]
    pub(crate) fn of_upstream(self) -> Self {
        if self.code == Code::INTERNAL_ERROR {
            return Self { code: Code::UPSTREAM_ERROR, ..self };
        }
        self
    }

    pub(crate) fn panic(cause: Cause) -> Self {
        Self { code: Code::PANIC, heals: None, cause }
    }

    pub(crate) fn deadline(after: std::time::Duration) -> Self {
        let cause = Cause::new(Cause::DEADLINE, format!("no answer within {after:?}"));
        Self { code: Code::TIMEOUT, heals: Some(Heals::Timeout), cause }
    }

    /// How the text reads that the client gets of it. Its code says no more than that something
    /// went wrong, except where it was not this server.
    pub(crate) fn rendering(&self, kind: crate::Kind, id: crate::CallId) -> crate::Rendering {
        let code = (self.code == Code::UPSTREAM_ERROR).then_some(Code::UPSTREAM_ERROR);
        crate::Rendering::fault_with_code(kind, code, self.heals, id)
    }

    /// What the error of a layer further in means to this call.
    fn error(error: UnknownError, call: Option<&Call>) -> Self {
        let UnknownError { error, type_name } = error;
        let policy = call.map_or_else(crate::Policy::default_shared, Call::policy);
        let Diagnosis { code, heals, cause } = cause::diagnose(&*error, type_name, &policy);
        // Whatever its destructor does: that of a `JoinError` drops a panic's payload.
        crate::unwind::drop_shielded(error);
        Self { code, heals, cause }
    }

    /// An error, or the panic in its place.
    pub(crate) fn of(reason: Result<UnknownError, Cause>, call: Option<&Call>) -> Self {
        match reason {
            Ok(error) => Self::error(error, call),
            Err(cause) => Self::panic(cause),
        }
    }

    /// Whether it is only that this layer did not want to wait any longer.
    pub(crate) fn is_deadline(&self) -> bool {
        self.cause.is_deadline()
    }

    /// The verdict that the fault is, at the level that the call's policy gives it.
    pub(crate) fn into_verdict(self, call: &Call) -> crate::call::Verdict {
        crate::classify::fault(self.code, self.heals, self.cause, &call.policy())
    }

    /// Adds that dropping what was left of the call panicked as well.
    fn also(&mut self, other: &Cause) {
        self.cause.chain.push_str("; then a destructor panicked: ");
        self.cause.chain.push_str(&other.chain);
    }
}
