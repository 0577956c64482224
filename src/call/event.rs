//! The events: the public log contract, in one place.
//!
//! The event's name is its message; the target is [`TARGET`]. A field that is not known is absent.
//! Everything that a peer controls is cut and escaped here and stands in a field.

use std::borrow::Cow;

use super::{Call, CallId, CallIdText, Origin, Record, RequestId, Sinks};
use crate::{
    outcome::Level,
    redact,
    target::{self, TARGET},
    text,
};

/// Characters of a client's name, a version, a route and the like that are kept.
const FACT_CHARS: usize = 128;

/// The fields of an event about a call, made fit to print.
struct Fields<'a> {
    call_id: CallIdText,
    tool: Option<Cow<'a, str>>,
    method: Option<Cow<'a, str>>,
    request_id: Option<Cow<'a, str>>,
    client_name: Option<Cow<'a, str>>,
    client_version: Option<Cow<'a, str>>,
    protocol_version: Option<Cow<'a, str>>,
    transport: Option<Cow<'a, str>>,
    route: Option<Cow<'a, str>>,
    principal: Option<Cow<'a, str>>,
    session: Option<Hex<16>>,
    trace_id: Option<Hex<32>>,
    span_id: Option<Hex<16>>,
}

impl<'a> Fields<'a> {
    fn new(
        call_id: CallId,
        is_tool: bool,
        method: &'a str,
        tool: Option<&'a str>,
        request_id: Option<&'a RequestId>,
        origin: &'a Origin,
        sinks: &Sinks,
    ) -> Self {
        let fact = |text| name(sinks, text, FACT_CHARS);
        let client = origin.client.as_deref();
        Self {
            call_id: call_id.text(),
            tool: tool.filter(|_| is_tool).map(|tool| name(sinks, tool, text::NAME_CHARS)),
            // A tool event without a name says at least what the message was.
            method: ((!is_tool || tool.is_none()) && !method.is_empty()).then(|| fact(method)),
            request_id: request_id.map(|id| match id {
                RequestId::Number(number) => Cow::Owned(number.to_string()),
                RequestId::String(id) | RequestId::Json(id) => fact(id),
            }),
            client_name: client.and_then(|client| client.name()).map(fact),
            client_version: client.and_then(|client| client.version()).map(fact),
            protocol_version: origin.protocol_version.as_deref().map(fact),
            transport: origin.transport.as_deref().map(fact),
            route: origin.route.as_deref().map(fact),
            principal: origin.principal.as_deref().map(fact),
            session: origin.session.map(|session| Hex::new(session.bits().into())),
            trace_id: origin.trace.map(|trace| Hex::new(trace.trace_id)),
            span_id: origin.trace.map(|trace| Hex::new(trace.span_id.into())),
        }
    }
}

/// A number in `N` hexadecimal digits, written without an allocation.
struct Hex<const N: usize>([u8; N]);

impl<const N: usize> Hex<N> {
    fn new(mut number: u128) -> Self {
        let mut digits = [b'0'; N];
        for digit in digits.iter_mut().rev() {
            let low = (number & 15) as u8;
            *digit = if low < 10 { b'0' + low } else { b'a' + low - 10 };
            number >>= 4;
        }
        Self(digits)
    }

    fn as_str(&self) -> &str {
        // The digits are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A name that a peer may have chosen, made fit to print.
pub(super) fn name<'a>(sinks: &Sinks, name: &'a str, max: usize) -> Cow<'a, str> {
    // One word of letters: nothing that the default redactor would know as a secret.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    if name.len() <= max && sinks.have_default_redactor() && name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let redacted = redact::shielded(sinks, &text::cut(name, 8 * max));
    Cow::Owned(text::clean(&redacted, max).into_owned())
}

/// Writes one event at a level that is known only now: `tracing` fixes an event's level, target
/// and field names where it stands in the code, so there is one such place for each level.
macro_rules! at_level {
    ($level:expr, $($event:tt)+) => {
        match $level {
            Level::Trace => tracing::event!(target: TARGET, tracing::Level::TRACE, $($event)+),
            Level::Debug => tracing::event!(target: TARGET, tracing::Level::DEBUG, $($event)+),
            Level::Info => tracing::event!(target: TARGET, tracing::Level::INFO, $($event)+),
            Level::Warn => tracing::event!(target: TARGET, tracing::Level::WARN, $($event)+),
            Level::Error => tracing::event!(target: TARGET, tracing::Level::ERROR, $($event)+),
        }
    };
}

