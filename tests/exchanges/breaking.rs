//! Exchanges that break: cut off, changed at random, or burnt down. Whatever comes, there is one
//! end of each call, and an answer where one can still be given.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::Value;
use tower_outcome::{Declaration, Outcome};

use crate::{
    check::{self, Checked, ensure},
    choices::{Choices, pieces},
    client::{Run, Setup, end_session},
    corpus::Exchange,
    events,
    framing::random,
    script::{Does, Step},
    stacks::{STACKS, Stack},
    whole::{Corpus, Wrong},
};

const SHORT: usize = 700;
const ENDS: [Option<Step>; 3] = [None, Some(Step::Error), Some(Step::Panic)];

/// Runs it, and ends its session, so that every call has to have ended.
fn broken(exchange: &Exchange, setup: Setup<'_>) -> Checked {
    let (stack, session) = (setup.stack, setup.session);
    let run = setup.run_as_it_is();
    end_session(exchange, session);
    each_ends_once(exchange, &run)?;
    let is_to_pass = !stack.contains() && run.panic.is_some();
    if is_to_pass { Ok(()) } else { check::sane(&run) }?;
    if stack.contains() { answered(exchange, &run) } else { Ok(()) }
}

/// The ids of the requests that it is known to carry.
fn ids(exchange: &Exchange) -> BTreeSet<String> {
    let events = exchange.expected.events.iter().filter_map(|event| event.id.clone());
    let ids = events.chain(exchange.expected.pending.iter().cloned());
    let meant = |id: String| {
        serde_json::from_str::<String>(&id).map_or(id, |text| Value::from(text).to_string())
    };
    ids.map(meant).collect()
}

fn each_ends_once(exchange: &Exchange, run: &Run) -> Checked {
    if exchange.expected.follows.is_some() {
        return Ok(());
    }
    for records in run.records() {
        let ends: Vec<String> = records.iter().map(check::summary).collect();
        for id in ids(exchange) {
            let count = ends.iter().filter(|end| end.ends_with(&format!(" {id}"))).count();
            ensure(count == 1, || format!("{count} ends of {id}: {ends:?}"))?;
        }
    }
    Ok(())
}

/// That a fault was told, unless something else had gone out before.
fn answered(exchange: &Exchange, run: &Run) -> Checked {
    let head = run.head.as_ref().ok_or_else(|| format!("no answer: {:?}", run.error))?;
    let text = run.bytes();
    let is_passed = head.status.is_client_error()
        || head.headers.contains_key("content-encoding")
        || head.status == 202
        || ids(exchange).is_empty();
    ensure(run.error.is_none() || !text.is_empty() || is_passed, || {
        format!("an error in the place of an answer: {:?}", run.error)
    })?;
    if run.error.is_some() || is_passed {
        return Ok(());
    }
    let media_type = head.headers.get("content-type").map_or(&b""[..], |it| it.as_bytes());
    let is_stream = media_type.starts_with(b"text/event-stream");
    // A result flows before its end is known, and a batch before its other answers are.
    let has_begun = !is_stream
        && exchange.response.body().starts_with(&text)
        && (text.starts_with(b"[") || text.windows(5).any(|window| window == b"esult"));
    let told: Vec<String> = if is_stream {
        let (events, rest) = events::read(&text);
        // Lines before the data of an event that was dropped are dispatched by nobody.
        let is_tail = exchange.response.body().ends_with(rest)
            || !rest.split(|byte| matches!(byte, b'\n' | b'\r')).any(|it| it.starts_with(b"data"));
        ensure(is_tail, || format!("open: {rest:?}"))?;
        let data = events.iter().filter_map(events::Event::data);
        data.flat_map(|data| check::messages(&data).unwrap_or_default()).collect()
    } else {
        check::messages(&text).unwrap_or_default()
    };
    for records in run.records() {
        for record in records {
            let is_owed = record.outcome == Outcome::Fault && record.request_id.is_some();
            let was_read = record.result_bytes.is_some() && record.result_bytes != Some(0);
            let line = check::summary(&record);
            let id = line.splitn(5, ' ').nth(4).unwrap_or_default();
            let is_told = told.iter().any(|message| means(&check::id_of(message), id))
                || (told.is_empty() && is_told_beside(&text, id));
            ensure(is_told || !is_owed || was_read || has_begun, || {
                format!("{line} was not told: {:?}", Bytes::copy_from_slice(&text))
            })?;
        }
    }
    Ok(())
}

