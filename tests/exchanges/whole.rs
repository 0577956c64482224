//! Each exchange of the corpus in each stack, whole and cut in a few ways.

use std::collections::{BTreeMap, HashMap};

use crate::{
    check,
    choices::pieces,
    client::{Run, Setup, end_session},
    corpus::{self, Exchange},
    script::Step,
    stacks::{SPOILT, STACKS, Stack},
};

/// How bodies are cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Not,
    Pieces(usize),
    /// With nothing in between.
    Empty(usize),
    /// One that says that it is at its end before it is asked, to a client that does not ask.
    Told,
}

impl Cut {
    fn steps(self, whole: Vec<Step>) -> Vec<Step> {
        let [Step::Data(bytes)] = &whole[..] else { return whole };
        match self {
            Self::Not | Self::Told => whole,
            Self::Pieces(size) => pieces(bytes, size),
            Self::Empty(size) => pieces(bytes, size)
                .into_iter()
                .flat_map(|step| [Step::Data("".into()), step, Step::Pending])
                .chain([Step::Data("".into())])
                .collect(),
        }
    }

    fn setup<'a>(self, exchange: &'a Exchange, stack: Stack) -> Setup<'a> {
        let mut setup = Setup::new(exchange, stack);
        setup.request = self.steps(setup.request);
        setup.response = self.steps(setup.response);
        if matches!(self, Self::Told) {
            setup.tells_end = true;
            setup.asks_end = false;
        }
        setup
    }
}

/// All exchanges, and those that one follows.
pub struct Corpus {
    all: Vec<Exchange>,
    by_name: HashMap<String, usize>,
}

impl Corpus {
    pub fn read() -> Self {
        let all = corpus::all();
        let by_name = all.iter().enumerate().map(|(at, it)| (it.name.clone(), at)).collect();
        Self { all, by_name }
    }

    pub fn all(&self) -> &[Exchange] {
        &self.all
    }

    /// The one that comes before this one, if any does.
    pub fn first_of(&self, exchange: &Exchange) -> Option<&Exchange> {
        exchange.expected.follows.as_ref().map(|name| &self.all[self.by_name[name]])
    }
}

/// Has an exchange, after the one that it follows, and says what is wrong with it.
pub fn have<'a>(
    corpus: &'a Corpus,
    exchange: &'a Exchange,
    stack: Stack,
    setup: impl Fn(&'a Exchange) -> Setup<'a>,
) -> Result<(), String> {
    let second = setup(exchange);
    let session = second.session;
    let Some(first) = corpus.first_of(exchange) else {
        let run = second.run();
        check::run(exchange, stack, session, &run)?;
        return pending(exchange, session, &run);
    };
    let mut begun = setup(first);
    begun.session = session;
    let begun = begun.run();
    check::run(first, stack, session, &begun)?;
    let run = second.run();
    check::client(exchange, stack, session, &run)?;
    // The layers that began the call are told of its end.
    check::sane(&begun)?;
    check::events(exchange, &begun)?;
    let again = Setup { session, ..setup(exchange) }.run();
    check::client(exchange, stack, session, &again).map_err(|why| format!("again: {why}"))?;
    check::events(exchange, &begun).map_err(|why| format!("again: {why}"))
}

/// What is waited for is over when its session is.
fn pending(exchange: &Exchange, session: usize, run: &Run) -> Result<(), String> {
    let before = run.records();
    end_session(exchange, session);
    for (before, after) in before.iter().zip(run.records()) {
        let ends: Vec<String> = after[before.len()..].iter().map(check::summary).collect();
        let pending = exchange.expected.pending.iter();
        let expected: Vec<String> =
            pending.map(|id| format!("tool_call_abandoned abandoned - INFO {id}")).collect();
        check::ensure(ends == expected, || format!("pending\n     {ends:?}\n not {expected:?}"))?;
    }
    Ok(())
}

#[test]
fn every_exchange_in_every_stack() {
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    for exchange in corpus.all() {
        for stack in STACKS {
            for cut in [Cut::Not, Cut::Pieces(7), Cut::Empty(50), Cut::Told] {
                let had = have(&corpus, exchange, stack, |it| cut.setup(it, stack));
                wrong.add(&exchange.name, had, || format!("{stack:?}/{cut:?}"));
            }
        }
    }
    wrong.report();
}

/// An answer that nobody asked for is told apart from the others, and says no more than they do.
#[test]
fn an_internal_error_for_somebody_else_is_replaced_too() {
    let corpus = Corpus::read();
    let of = |name: &str| corpus.all().iter().find(|it| it.name == name).unwrap().clone();
    for code in ["-32603", "-32000"] {
        let mut exchange = of("invented/sse-other-answers-first");
        let body = String::from_utf8(exchange.response.body().to_vec()).unwrap();
        *exchange.response.body_mut() = body.replace("-32602", code).into();
        for stack in STACKS {
            let setup = Setup::new(&exchange, stack);
            let session = setup.session;
            let run = setup.run();
            check::sane(&run).unwrap();
            check::events(&exchange, &run).unwrap();
            check::server(&exchange, session, &run).unwrap();
            let text = String::from_utf8(run.bytes()).unwrap();
            assert_eq!(text.contains("not yours"), !stack.contains(), "{stack:?}: {text}");
            assert!(text.contains(r#""id":"x""#) && text.contains("it did not work"), "{text}");
        }
    }
}

/// What the client gets is what is logged, whatever was there further in.
#[test]
fn what_a_layer_in_between_makes_of_an_answer_is_read_again() {
    let corpus = Corpus::read();
    let exchange = corpus.all().iter().find(|it| it.name == "invented/json-plain").unwrap();
    for cut in [Cut::Not, Cut::Pieces(7)] {
        let run = cut.setup(exchange, Stack::LogSpoilContain).run();
        check::sane(&run).unwrap();
        assert_eq!(run.bytes(), SPOILT);
        let ends: Vec<String> = run.records().concat().iter().map(check::summary).collect();
        assert_eq!(ends, ["tool_call_failed undeclared undeclared_error ERROR 1"], "{cut:?}");
    }
}

/// What is wrong, and where.
#[derive(Default)]
pub struct Wrong {
    runs: usize,
    found: BTreeMap<String, Vec<String>>,
}

impl Wrong {
    pub fn add(&mut self, name: &str, had: Result<(), String>, place: impl FnOnce() -> String) {
        self.runs += 1;
        if let Err(why) = had {
            let why = hidden(&why);
            self.found.entry(format!("{name}: {why}")).or_default().push(place());
        }
    }

    /// Fails with all of it, or as much as can be read.
    pub fn report(self) {
        assert!(self.runs > 0);
        let first = self.found.iter().take(60).map(|(why, places)| {
            let some = places.iter().take(12).cloned().collect::<Vec<_>>().join(" ");
            format!("{why}\n  ({}: {some})\n", places.len())
        });
        let (found, runs) = (self.found.len(), self.runs);
        let first = first.collect::<String>();
        assert!(found == 0, "{found} things are wrong in {runs} runs:\n{first}");
    }
}

/// `text` without references, which differ each time.
fn hidden(text: &str) -> String {
    match text.split_once("(reference ") {
        Some((before, after)) => {
            format!("{before}(reference …{}", hidden(after.get(10..).unwrap_or_default()))
        }
        None => text.to_owned(),
    }
}
