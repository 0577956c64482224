//! Our layers among tower's and tower-http's, on either side of them: what the client gets, what is
//! logged, and who waits for whom. The table is a page of the documentation, `src/composition.md`, and what stands there is
//! what happens here. `UPDATE_DOCS=1 cargo test --all-features --test composition` writes it anew.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "composition/http.rs"]
mod http;
#[path = "composition/page.rs"]
mod page;
#[path = "composition/peers.rs"]
mod peers;
#[path = "composition/readiness.rs"]
mod readiness;
#[path = "composition/run.rs"]
mod run;
#[path = "composition/typed.rs"]
mod typed;
#[path = "composition/wire.rs"]
mod wire;

use crate::{http::Http, page::Page, typed::Typed};

/// Time is paused, so that what hangs is given up at once.
#[tokio::test(start_paused = true)]
async fn what_the_documentation_says_of_other_layers_is_what_happens() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(wire::PANIC) {
            usual(panic);
        }
    }));
    let mut of_http = peers::of_tower::<Http>();
    of_http.extend(peers::of_tower_http());
    let of_typed = peers::of_tower::<Typed>();
    let mut page = Page::read();
    page.replace("http", &run::either_side(&of_http).await);
    page.replace("typed", &run::either_side(&of_typed).await);
    page.replace("http between", &run::between(&of_http).await);
    page.replace("typed between", &run::between(&of_typed).await);
    page.check();
}
