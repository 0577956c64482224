//! Takes secrets out of a record, and cuts its texts to what is kept.

use super::Record;
use crate::{
    redact::{self, Redact},
    text,
};

/// Takes secrets out of all texts of a record, and cuts them to what is kept.
pub(super) fn redact(redactor: &dyn Redact, record: &mut Record) {
    if let Some(failure) = &mut record.failure {
        if let Some(error) = &mut failure.error {
            let redacted = redact::start(redactor, error, text::ERROR_CHARS);
            *error = text::cut(&redacted, text::ERROR_CHARS).into_owned();
        }
        if let Some(cause) = &mut failure.cause {
            let chain = redact::start(redactor, &cause.chain, text::CAUSE_BYTES);
            cause.chain = text::cut_bytes(&chain, text::CAUSE_BYTES).into_owned();
            if let Some(backtrace) = &mut cause.backtrace {
                let redacted = redact::start(redactor, backtrace, text::BACKTRACE_BYTES);
                *backtrace = text::cut_bytes(&redacted, text::BACKTRACE_BYTES).into_owned();
            }
        }
    }
    for (_, value) in &mut record.notes {
        let redacted = redact::start(redactor, value, text::NOTE_BYTES);
        *value = text::cut_bytes(&redacted, text::NOTE_BYTES).into_owned();
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::{
        call::{Call, Kind},
        outcome::{Cause, Code, Failure, Level},
        redact::Redactor,
    };

    fn record(error: &str, chain: &str) -> Record {
        let mut cause = Cause::new("error", chain);
        cause.backtrace = Some("token=abc".into());
        let failure = Failure {
            code: Code::INTERNAL_ERROR,
            actor: None,
            level: Level::Error,
            retryable: None,
            error: Some(error.into()),
            reference: None,
            cause: Some(cause),
        };
        let call = Call::begin(Kind::ToolCall, "tools/call".into(), Some("t"), None);
        Record {
            call_id: call.id(),
            kind: Kind::ToolCall,
            method: "tools/call".into(),
            tool: None,
            request_id: None,
            origin: Default::default(),
            outcome: crate::Outcome::Fault,
            failure: Some(Box::new(failure)),
            reason: None,
            task_id: None,
            duration: Default::default(),
            request_bytes: None,
            result_bytes: None,
            result_scanned: true,
            notes: vec![("url", "https://u:p@h".into())],
        }
    }

    /// The texts of a record: error, chain, backtrace, note.
    fn texts(record: &Record) -> [String; 4] {
        let failure = record.failure.as_ref().unwrap();
        let cause = failure.cause.as_ref().unwrap();
        let note = record.notes.first().unwrap().1.clone();
        [
            failure.error.clone().unwrap(),
            cause.chain.clone(),
            cause.backtrace.clone().unwrap(),
            note,
        ]
    }

    #[test]
    fn all_texts_of_a_record_are_redacted_and_bounded() {
        let secret = "postgres://app:hunter2@db ";
        let mut record = record(&secret.repeat(5_000), &secret.repeat(50_000));
        redact(&Redactor::new(), &mut record);
        let [error, chain, backtrace, note] = texts(&record);
        assert_eq!(error.chars().count(), text::ERROR_CHARS);
        assert!(chain.len() <= text::CAUSE_BYTES && chain.len() > text::CAUSE_BYTES - 8);
        assert!(!error.contains("hunter2") && !chain.contains("hunter2"));
        assert_eq!(backtrace, "token=[redacted]");
        assert_eq!(note, "https://[redacted]@h");
    }

    #[test]
    fn a_redactor_that_panics_costs_the_texts() {
        struct Broken;
        impl Redact for Broken {
            fn redact<'a>(&self, _: &'a str) -> Cow<'a, str> {
                panic!("broken")
            }
        }
        let mut record = record("password=x", "password=x");
        redact(&Broken, &mut record);
        for text in texts(&record) {
            assert!(text.contains("not shown"), "{text}");
        }
    }
}
