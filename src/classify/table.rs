//! The one table that says what every kind of end is called.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    soft::{Payload, payload_of},
    task::{EndedTask, judge_of_task},
};
use crate::{
    binding::{Answer, ErrorView, ResultView},
    call::{Call, Kind, Verdict},
    outcome::{Actor, Cause, Code, Declared, Failure},
    policy::{Heals, Policy, Refusal},
    target, text,
    tool_error::Declaration,
    unwind,
};

/// Bytes of an answer's text that are kept until it is redacted and cut.
const ERROR_BYTES: usize = 16 * text::ERROR_CHARS;

/// What an answer means, and whether it may go out as it is.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// Its text is not for the client: containment puts the fixed text in its place. Of an answer
    /// that [is about a task](Answer::Task), in the place of what that ended in.
    pub(crate) withhold: bool,
    /// What sort of request it is an answer to in effect, where that is not the one it answers.
    pub(crate) answer_as: Option<Kind>,
    /// The task that has ended, as it says: to be told.
    pub(crate) task: Option<Box<EndedTask>>,
    /// It could not be read whether it is a failure.
    pub(crate) is_unread: bool,
}

impl Judgement {
    /// The same, with more of what the client is not told.
    #[cfg(feature = "http")]
    pub(crate) fn with_more_cause(self, more: Option<String>) -> Self {
        match more {
            Some(more) => Self { verdict: self.verdict.with_more_cause(&more), ..self },
            None => self,
        }
    }

    /// Tells `call`, and that of a task that has ended, what else is known, as it came. Gives what
    /// the answer means to its own request.
    pub(crate) fn told(self, call: &Call) -> Verdict {
        if self.is_unread {
            call.set_result_unread();
        }
        if let Some(task) = self.task {
            task.tell();
        }
        self.verdict
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, withhold: false, answer_as: None, task: None, is_unread: false }
    }
}

/// What `answer` means for `call`.
///
/// The order of precedence: a valid record; then "not a tool call"; then an unknown tool; then
/// the flag or the code.
pub(crate) fn judge(call: &Call, answer: &Answer<'_>) -> Judgement {
    if let Some(judgement) = judge_of_task(call, answer) {
        return judgement;
    }
    match answer {
        Answer::Result(result) => match result.meta.and_then(|meta| meta.get(Declaration::KEY)) {
            None if !result.is_error => judge_payload(call, result),
            record => judge_failed_result(call, result, record),
        },
        Answer::Deferred(task) => Verdict::deferred(*task).into(),
        Answer::InputRequired => Verdict::input_required().into(),
        Answer::Task(_) | Answer::Nothing => Verdict::completed().into(),
        Answer::Error(error) => judge_error_of(call, error),
    }
}

fn judge_failed_result(call: &Call, result: &ResultView<'_>, record: Option<&Value>) -> Judgement {
    let policy = call.policy();
    let text = result.text.map(bounded);
    if let Some(declaration) = record.and_then(Declaration::from_value) {
        return declared(&declaration, text, &policy).into();
    }
    // A record that is none declares nothing, and no other request's result has the flag.
    if !(result.is_error && call.kind().is_tool()) {
        return judge_payload(call, result);
    }
    if call.kind() == Kind::MalformedToolCall {
        let text = result.text.unwrap_or_default();
        return protocol_error(Code::INVALID_PARAMS, text, &policy).into();
    }
    if let Some(text) = result.text {
        match policy.refusal(text, call.tool().unwrap_or_default()) {
            Some(Refusal::InvalidArguments) => {
                return rejected(Code::INVALID_ARGUMENTS, text, &policy).into();
            }
            Some(Refusal::UnknownTool) => {
                return protocol_error(Code::UNKNOWN_TOOL, text, &policy).into();
            }
            None => {}
        }
    }
    let verdict = undeclared(text, &policy);
    if policy.masks_undeclared() {
        let hidden = match (result.text, result.structured) {
            (Some(text), _) => bounded(text),
            (None, Some(structured)) => json_start(structured),
            (None, None) => String::new(),
        };
        let hidden = Cause::new("is_error", hidden);
        return Judgement { withhold: true, ..verdict.with_cause(hidden).into() };
    }
    verdict.into()
}

/// What a result says that no flag calls a failure.
fn judge_payload(call: &Call, result: &ResultView<'_>) -> Judgement {
    let completed = Judgement::from(Verdict::completed());
    if call.kind() != Kind::ToolCall {
        return completed;
    }
    let policy = call.policy();
    let tool = call.tool().unwrap_or_default();
    let classifier = policy.classifier_of(tool);
    if !classifier.is_on() {
        return completed;
    }
    let payload = match payload_of(result, classifier.members()) {
        Payload::None => return completed,
        Payload::Unread => return Judgement { is_unread: true, ..completed },
        Payload::Object(payload) => payload,
    };
    match unwind::catch(|| classifier.classify(tool, &payload)) {
        Ok(None) => completed,
        Ok(Some(error)) => {
            let level = policy.level_of_undeclared(&Code::SOFT_ERROR);
            Verdict::soft_error(bounded(&error)).with_level(level).into()
        }
        Err(cause) => {
            target::classifier_panicked(&cause);
            completed
        }
    }
}

