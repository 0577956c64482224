//! What a message that has gone by means for its call.

use serde_json::{Map, Value};

use super::raw;
use crate::{
    binding::{
        Answer, ErrorView, ResultView,
        http::scan::{Code, Envelope, Facts, Members, ResultFacts, Shape},
    },
    call::Call,
    classify::{Judgement, judge},
    tool_error::Declaration,
};

/// Whether a result says nothing that speaks against it.
pub(super) fn is_plain(facts: &Facts) -> bool {
    let result = &facts.result;
    result.is_error != Some(true) && result.record.is_absent()
}

pub(super) fn judge_facts(
    call: &Call,
    facts: &Facts,
    raw: Option<&[u8]>,
    asked: Option<&Members>,
) -> Judgement {
    match facts.envelope() {
        Envelope::Error => judge_error(call, facts, raw),
        _ => judge_result(call, facts, raw, asked),
    }
}

fn judge_result(
    call: &Call,
    facts: &Facts,
    raw: Option<&[u8]>,
    asked: Option<&Members>,
) -> Judgement {
    let result = &facts.result;
    if result.is_input_required() {
        return judge(call, &Answer::InputRequired);
    }
    if call.kind().is_tool()
        && let Some(task) = result.created_task()
    {
        return judge(call, &Answer::Deferred { task_id: task.get().as_deref() });
    }
    let is_error = result.is_error == Some(true);
    let meta = record(result.record.get().as_deref());
    let text = result.text.get();
    let structured = structured(result, asked);
    let view = ResultView {
        is_error,
        meta: meta.as_ref(),
        text: text.as_deref(),
        is_text_alone: result.lone_text().is_some(),
        is_cut: match &structured {
            Some(_) => result.members_are_cut() || result.structured.is_cut(),
            None => result.text.is_cut(),
        },
        structured: structured.as_ref(),
    };
    let judgement = judge(call, &Answer::Result(view));
    // What is masked says it nowhere else.
    match raw.filter(|_| judgement.withhold && text.is_none()) {
        Some(raw) => judgement.with_more_cause(raw::member(raw, &["result", "structuredContent"])),
        None => judgement,
    }
}

/// What is kept of `structuredContent`, where it is an object.
fn structured(result: &ResultFacts, asked: Option<&Members>) -> Option<Value> {
    match asked {
        Some(asked) => result.members(asked).map(Value::Object),
        None if result.structured_shape != Shape::Object => None,
        None => match result.structured.get() {
            Some(json) => serde_json::from_str(&json).ok(),
            // Too long, or nobody asks.
            None => result.structured.is_cut().then(|| Value::Object(Map::new())),
        },
    }
}

fn judge_error(call: &Call, facts: &Facts, raw: Option<&[u8]>) -> Judgement {
    let error = &facts.error;
    let code = match error.code {
        Code::Number(code) => code,
        // One that no protocol knows, nor 64 bits, is the author's; unless it is only written so.
        Code::Invalid => raw.and_then(odd_code).unwrap_or_default(),
        // Nothing that says whose fault it is.
        Code::Absent => -32603,
    };
    let message = error.message.get().unwrap_or_default();
    let data = record(error.record.get().as_deref()).map(Value::Object);
    let view = ErrorView { code, message: &message, data: data.as_ref() };
    let judgement = judge(call, &Answer::Error(view));
    match raw.filter(|_| judgement.withhold && data.is_none()) {
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
fn odd_code(message: &[u8]) -> Option<i64> {
    let code: f64 = raw::member(message, &["error", "code"])?.trim_matches('"').parse().ok()?;
    let is_code = code.fract() == 0.0 && code.abs() < 1e9;
    #[allow(clippy::cast_possible_truncation, reason = "it was looked at")]
    is_code.then_some(code as i64)
}
