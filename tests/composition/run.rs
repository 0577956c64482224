//! Goes through every composition, and writes down what comes of it.

use std::{fmt::Write as _, panic::AssertUnwindSafe};

use futures::FutureExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use crate::{
    peers::Peer,
    support::Logs,
    wire::{Ours, PATIENCE, Server, Svc, Wire},
};

/// The id of the call that counts.
const ID: u64 = 7;

/// Our layers, from outside to inside, in sets of which the same is said: each combination of two, in
/// both orders.
static SETS: [(&str, &[&[Ours]]); 3] = {
    use Ours::{Classify, Contain, Log, Outcome};
    [
        ("`LogLayer`", &[&[Log], &[Log, Classify], &[Classify, Log], &[Log, Log]]),
        (
            "`ContainLayer`",
            &[&[Contain], &[Contain, Classify], &[Classify, Contain], &[Contain, Contain]],
        ),
        (
            "both: `OutcomeLayer`",
            &[
                &[Outcome],
                &[Log, Contain],
                &[Contain, Log],
                &[Log, Outcome],
                &[Outcome, Contain],
                &[Outcome, Outcome],
            ],
        ),
    ]
};

/// Where the other layer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Between our layers and the server.
    Inside,
    /// Between ours.
    Between,
    /// Round ours.
    Outside,
}

/// Each of these layers on either side of ours, as a table in Markdown.
pub(crate) async fn either_side<W: Wire>(peers: &[Peer<W>]) -> String {
    let mut table = "| layer, and what happens | where |".to_owned();
    for (name, _) in &SETS {
        let _ = write!(table, " {name} |");
    }
    table.push_str("\n|---|---|---|---|---|\n");
    for peer in peers {
        check_alone(peer).await;
        let inside = cells(peer, Place::Inside).await;
        let outside = cells(peer, Place::Outside).await;
        let (name, case) = (peer.name, peer.case);
        if inside == outside {
            let _ = writeln!(table, "| {name}: {case} | either side | {inside} |");
        } else {
            let _ = writeln!(table, "| {name}: {case} | inside | {inside} |");
            let _ = writeln!(table, "| | outside | {outside} |");
        }
    }
    table
}

/// Each of these layers between two of ours, as a table in Markdown.
pub(crate) async fn between<W: Wire>(peers: &[Peer<W>]) -> String {
    let mut table =
        "| layer | ours round it and inside of it | the client gets; the log says |\n".to_owned();
    table.push_str("|---|---|---|\n");
    for peer in peers {
        let stacks = SETS.iter().flat_map(|(_, set)| *set).filter(|stack| stack.len() > 1);
        let mut name = peer.name;
        for (said, stacks) in seen(peer, Place::Between, stacks).await {
            let _ = writeln!(table, "| {name} | {} | {said} |", stacks.join("; "));
            name = "";
        }
    }
    table
}

async fn cells<W: Wire>(peer: &Peer<W>, place: Place) -> String {
    let mut cells = Vec::new();
    for (_, set) in &SETS {
        let seen = seen(peer, place, set.iter()).await;
        cells.push(match &*seen {
            [(said, _)] => said.clone(),
            several => {
                let each =
                    several.iter().map(|(said, stacks)| format!("{}: {said}", stacks.join("; ")));
                each.collect::<Vec<_>>().join("<br>")
            }
        });
    }
    cells.join(" | ")
}

/// What comes of it with each of these stacks, once where it is the same.
async fn seen<W: Wire>(
    peer: &Peer<W>,
    place: Place,
    stacks: impl Iterator<Item = &'static &'static [Ours]>,
) -> Vec<(String, Vec<String>)> {
    let mut seen: Vec<(String, Vec<String>)> = Vec::new();
    for stack in stacks {
        let said = run(peer, place, stack).await;
        match seen.iter_mut().find(|(known, _)| *known == said) {
            Some((_, stacks)) => stacks.push(name(stack)),
            None => seen.push((said, vec![name(stack)])),
        }
    }
    seen
}

fn name(stack: &[Ours]) -> String {
    stack.iter().map(|layer| format!("{layer:?}")).collect::<Vec<_>>().join(", ")
}

/// The layer that only configures writes no line about a call, and without it there is none at all.
async fn check_alone<W: Wire>(peer: &Peer<W>) {
    let bare = run(peer, Place::Inside, &[]).await;
    assert!(bare.ends_with("; nothing"), "{}: {bare}", peer.name);
    for place in [Place::Inside, Place::Outside] {
        let seen = run(peer, place, &[Ours::Classify]).await;
        assert!(!seen.contains("tool_call_"), "{}: {seen}", peer.name);
    }
}

async fn run<W: Wire>(peer: &Peer<W>, place: Place, stack: &[Ours]) -> String {
    let (logs, _guard) = Logs::capture();
    let service = service(peer, place, stack);
    let mut earlier = Vec::new();
    for id in 0..peer.earlier {
        let call = service.clone().oneshot(W::call(id));
        let mut call = Box::pin(AssertUnwindSafe(call).catch_unwind());
        // As far as it goes: what hangs is still there.
        let _ = tokio::time::timeout(PATIENCE / 100, &mut call).await;
        if peer.server == Server::Hangs {
            earlier.push(call);
        }
    }
    let call = AssertUnwindSafe(service.oneshot(W::call(ID))).catch_unwind();
    let told = match tokio::time::timeout(PATIENCE, call).await {
        Err(_) => "no answer".to_owned(),
        Ok(Err(_)) => "no answer: a panic".to_owned(),
        Ok(Ok(Err(_))) => "no answer: an error".to_owned(),
        Ok(Ok(Ok(response))) => W::told(response).await,
    };
    format!("{told}; {}", logged(&logs))
}

fn service<W: Wire>(peer: &Peer<W>, place: Place, stack: &[Ours]) -> Svc<W> {
    let mut service = W::server(peer.server);
    if let Some(wrap) = peer.inmost {
        service = wrap(service);
    }
    if place == Place::Inside {
        service = (peer.wrap)(service);
    }
    for (at, ours) in stack.iter().rev().enumerate() {
        service = W::wrap(*ours, service);
        if place == Place::Between && at == 0 {
            service = (peer.wrap)(service);
        }
    }
    if place == Place::Outside {
        service = (peer.wrap)(service);
    }
    service
}

/// What was logged of the call, but for its start.
fn logged(logs: &Logs) -> String {
    let events = logs.of_target("tower_outcome");
    let told = events
        .iter()
        .filter(|event| event.is_about(&json!(ID)) && !event.message.ends_with("_started"));
    let lines = told.map(|event| {
        let code = event.field("code").map(|code| format!(" {code}")).unwrap_or_default();
        let unread =
            if event.fields.contains_key("result_scanned") { " result_scanned=false" } else { "" };
        format!("`{} {}{code}{unread}`", event.level, event.message)
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join(", ") }
}