/// Whether an answer of ours stands in a batch that is no JSON otherwise.
fn is_told_beside(text: &[u8], id: &str) -> bool {
    let text = String::from_utf8_lossy(text);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":"#);
    text.contains(&answer) && text.contains(Declaration::KEY)
}

fn means(id: &str, other: &str) -> bool {
    serde_json::from_str::<String>(id)
        .map_or(id == other, |text| Value::from(text).to_string().as_str() == other)
}

#[test]
fn answers_that_end_at_every_byte() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for exchange in corpus.all() {
        let body = exchange.response.body();
        let step = if exchange.name.starts_with("invented/") { 1 } else { 23 };
        for at in (0..body.len().min(SHORT)).step_by(step) {
            let stack = STACKS[at / step % STACKS.len()];
            // Each end with each stack, some bytes apart.
            let end = ENDS[at / step / STACKS.len() % ENDS.len()].clone();
            let mut cut = exchange.clone();
            *cut.response.body_mut() = body.slice(..at);
            cut.response.headers_mut().remove("content-length");
            let mut setup = Setup::new(&cut, stack);
            setup.response = pieces(&body.slice(..at), 64);
            setup.response.extend(end.clone());
            wrong.add(&exchange.name, broken(&cut, setup), || format!("{stack:?} {end:?} {at}"));
        }
    }
    wrong.report();
}

#[test]
fn services_that_fail_before_the_head() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for (at, exchange) in corpus.all().iter().enumerate() {
        for stack in STACKS.into_iter().skip(at % 3).step_by(3) {
            for does in [Does::PanicsInCall, Does::PanicsInFuture, Does::Fails] {
                let mut setup = Setup::new(exchange, stack);
                setup.does = does;
                let session = setup.session;
                let run = setup.run_as_it_is();
                end_session(exchange, session);
                let had = failed(exchange, stack, does, &run);
                wrong.add(&exchange.name, had, || format!("{stack:?} {does:?}"));
            }
        }
    }
    wrong.report();
}

fn failed(exchange: &Exchange, stack: Stack, does: Does, run: &Run) -> Checked {
    each_ends_once(exchange, run)?;
    let code = if does == Does::Fails { "internal_error" } else { "panic" };
    for record in run.records().into_iter().flatten() {
        let line = check::summary(&record);
        let is_fault = line.contains(&format!(" fault {code} ERROR "));
        ensure(is_fault, || line)?;
    }
    if !stack.contains() {
        return ensure(run.panic.is_some() || run.error.is_some(), || "answered".to_owned());
    }
    check::sane(run)?;
    let head = run.head.as_ref().ok_or("no answer")?;
    let text = run.bytes();
    let leaks = text.windows(7).any(|window| window == b"hunter2");
    ensure(!leaks, || format!("leaked: {:?}", Bytes::copy_from_slice(&text)))?;
    let ids = ids(exchange);
    if exchange.expected.follows.is_some() || ids.is_empty() {
        return ensure(text.is_empty() || head.status == 200, || head.status.to_string());
    }
    ensure(head.status == 200, || head.status.to_string())?;
    let is_json = head.headers.get("content-type").is_some_and(|it| it == "application/json");
    let told: Vec<String> = match is_json {
        true => check::messages(&text)?,
        false => {
            let (events, _) = events::read(&text);
            let data = events.iter().filter_map(events::Event::data);
            data.map(|data| String::from_utf8(data).unwrap()).collect()
        }
    };
    ensure(told.len() == ids.len(), || format!("{} answers for {ids:?}", told.len()))?;
    told.iter().try_for_each(|message| {
        check::fault(message, run)?;
        let id = check::id_of(message);
        ensure(ids.iter().any(|own| means(&id, own)), || format!("not asked for: {message}"))
    })
}

#[test]
fn bodies_that_burst() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for exchange in corpus.all() {
        for stack in STACKS.into_iter().filter(|stack| stack.contains()) {
            let setup = Setup { bursts: true, ..Setup::new(exchange, stack) };
            let session = setup.session;
            let run = setup.run();
            // Where nothing inside contains, it is the answer that panicked.
            let had = match exchange.expected.follows {
                None if stack != Stack::ContainLog => check::run(exchange, stack, session, &run),
                _ => check::sane(&run),
            };
            end_session(exchange, session);
            wrong.add(&exchange.name, had, || format!("{stack:?}"));
        }
    }
    wrong.report();
}