/// What an error means to the request that it answers, whatever that asks for.
pub(crate) fn judge_error_of(call: &Call, error: &ErrorView<'_>) -> Judgement {
    let policy = call.policy();
    let record = error.data.and_then(Value::as_object).and_then(|data| data.get(Declaration::KEY));
    if let Some(declaration) = record.and_then(Declaration::from_value) {
        return declared(&declaration, Some(bounded(error.message)), &policy).into();
    }
    // URLElicitationRequired: an answer that asks for input, in an error's clothes.
    if error.code == -32042 {
        return Verdict::input_required().into();
    }
    if call.kind() == Kind::MalformedToolCall {
        return protocol_error(Code::INVALID_PARAMS, error.message, &policy).into();
    }
    let Some(code) = code_of_protocol_error(error.code) else {
        return judge_unlisted_error(error, &policy);
    };
    let is_refused = call.kind() == Kind::ToolCall && matches!(error.code, -32601 | -32602);
    let tool = call.tool().unwrap_or_default();
    let code = match policy.refusal(error.message, tool).filter(|_| is_refused) {
        Some(Refusal::UnknownTool) => Code::UNKNOWN_TOOL,
        Some(Refusal::InvalidArguments) | None => code,
    };
    protocol_error(code, error.message, &policy).into()
}

fn judge_unlisted_error(error: &ErrorView<'_>, policy: &Policy) -> Judgement {
    if error.code != -32603 && !(-32099..=-32000).contains(&error.code) {
        return undeclared(Some(bounded(error.message)), policy).into();
    }
    // What an SDK says of its own troubles, or an author of a dependency's: not for the client.
    let mut hidden = bounded(error.message);
    if let Some(data) = error.data {
        hidden.push(' ');
        hidden.push_str(&json_start(data));
    }
    let cause = Cause::new(format!("jsonrpc_error {}", error.code), hidden);
    let verdict = fault(Code::INTERNAL_ERROR, None, cause, policy);
    Judgement { withhold: true, ..verdict.into() }
}

/// The errors by which a server tells a client what is wrong with its request. They go out
/// unchanged: clients and their authors act on them.
fn code_of_protocol_error(code: i64) -> Option<Code> {
    Some(match code {
        -32700 => Code::PARSE_ERROR,
        -32600 => Code::INVALID_REQUEST,
        -32601 => Code::METHOD_NOT_FOUND,
        -32602 => Code::INVALID_PARAMS,
        -32002 => Code::RESOURCE_NOT_FOUND,
        -32020 => Code::HEADER_MISMATCH,
        -32021 => Code::MISSING_CAPABILITY,
        -32022 => Code::UNSUPPORTED_VERSION,
        _ => return None,
    })
}

fn declared(declaration: &Declaration, error: Option<String>, policy: &Policy) -> Verdict {
    let (code, actor) = (declaration.code(), declaration.actor());
    let failure = Failure {
        level: policy.level_of(&code, declaration.level, actor.default_level()),
        retryable: Some(declaration.retryable()),
        error: error.or_else(|| declaration.message.clone()),
        reference: declaration.reference.clone(),
        ..Failure::new(code, actor)
    };
    Verdict::declared(declaration.outcome, failure)
}

fn rejected(code: Code, error: &str, policy: &Policy) -> Verdict {
    let failure = Failure {
        level: policy.level_of(&code, None, Actor::Model.default_level()),
        error: Some(bounded(error)),
        ..Failure::new(code, Actor::Model)
    };
    Verdict::declared(Declared::Rejected, failure)
}

fn protocol_error(code: Code, error: &str, policy: &Policy) -> Verdict {
    let level = policy.level_of(&code, None, Actor::Model.default_level());
    Verdict::protocol_error(code, Some(bounded(error))).with_level(level)
}

pub(super) fn undeclared(error: Option<String>, policy: &Policy) -> Verdict {
    Verdict::undeclared(error).with_level(policy.level_of_undeclared(&Code::UNDECLARED_ERROR))
}

/// A fault that nobody declared, at the policy's level: for the operator, unless it heals itself.
pub(crate) fn fault(code: Code, heals: Option<Heals>, cause: Cause, policy: &Policy) -> Verdict {
    let actor = if heals.is_some() { Actor::Time } else { Actor::Operator };
    let level = policy.level_of(&code, None, actor.default_level());
    Verdict::fault(code, actor, Some(cause)).with_level(level)
}

fn json_start(value: &Value) -> String {
    text::json_within(value, text::CAUSE_BYTES).unwrap_or_else(|start| start + "…")
}

