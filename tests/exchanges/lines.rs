//! The log itself: one line for each end, as the corpus says.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::{
    check::{self, Checked, ensure},
    client::{Setup, end_session},
    stacks::Stack,
    whole::{Corpus, Wrong},
};

/// Writes down the terminal events.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

#[derive(Default)]
struct Fields {
    name: String,
    outcome: Option<String>,
    code: Option<String>,
    id: Option<String>,
    reason: Option<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        let text = text.trim_matches('"').to_owned();
        match field.name() {
            "message" => self.name = text,
            "outcome" => self.outcome = Some(text),
            "code" => self.code = Some(text),
            "request_id" => self.id = Some(text),
            "reason" => self.reason = Some(text),
            _ => {}
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tower_outcome"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // The task of an earlier run gives way to one of the same id.
        if fields.name.ends_with("_started") || fields.reason.as_deref() == Some("forgotten") {
            return;
        }
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let outcome = match &*fields.name {
            "notification_received" => "-".to_owned(),
            _ => or(fields.outcome),
        };
        let level = event.metadata().level();
        let (name, code, id) = (fields.name, or(fields.code), or(fields.id));
        self.0.lock().unwrap().push(format!("{name} {outcome} {code} {level} {id}"));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn each_end_is_one_line() {
    let lines = Lines::default();
    // Where there is a single subscriber, `tracing` asks the one of the thread that comes by a place
    // in the code first whether anybody listens there, and remembers it; other tests have none.
    let _second = tracing::Dispatch::new(Lines::default());
    tracing::subscriber::with_default(lines.clone(), || {
        let corpus = Corpus::read();
        let mut wrong = Wrong::default();
        for exchange in corpus.all().iter().filter(|it| it.expected.follows.is_none()) {
            for stack in [Stack::Outcome, Stack::Log, Stack::LogContain, Stack::OutcomeTwice] {
                let setup = Setup::new(exchange, stack);
                let session = setup.session;
                let run = setup.run();
                let logged = std::mem::take(&mut *lines.0.lock().unwrap());
                end_session(exchange, session);
                lines.0.lock().unwrap().clear();
                drop(run);
                let had = same(&logged, &check::expected_lines(exchange));
                wrong.add(&exchange.name, had, || format!("{stack:?}"));
            }
        }
        wrong.report();
    });
}

fn same(logged: &[String], expected: &[String]) -> Checked {
    // An id is logged as text, and as its JSON in the corpus.
    let plain = |lines: &[String]| -> Vec<String> {
        let mut lines: Vec<String> =
            lines.iter().map(|line| line.replace(['"', '\\'], "")).collect();
        lines.sort();
        lines
    };
    let (logged, expected) = (plain(logged), plain(expected));
    ensure(logged == expected, || format!("{logged:?}\n not {expected:?}"))
}