#[test]
fn answers_changed_at_random() {
    let corpus = Corpus::read();
    random(3000, |choices| {
        let exchange = &corpus.all()[choices.below(corpus.all().len())];
        let stack = choices.of(&STACKS);
        let mut changed = exchange.clone();
        let body = change(exchange.response.body(), choices);
        *changed.response.body_mut() = body.clone();
        changed.response.headers_mut().remove("content-length");
        let mut setup = Setup::new(&changed, stack);
        setup.response = choices.frames(&body);
        setup.response.extend(ENDS[choices.below(ENDS.len())].clone());
        setup.tells_end = choices.once_in(2);
        broken(&changed, setup)
            .map_err(|why| format!("{}, {stack:?}: {why}\n{body:?}", exchange.name))
    });
}

#[test]
fn requests_changed_at_random() {
    let corpus = Corpus::read();
    random(3000, |choices| {
        let exchange = &corpus.all()[choices.below(corpus.all().len())];
        let stack = choices.of(&STACKS);
        let mut changed = exchange.clone();
        let body = change(exchange.request.body(), choices);
        *changed.request.body_mut() = body.clone();
        changed.request.headers_mut().remove("content-length");
        let does =
            choices.of(&[Does::Answers, Does::AnswersAtOnce, Does::PanicsInFuture, Does::Fails]);
        let mut setup = Setup { does, ..Setup::new(&changed, stack) };
        let is_broken = choices.once_in(5);
        setup.request = choices.frames(&body);
        setup.request.extend(is_broken.then_some(Step::Error));
        let session = setup.session;
        let run = setup.run_as_it_is();
        end_session(&changed, session);
        let had = unharmed(&changed, stack, does, is_broken, &run);
        had.map_err(|why| format!("{}, {stack:?}, {does:?}: {why}\n{body:?}", exchange.name))
    });
}

/// That the server got what was sent, and that there is an end of what is a request.
fn unharmed(exchange: &Exchange, stack: Stack, does: Does, is_broken: bool, run: &Run) -> Checked {
    if does != Does::AnswersAtOnce {
        check::same("the server read", &run.got.body, exchange.request.body())?;
        ensure(run.got.error.is_some() == is_broken, || format!("{:?}", run.got.error))?;
    }
    if stack.contains() {
        check::sane(run)?;
        ensure(run.head.is_some(), || format!("no answer: {:?}", run.error))?;
    }
    let message: Value = match serde_json::from_slice(exchange.request.body()) {
        Ok(message) if exchange.request.method() == "POST" => message,
        _ => return Ok(()),
    };
    let is_request = message.get("method").is_some() && message.get("id").is_some();
    if !is_request || is_broken {
        return Ok(());
    }
    for records in run.records() {
        ensure(records.len() == 1, || format!("{} ends: {records:?}", records.len()))?;
    }
    Ok(())
}

/// Some bytes changed, taken out, put in, or said again.
fn change(bytes: &Bytes, choices: &mut Choices<'_>) -> Bytes {
    let mut changed = bytes.to_vec();
    for _ in 0..=choices.below(4) {
        let at = choices.below(changed.len() + 1);
        let end = (at + choices.below(12)).min(changed.len());
        match choices.below(5) {
            0 => {
                if let Some(byte) = changed.get_mut(at) {
                    *byte = choices.below(256) as u8;
                }
            }
            1 => drop(changed.drain(at..end)),
            2 => {
                let again = changed[at..end].to_vec();
                let to = choices.below(changed.len() + 1);
                changed.splice(to..to, again);
            }
            3 => {
                let other = choices.of(&OTHERS);
                changed.splice(at..at, other.bytes());
            }
            _ => {
                let other = choices.of(&OTHERS);
                changed.splice(at..end, other.bytes());
            }
        }
    }
    changed.into()
}

const OTHERS: [&str; 16] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r\n\r\n",
    "\"id\":null",
    "\"error\":{\"code\":-32603}",
    "\"result\":{}",
    "\"method\":\"m\"",
    "data: ",
    "\u{feff}",
];