/// The event about a call's start, at DEBUG.
pub(crate) fn started(call: &Call, sinks: &Sinks) {
    if !target::is_listened_to(Level::Debug) {
        return;
    }
    let origin = call.origin();
    let kind = call.kind();
    let f = Fields::new(
        call.id(),
        kind.is_tool(),
        call.method(),
        call.tool(),
        call.request_id(),
        &origin,
        sinks,
    );
    let name = if kind.is_tool() { "tool_call_started" } else { "request_started" };
    tracing::event!(
        target: TARGET,
        tracing::Level::DEBUG,
        tool = f.tool.as_deref(),
        method = f.method.as_deref(),
        call_id = f.call_id.as_str(),
        request_id = f.request_id.as_deref(),
        client_name = f.client_name.as_deref(),
        client_version = f.client_version.as_deref(),
        protocol_version = f.protocol_version.as_deref(),
        transport = f.transport.as_deref(),
        route = f.route.as_deref(),
        session = f.session.as_ref().map(Hex::as_str),
        principal = f.principal.as_deref(),
        trace_id = f.trace_id.as_ref().map(Hex::as_str),
        span_id = f.span_id.as_ref().map(Hex::as_str),
        "{name}"
    );
}

/// The terminal event of a call, the texts of whose failure are redacted already.
pub(crate) fn finished(record: &Record, sinks: &Sinks) {
    write(record, record.event(), None, sinks);
}

/// The same of a failure that no terminal event tells of: `tool_failed`.
pub(crate) fn lost(record: &Record, sinks: &Sinks) {
    write(record, "tool_failed", Some(record.call_id), sinks);
}

fn write(record: &Record, event: &'static str, reference: Option<CallId>, sinks: &Sinks) {
    let f = Fields::new(
        record.call_id,
        record.kind.is_tool(),
        &record.method,
        record.tool.as_deref(),
        record.request_id.as_ref(),
        &record.origin,
        sinks,
    );
    let failure = record.failure.as_deref();
    let cause = failure.and_then(|failure| failure.cause.as_ref());
    let error = failure
        .and_then(|failure| failure.error.as_deref())
        .map(|error| text::clean(error, text::ERROR_CHARS));
    let reference = match (reference, failure.and_then(|failure| failure.reference.as_deref())) {
        (Some(reference), _) => Some(Cow::Owned(reference.to_string())),
        (None, Some(reference)) if reference != f.call_id.as_str() => {
            Some(name(sinks, reference, FACT_CHARS))
        }
        _ => None,
    };
    let error_type = cause.map(|cause| text::clean(&cause.error_type, text::ERROR_CHARS));
    let chain = cause.map(|cause| text::escape(&cause.chain));
    let task_id = record.task_id.as_deref().map(|id| name(sinks, id, FACT_CHARS));
    let notes = notes(record);
    // Milliseconds with three decimals.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 285 years")]
    let duration_ms = record.duration.as_micros() as f64 / 1000.0;
    at_level!(
        record.level(),
        tool = f.tool.as_deref(),
        method = f.method.as_deref(),
        outcome = record.outcome.as_str(),
        code = failure.map(|failure| failure.code.as_str()),
        actor = failure.and_then(|failure| failure.actor).map(|actor| actor.as_str()),
        retryable = failure.and_then(|failure| failure.retryable).map(|retry| retry.as_str()),
        error = error.as_deref(),
        error_type = error_type.as_deref(),
        cause = chain.as_deref(),
        location = cause.and_then(|cause| cause.location.as_deref()),
        backtrace = cause.and_then(|cause| cause.backtrace.as_deref()),
        reason = record.reason.map(|reason| reason.as_str()),
        duration_ms,
        call_id = f.call_id.as_str(),
        reference = reference.as_deref(),
        request_id = f.request_id.as_deref(),
        client_name = f.client_name.as_deref(),
        client_version = f.client_version.as_deref(),
        protocol_version = f.protocol_version.as_deref(),
        transport = f.transport.as_deref(),
        route = f.route.as_deref(),
        session = f.session.as_ref().map(Hex::as_str),
        principal = f.principal.as_deref(),
        task_id = task_id.as_deref(),
        request_bytes = record.request_bytes,
        result_bytes = record.result_bytes,
        result_scanned = (!record.result_scanned).then_some(false),
        trace_id = f.trace_id.as_ref().map(Hex::as_str),
        span_id = f.span_id.as_ref().map(Hex::as_str),
        notes = notes.as_deref(),
        "{event}"
    );
}

/// What the tool noted, as one JSON object: a value cannot pass for another note.
fn notes(record: &Record) -> Option<String> {
    if record.notes.is_empty() {
        return None;
    }
    let notes = record
        .notes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), serde_json::Value::from(text::escape(value))));
    Some(serde_json::Value::Object(notes.collect()).to_string())
}
