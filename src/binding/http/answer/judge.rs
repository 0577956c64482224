//! What a message that has gone by means for its call.

use std::{borrow::Cow, time::Duration};

use serde_json::{Map, Value};

use super::{kept::Kept, raw, task::TaskState};
use crate::{
    binding::{
        Answer, ErrorView, ResultView,
        http::scan::{Code, Envelope, ErrorFacts, Facts, ResultFacts, Shape},
    },
    call::{Call, NewTask, TaskForm, find_task},
    classify::{Judgement, judge, judge_error_of},
    tool_error::Declaration,
};

/// Whether a result says nothing that speaks against it.
pub(super) fn is_plain(facts: &Facts) -> bool {
    let result = &facts.result;
    result.is_error != Some(true) && result.record.is_absent() && facts.inner.is_none()
}

pub(super) fn judge_facts(
    call: &Call,
    facts: &Facts,
    raw: Option<&[u8]>,
    kept: &Kept,
) -> Judgement {
    match facts.envelope() {
        Envelope::Error => judge_error(call, facts, raw),
        _ => judge_result(call, facts, raw, kept),
    }
}

/// What an error means that has a status with it: it is about the request, whatever that asks for.
pub(super) fn judge_refusal(call: &Call, facts: &Facts, raw: Option<&[u8]>) -> Judgement {
    let kept = KeptError::new(&facts.error, raw, &["error", "code"]);
    with_data(judge_error_of(call, &kept.view()), &kept, raw)
}

fn judge_result(call: &Call, facts: &Facts, raw: Option<&[u8]>, kept: &Kept) -> Judgement {
    let result = &facts.result;
    if let Some(state) = TaskState::of_answer(call, facts) {
        return state.judge(call, raw, kept);
    }
    if result.is_input_required() {
        return judge(call, &Answer::InputRequired);
    }
    if call.kind().is_tool()
        && let Some(task) = result.created_task()
    {
        let form = if result.is_task() { TaskForm::Extension } else { TaskForm::Core };
        let (id, ttl) = (task.id.get(), task.ttl.map(Duration::from_millis));
        let task = id.as_deref().map(|id| NewTask { id, ttl, form });
        return judge(call, &Answer::Deferred(task));
    }
    // The result of a task is that of its own tool.
    let tool = match call.asked_task() {
        Some(id) => find_task(call, &id).call,
        None => call.clone(),
    };
    let kept = KeptResult::new(&tool, result, kept);
    let judgement = judge(call, &Answer::Result(kept.view()));
    // What is masked says it nowhere else.
    match raw.filter(|_| judgement.withhold && kept.text.is_none()) {
        Some(raw) => judgement.with_more_cause(raw::member(raw, &["result", "structuredContent"])),
        None => judgement,
    }
}

/// What is kept of a result, to be looked at.
pub(super) struct KeptResult<'a> {
    result: &'a ResultFacts,
    meta: Option<Map<String, Value>>,
    text: Option<Cow<'a, str>>,
    structured: Option<Value>,
    is_cut: bool,
}

impl<'a> KeptResult<'a> {
    /// `call` is the one whose result it is.
    pub(super) fn new(call: &Call, result: &'a ResultFacts, kept: &Kept) -> Self {
        let (structured, is_cut) = match structured(call, result, kept) {
            Some((structured, is_cut)) => (Some(structured), is_cut),
            None => (None, result.text.is_cut()),
        };
        let meta = record(result.record.get().as_deref());
        Self { result, meta, text: result.text.get(), structured, is_cut }
    }

    pub(super) fn view(&self) -> ResultView<'_> {
        ResultView {
            is_error: self.result.is_error == Some(true),
            meta: self.meta.as_ref(),
            text: self.text.as_deref(),
            is_text_alone: self.result.lone_text().is_some(),
            is_cut: self.is_cut,
            structured: self.structured.as_ref(),
        }
    }
}

/// What is kept of an error, to be looked at.
pub(super) struct KeptError<'a> {
    code: i64,
    message: Cow<'a, str>,
    pub(super) data: Option<Value>,
}

impl<'a> KeptError<'a> {
    /// `code` is where in `raw` its code stands.
    pub(super) fn new(error: &'a ErrorFacts, raw: Option<&[u8]>, code: &[&str]) -> Self {
        Self {
            code: match error.code {
                Code::Number(code) => code,
                // One that no protocol knows, nor 64 bits, is the author's; unless it is only
                // written so.
                Code::Invalid => raw.and_then(|raw| odd_code(raw, code)).unwrap_or_default(),
                // Nothing that says whose fault it is.
                Code::Absent => -32603,
            },
            message: error.message.get().unwrap_or_default(),
            data: record(error.record.get().as_deref()).map(Value::Object),
        }
    }

    pub(super) fn view(&self) -> ErrorView<'_> {
        ErrorView { code: self.code, message: &self.message, data: self.data.as_ref() }
    }
}

/// What is kept of `structuredContent`, where it is an object, and whether that is only a part.
fn structured(call: &Call, result: &ResultFacts, kept: &Kept) -> Option<(Value, bool)> {
    if result.structured_shape != Shape::Object {
        return None;
    }
    let found = match kept {
        _ if !kept.serves(call) => None,
        Kept::Members(asked) => result.members(asked).map(Value::Object),
        Kept::All | Kept::Nothing => {
            let json = result.structured.get();
            json.and_then(|json| serde_json::from_str(&json).ok())
        }
    };
    let is_cut = result.members_are_cut() || found.is_none();
    Some((found.unwrap_or_else(|| Value::Object(Map::new())), is_cut))
}

fn judge_error(call: &Call, facts: &Facts, raw: Option<&[u8]>) -> Judgement {
    let kept = KeptError::new(&facts.error, raw, &["error", "code"]);
    with_data(judge(call, &Answer::Error(kept.view())), &kept, raw)
}

/// With what is withheld and said nowhere else.
fn with_data(judgement: Judgement, kept: &KeptError<'_>, raw: Option<&[u8]>) -> Judgement {
    match raw.filter(|_| judgement.withhold && kept.data.is_none()) {
        Some(raw) => judgement.with_more_cause(raw::member(raw, &["error", "data"])),
        None => judgement,
    }
}

/// The object that has the record in it.
fn record(json: Option<&str>) -> Option<Map<String, Value>> {
    let record = serde_json::from_str(json?).ok()?;
    Some(Map::from_iter([(Declaration::KEY.to_owned(), record)]))
}

/// A code that is a whole number, but not written as one: `-32603.0`, `"-32603"`.
fn odd_code(message: &[u8], path: &[&str]) -> Option<i64> {
    let code: f64 = raw::member(message, path)?.trim_matches('"').parse().ok()?;
    let is_code = code.fract() == 0.0 && code.abs() < 1e9;
    #[allow(clippy::cast_possible_truncation, reason = "it was looked at")]
    is_code.then_some(code as i64)
}
