//! The layers where nobody listens: they contain all the same, and read no more than they have to.
//!
//! Whether anybody listens is a fact about the whole process, and the other tests in this one do:
//! so these run in a process of their own.

use crate::{
    alone::is_alone,
    check,
    choices::pieces,
    client::{Run, Setup},
    corpus::{Client, Exchange},
    script::{Does, Server},
    stacks::{self, Call, Stack},
    whole::{Corpus, Wrong},
};

type Round = fn(Server) -> Call;

#[test]
fn nobody_listens() {
    if !is_alone("unheard::nobody_listens") {
        return;
    }
    let corpus = Corpus::read();
    let mut wrong = Wrong::default();
    let rounds: [(&str, Round); 2] =
        [("contain", stacks::unheard), ("outcome", stacks::all_unheard)];
    for exchange in corpus.all() {
        for (name, round) in rounds {
            for size in [usize::MAX, 7, 300] {
                let mut setup = Setup::new(exchange, Stack::Outcome);
                setup.request = pieces(exchange.request.body(), size);
                setup.response = pieces(exchange.response.body(), size);
                let session = setup.session;
                let had = setup.run_unheard(round);
                let had = read(exchange, session, &had);
                wrong.add(&exchange.name, had, || format!("{name} {size}"));
            }
            for does in [Does::PanicsInCall, Does::PanicsInFuture, Does::Fails] {
                let setup = Setup { does, ..Setup::new(exchange, Stack::Outcome) };
                let run = setup.run_unheard(round);
                wrong.add(&exchange.name, failed(exchange, &run), || format!("{name} {does:?}"));
            }
        }
    }
    wrong.report();
}

fn read(exchange: &Exchange, session: usize, run: &Run) -> check::Checked {
    check::sane(run)?;
    check::server(exchange, session, run)?;
    // That an answer came late is nobody's business where nobody listens.
    if exchange.expected.follows.is_some() && exchange.expected.client != Client::Unchanged {
        return Ok(());
    }
    check::client(exchange, Stack::Outcome, session, run)
}

fn failed(exchange: &Exchange, run: &Run) -> check::Checked {
    check::sane(run)?;
    let head = run.head.as_ref().ok_or("no answer")?;
    let text = String::from_utf8(run.bytes()).unwrap();
    check::ensure(!text.contains("hunter2"), || format!("leaked: {text}"))?;
    let ends = exchange.expected.events.iter().filter(|it| !it.name.starts_with("notification_"));
    let ids = ends.map(|event| event.id.as_deref().unwrap_or("null"));
    let ids: Vec<&str> = ids.chain(exchange.expected.pending.iter().map(String::as_str)).collect();
    if ids.is_empty() || exchange.expected.follows.is_some() {
        return check::ensure(text.is_empty() && head.status == 500, || format!("{head:?} {text}"));
    }
    check::ensure(head.status == 200, || head.status.to_string())?;
    let is_told = |id: &&str| text.contains(&format!(r#""id":{id},"#));
    check::ensure(ids.iter().all(is_told), || format!("{ids:?}: {text}"))
}
