//! Clients that leave, at every poll: each call has one end, which is the one that it had reached.

use std::collections::BTreeSet;

use crate::{
    check::{self, Checked, ensure},
    choices::pieces,
    client::{Run, Setup, end_session},
    corpus::{Event, Exchange},
    script::{Does, Step},
    stacks::{STACKS, Stack},
    whole::{Corpus, Wrong},
};

/// Each body in pieces, with a pause before each and at the end.
fn slow(exchange: &Exchange, stack: Stack) -> Setup<'_> {
    let steps = |body, size| -> Vec<Step> {
        let pieces = pieces(body, size).into_iter();
        pieces.flat_map(|piece| [Step::Pending, piece]).chain([Step::Pending]).collect()
    };
    let mut setup = Setup::new(exchange, stack);
    let (asked, said) = (exchange.request.body(), exchange.response.body());
    setup.request = steps(asked, (asked.len() / 3).max(1));
    setup.response = steps(said, (said.len() / 8).max(1));
    setup
}

#[test]
fn at_every_poll() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for (at, exchange) in corpus.all().iter().enumerate() {
        if exchange.expected.follows.is_some() {
            continue;
        }
        let few = if exchange.name.starts_with("invented/") { 2 } else { 1 };
        let stacks = (0..few).map(|more| STACKS[(at + 2 * more) % STACKS.len()]);
        for stack in stacks {
            let setup = slow(exchange, stack);
            let session = setup.session;
            let whole = setup.run();
            let had = check::run(exchange, stack, session, &whole);
            wrong.add(&exchange.name, had, || format!("{stack:?}"));
            for polls in 0..whole.polls {
                let mut setup = slow(exchange, stack);
                setup.leaves_after = Some(polls);
                let session = setup.session;
                let run = setup.run();
                let had = left(exchange, &whole, &run, session);
                wrong.add(&exchange.name, had, || format!("{stack:?} {polls}"));
            }
        }
    }
    wrong.report();
}

/// That what began has ended once.
fn left(exchange: &Exchange, whole: &Run, run: &Run, session: usize) -> Checked {
    ensure(run.has_left, || "it has not left".to_owned())?;
    let before = run.records();
    end_session(exchange, session);
    check::sane(run)?;
    if run.got.parts.is_none() {
        // Nobody knows what would have been asked.
        return ensure(run.records().concat().is_empty(), || format!("{:?}", run.records()));
    }
    let reached: BTreeSet<String> = whole.records().concat().iter().map(check::summary).collect();
    let is_whole = run.bytes() == whole.bytes() && run.head.is_some();
    for (records, before) in run.records().iter().zip(&before) {
        let ends: Vec<String> = records.iter().map(check::summary).collect();
        let count = ends.iter().filter(is_request).count();
        ensure(count == requests(exchange), || format!("{ends:?}"))?;
        for (at, end) in ends.iter().enumerate() {
            // Of a session it may be that it was waited for.
            let has_left = end.contains(left_word(exchange))
                || (at >= before.len() && end.contains(" abandoned - "));
            // A status says enough, where what its body says more has not come.
            let status = exchange.response.status();
            let by_status = status.is_client_error()
                && (end.contains(&format!(" http_{} ", status.as_u16())) || status == 429);
            let is_reached = reached.contains(end) || by_status;
            ensure(is_reached || has_left, || format!("{end}, whole: {reached:?}"))?;
            ensure(is_reached || !is_whole || !has_answer(exchange), || {
                format!("{end} after {reached:?}")
            })?;
        }
    }
    Ok(())
}

/// How a call ends whose client leaves: from 2026-07-28 on it says by that that it cancels.
fn left_word(exchange: &Exchange) -> &'static str {
    match exchange.expected.revision.as_deref() {
        Some("2026-07-28") => " cancelled - ",
        _ => " abandoned - ",
    }
}

fn is_request(end: &&String) -> bool {
    !end.starts_with("notification_")
}

/// How many requests it carries.
fn requests(exchange: &Exchange) -> usize {
    let expected = &exchange.expected;
    let ends = expected.events.iter().filter(|event| is_request(&&event.name));
    ends.count() + expected.pending.len()
}

/// Whether what ends its calls is in its body, not that there is no more of it.
fn has_answer(exchange: &Exchange) -> bool {
    let by_end = |event: &Event| event.code.as_deref() == Some("upstream_error");
    let expected = &exchange.expected;
    !exchange.response.body().is_empty()
        && !exchange.response.headers().contains_key("content-encoding")
        && expected.pending.is_empty()
        && !expected.events.iter().any(by_end)
}

#[test]
fn while_the_service_hangs() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for exchange in corpus.all() {
        for stack in STACKS {
            let setup = Setup { does: Does::Hangs, ..slow(exchange, stack) };
            let session = setup.session;
            let run = setup.run();
            let had = hung(exchange, &run);
            end_session(exchange, session);
            wrong.add(&exchange.name, had, || format!("{stack:?}"));
        }
    }
    wrong.report();
}

fn hung(exchange: &Exchange, run: &Run) -> Checked {
    check::sane(run)?;
    ensure(run.is_stuck && run.head.is_none(), || format!("{:?}", run.head))?;
    let due = if exchange.expected.follows.is_some() { 0 } else { requests(exchange) };
    for records in run.records() {
        let ends: Vec<String> = records.iter().map(check::summary).collect();
        let ends: Vec<&String> = ends.iter().filter(is_request).collect();
        ensure(ends.len() == due, || format!("{ends:?}"))?;
        for end in ends {
            ensure(end.contains(left_word(exchange)), || end.clone())?;
        }
    }
    Ok(())
}
