//! What a peer, a tool or an author's own code can do to the layers: whatever it is, the call is
//! answered, it makes one log event whose fields are bounded and fit to print, and nothing of ours
//! panics.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "cases/child.rs"]
mod child;
#[path = "hostile/errors.rs"]
mod errors;
#[path = "hostile/fields.rs"]
mod fields;
#[path = "hostile/input.rs"]
mod input;
#[path = "hostile/inside.rs"]
mod inside;
#[path = "cases/kit.rs"]
mod kit;
#[path = "hostile/limits.rs"]
mod limits;
#[path = "hostile/lingering.rs"]
mod lingering;
#[path = "hostile/observers.rs"]
mod observers;
#[path = "hostile/random.rs"]
mod random;
#[path = "hostile/sizes.rs"]
mod sizes;
