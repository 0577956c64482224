//! What is wrong with answers that are none, and with requests that were refused.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use tower::BoxError;

use crate::{
    call::{Call, Verdict},
    cause::{self, Diagnosis},
    contain::Fault,
    outcome::{Actor, Cause, Code, Declared, Failure},
    policy::{Heals, Policy},
    text,
};

impl Fault {
    fn upstream(heals: Option<Heals>, cause: Cause) -> Self {
        Self::new(Code::UPSTREAM_ERROR, heals, cause)
    }

    /// An answer with a status of the server's own troubles, or of none of HTTP's.
    pub(super) fn status(status: StatusCode, headers: &HeaderMap) -> Self {
        let delay = retry_after(headers);
        let heals = match status {
            StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => Some(Heals::Timeout),
            StatusCode::SERVICE_UNAVAILABLE => Some(Heals::Unavailable(delay)),
            _ => delay.map(|delay| Heals::Unavailable(Some(delay))),
        };
        let code = match status {
            StatusCode::REQUEST_TIMEOUT => Code::TIMEOUT,
            _ => Code::UPSTREAM_ERROR,
        };
        Self::new(code, heals, Cause::new("http_status", format!("HTTP {status}")))
    }

    /// A body that cannot be the answer.
    pub(in super::super) fn nonsense(what: impl Into<String>) -> Self {
        Self::upstream(None, Cause::new("http_body", what))
    }

    /// A body that ends without the answer.
    pub(super) fn no_answer() -> Self {
        Self::nonsense("the body ended without the answer")
    }

    /// A body that broke off with this error, which is given back.
    pub(in super::super) fn broken(
        error: BoxError,
        type_name: &'static str,
        call: Option<&Call>,
    ) -> (Self, BoxError) {
        let type_name = (type_name != std::any::type_name::<BoxError>()).then_some(type_name);
        let policy = call.map_or_else(Policy::default_shared, Call::policy);
        let Diagnosis { code, heals, cause } = cause::diagnose(&*error, type_name, &policy);
        (Self::new(code, heals, cause).of_upstream(), error)
    }

    /// A JSON-RPC error that is too long to be looked at.
    pub(super) fn oversize(start: &[u8]) -> Self {
        let start = start.get(..text::CAUSE_BYTES).unwrap_or(start);
        let start = String::from_utf8_lossy(start);
        let cause = Cause::new("jsonrpc_error", format!("an error of more than 64 KiB: {start}"));
        Self::new(Code::INTERNAL_ERROR, None, cause)
    }
}

/// After how long a server says that it can be asked again, where it says so in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The verdict on a request that was refused by a status, with a text that says why.
pub(super) fn refusal(status: StatusCode, text: &str, call: &Call) -> Verdict {
    let text = text.trim();
    let error = if text.is_empty() { status.to_string() } else { text.to_owned() };
    let of_status = Code::of_http_status(status.as_u16());
    let (code, actor) = match status {
        StatusCode::TOO_MANY_REQUESTS => (Code::RATE_LIMITED, Actor::Time),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (of_status, Actor::User),
        _ => (of_status, Actor::Model),
    };
    let level = call.policy().level_of(&code, None, actor.default_level());
    let failure = Failure { level, error: Some(error), ..Failure::new(code, actor) };
    if actor == Actor::Time {
        return Verdict::declared(Declared::Fault, failure);
    }
    Verdict::refused(failure)
}