pub(super) fn bounded(text: &str) -> String {
    match text::cut_bytes(text, ERROR_BYTES) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Level, Outcome};

    fn call(tool: &str) -> Call {
        Call::begin(Kind::ToolCall, "tools/call".into(), Some(tool), None)
    }

    fn summary(judgement: &Judgement) -> (Outcome, Option<&str>, Option<Level>, bool) {
        let failure = judgement.verdict.failure();
        (
            judgement.verdict.outcome(),
            failure.map(|failure| failure.code.as_str()),
            failure.map(|failure| failure.level),
            judgement.withhold,
        )
    }

    #[test]
    fn every_listed_code_has_its_name_and_passes() {
        for (code, name) in [
            (-32700, "parse_error"),
            (-32600, "invalid_request"),
            (-32601, "method_not_found"),
            (-32602, "invalid_params"),
            (-32002, "resource_not_found"),
            (-32020, "header_mismatch"),
            (-32021, "missing_capability"),
            (-32022, "unsupported_version"),
        ] {
            let error = ErrorView { code, message: "no", data: None };
            let judgement = judge(&call("t"), &Answer::Error(error));
            let expected = (Outcome::ProtocolError, Some(name), Some(Level::Info), false);
            assert_eq!(summary(&judgement), expected, "{code}");
        }
    }

    #[test]
    fn server_side_codes_are_faults_whose_text_is_withheld() {
        for code in [-32603, -32099, -32050, -32001, -32000] {
            let data = serde_json::json!({"at": "/srv/a.db"});
            let error = ErrorView { code, message: "boom", data: Some(&data) };
            let judgement = judge(&call("t"), &Answer::Error(error));
            let expected = (Outcome::Fault, Some("internal_error"), Some(Level::Error), true);
            assert_eq!(summary(&judgement), expected, "{code}");
            let cause = judgement.verdict.failure().and_then(|failure| failure.cause.as_ref());
            assert_eq!(cause.map(|cause| &*cause.chain), Some("boom {\"at\":\"/srv/a.db\"}"));
        }
    }

    #[test]
    fn codes_of_an_authors_own_pass_and_are_undeclared() {
        for code in [-31999, -32100, 0, 1, 404, i64::MIN, i64::MAX] {
            let error = ErrorView { code, message: "mine", data: None };
            let judgement = judge(&call("t"), &Answer::Error(error));
            let expected =
                (Outcome::Undeclared, Some("undeclared_error"), Some(Level::Error), false);
            assert_eq!(summary(&judgement), expected, "{code}");
        }
    }

    #[test]
    fn an_unknown_tool_is_recognised_in_every_sdks_form_and_nowhere_else() {
        let both = [
            Answer::Error(ErrorView { code: -32602, message: "tool not found", data: None }),
            Answer::Error(ErrorView { code: -32601, message: "Unknown tool: nope", data: None }),
            Answer::Result(ResultView {
                is_error: true,
                text: Some("Unknown tool: nope"),
                ..ResultView::default()
            }),
        ];
        for answer in both {
            let judgement = judge(&call("nope"), &answer);
            let expected = (Outcome::ProtocolError, Some("unknown_tool"), Some(Level::Info), false);
            assert_eq!(summary(&judgement), expected, "{answer:?}");
        }
    }

    #[test]
    fn a_record_without_the_flag_is_still_a_failure_and_an_invalid_one_is_none() {
        let meta = |record: Value| match serde_json::json!({ Declaration::KEY: record }) {
            Value::Object(meta) => meta,
            _ => serde_json::Map::new(),
        };
        let valid = meta(serde_json::json!({"outcome": "stale", "code": "version_conflict"}));
        let view = ResultView { meta: Some(&valid), ..ResultView::default() };
        let judgement = judge(&call("t"), &Answer::Result(view));
        let expected = (Outcome::Stale, Some("version_conflict"), Some(Level::Info), false);
        assert_eq!(summary(&judgement), expected);

        let invalid = meta(serde_json::json!({"outcome": "exploded"}));
        let view = ResultView { meta: Some(&invalid), ..ResultView::default() };
        assert_eq!(judge(&call("t"), &Answer::Result(view)).verdict.outcome(), Outcome::Completed);
        let view = ResultView { is_error: true, ..view };
        assert_eq!(judge(&call("t"), &Answer::Result(view)).verdict.outcome(), Outcome::Undeclared);
    }

    #[test]
    fn a_url_elicitation_asks_for_input() {
        let error = ErrorView { code: -32042, message: "open this", data: None };
        let judgement = judge(&call("t"), &Answer::Error(error));
        assert_eq!(summary(&judgement), (Outcome::InputRequired, None, None, false));
    }

    #[test]
    fn a_message_that_is_no_tool_call_has_invalid_params() {
        let call = Call::begin(Kind::MalformedToolCall, "tools/call".into(), None, None);
        let error = ErrorView { code: -32601, message: "tools/call", data: None };
        let judgement = judge(&call, &Answer::Error(error));
        let expected = (Outcome::ProtocolError, Some("invalid_params"), Some(Level::Info), false);
        assert_eq!(summary(&judgement), expected);
    }
}
