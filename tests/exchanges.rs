//! The layers over every exchange of `tests/corpus/`, in this process and without sockets: what the
//! server reads, what the client gets and what is logged, however the bytes are cut, said, broken
//! off or waited for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub
)]

#[allow(dead_code, reason = "others need more of it")]
#[path = "support/alone.rs"]
mod alone;
#[path = "support/corpus.rs"]
mod corpus;

#[path = "exchanges/breaking.rs"]
mod breaking;
#[path = "exchanges/check.rs"]
mod check;
#[path = "exchanges/choices.rs"]
mod choices;
#[path = "exchanges/client.rs"]
mod client;
#[path = "exchanges/events.rs"]
mod events;
#[path = "exchanges/framing.rs"]
mod framing;
#[path = "exchanges/leaving.rs"]
mod leaving;
#[path = "exchanges/lines.rs"]
mod lines;
#[path = "exchanges/rewriting.rs"]
mod rewriting;
#[path = "exchanges/script.rs"]
mod script;
#[path = "exchanges/stacks.rs"]
mod stacks;
#[path = "exchanges/tree.rs"]
mod tree;
#[path = "exchanges/unheard.rs"]
mod unheard;
#[path = "exchanges/whole.rs"]
mod whole;
