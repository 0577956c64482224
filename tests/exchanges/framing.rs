//! The same bytes in other frames: the same bytes come out, and the verdict is the same.

use std::collections::HashSet;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use proptest::{
    collection::vec,
    prelude::any,
    test_runner::{Config, TestCaseError, TestRunner},
};

use crate::{
    check::{self, Checked},
    choices::{Choices, cut},
    client::Setup,
    corpus::{Client, Ends, Exchange},
    script::Step,
    stacks::STACKS,
    whole::{Corpus, Wrong, have},
};

/// Longer bodies are cut at random.
const SHORT: usize = 600;

#[test]
fn answers_cut_at_every_byte() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for exchange in corpus.all() {
        if !exchange.name.starts_with("invented/") {
            continue;
        }
        let body = exchange.response.body();
        for at in 1..body.len().min(SHORT) {
            let stack = STACKS[at % STACKS.len()];
            let had = have(&corpus, exchange, stack, |exchange| {
                let mut setup = Setup::new(exchange, stack);
                setup.response = cut(exchange.response.body(), &[at]);
                setup
            });
            wrong.add(&exchange.name, had, || format!("{stack:?} at {at}"));
        }
    }
    wrong.report();
}

#[test]
fn requests_cut_at_every_byte() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    let mut seen = HashSet::<Bytes>::new();
    for exchange in corpus.all() {
        let body = exchange.request.body();
        if !seen.insert(body.clone()) {
            continue;
        }
        for at in 1..body.len().min(SHORT) {
            let stack = STACKS[at % STACKS.len()];
            let had = have(&corpus, exchange, stack, |exchange| {
                let mut setup = Setup::new(exchange, stack);
                setup.request = cut(exchange.request.body(), &[at]);
                setup
            });
            wrong.add(&exchange.name, had, || format!("{stack:?} at {at}"));
        }
    }
    wrong.report();
}

#[test]
fn frames_of_any_size_with_pauses_and_trailers() {
    let corpus = Corpus::read();
    random(3000, |choices| {
        let exchange = &corpus.all()[choices.below(corpus.all().len())];
        let stack = choices.of(&STACKS);
        let frames =
            [choices.frames(exchange.request.body()), choices.frames(exchange.response.body())];
        let [tells_end, asks_end, has_trailers] = [(); 3].map(|()| choices.once_in(2));
        let setup = |given| {
            let setup = Setup { tells_end, asks_end, ..Setup::new(given, stack) };
            if !std::ptr::eq(given, exchange) {
                // The exchange that this one follows.
                return setup;
            }
            let [request, response] = frames.clone();
            Setup { request, response, ..setup }
        };
        let had = match has_trailers {
            false => have(&corpus, exchange, stack, setup),
            true => with_trailers(exchange, setup(exchange)),
        };
        had.map_err(|why| format!("{}, {stack:?}: {why}", exchange.name))
    });
}

/// Has an exchange with trailers on both sides.
fn with_trailers(exchange: &Exchange, mut setup: Setup<'_>) -> Checked {
    let (stack, session) = (setup.stack, setup.session);
    let expected = &exchange.expected;
    if exchange.request.body().is_empty() || expected.ends != Ends::Clean {
        return Ok(());
    }
    let trailers = |text| {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-checksum", HeaderValue::from_static(text));
        trailers
    };
    setup.request.push(Step::Trailers(trailers("asked")));
    setup.response.push(Step::Trailers(trailers("said")));
    let run = setup.run();
    if expected.follows.is_none() {
        check::run(exchange, stack, session, &run)?;
    }
    let got = &run.got.trailers;
    check::ensure(*got == Some(trailers("asked")), || format!("the server got {got:?}"))?;
    // A stream, or a batch, goes on after what was replaced in it.
    let goes_on = is_stream(&exchange.response) || exchange.response.body().starts_with(b"[");
    let is_whole = match expected.client {
        Client::Unchanged => true,
        Client::Replaced => goes_on || !stack.contains(),
        Client::Appended => !stack.contains(),
    };
    let due = is_whole.then(|| trailers("said"));
    check::ensure(run.trailers == due, || format!("the client got {:?}", run.trailers))
}

fn is_stream(response: &Response<Bytes>) -> bool {
    response.headers().get("content-type").is_some_and(|it| it == "text/event-stream")
}

/// Runs a test with so many random choices, and makes them fewer where it fails.
pub fn random(cases: u32, test: impl Fn(&mut Choices<'_>) -> Checked) {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let choices = vec(any::<u8>(), 0..200);
    let result = TestRunner::new(config)
        .run(&choices, |bytes| test(&mut Choices::new(&bytes)).map_err(TestCaseError::fail));
    if let Err(why) = result {
        panic!("{why}");
    }
}
