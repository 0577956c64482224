//! The real servers that other tests put the layers in front of: that each starts, answers as it was
//! recorded, and ends; and the recording of `tests/corpus/`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    missing_docs
)]

#[path = "upstreams/cases.rs"]
mod cases;
#[path = "support/corpus.rs"]
mod corpus;
#[path = "upstreams/expect.rs"]
mod expect;
#[path = "upstreams/record.rs"]
mod record;
mod support;
#[path = "support/upstream/mod.rs"]
mod upstream;
#[path = "upstreams/wire.rs"]
mod wire;

use cases::Session;
use serde_json::json;
use upstream::{Kind, Mode, Upstream, skip_or_fail};

const RECORD: &str = "TOWER_OUTCOME_RECORD";

/// Every server answers in the words that are in `tests/corpus/`, and is gone when it is killed. A
/// new version of an SDK that has other words fails here first.
async fn answers_and_ends(kind: Kind) {
    let corpus = corpus::all();
    for mode in [Mode::Stateful, Mode::Json] {
        let mut upstream = match Upstream::start(kind, mode).await {
            Ok(upstream) => upstream,
            Err(unavailable) => return skip_or_fail(&unavailable),
        };
        let session = Session::open(upstream.address(), "2025-11-25").await;
        let answer = session.call("ok", json!({ "text": "hello" })).await;
        assert!(answer.text().contains("hello"), "{kind:?} {mode:?}: {}", answer.text());
        // The ids of sessions and events differ each time; so do references of rmcp's failures.
        let cases = cases::all(kind, mode, &session).into_iter();
        for (case, request) in cases.filter(|_| mode == Mode::Json) {
            let name = format!("{}/2025-11-25-json-{case}", kind.name());
            let recorded = corpus.iter().find(|exchange| exchange.name == name);
            let recorded = recorded.unwrap_or_else(|| panic!("{name} is not recorded"));
            let answer = session.send(&request).await;
            assert_eq!(answer.response.status(), recorded.response.status(), "{name}");
            if kind != Kind::Rmcp || !case.starts_with("declared") {
                let text = String::from_utf8_lossy(recorded.response.body());
                assert_eq!(answer.text(), text, "{name}");
            }
        }
        upstream.kill().await;
        let gone = tokio::net::TcpStream::connect(upstream.address()).await;
        assert!(gone.is_err(), "{kind:?} {mode:?} still listens: {}", upstream.output());
    }
}

macro_rules! each {
    ($($name:ident: $kind:ident,)*) => {$(
        #[tokio::test]
        async fn $name() {
            answers_and_ends(Kind::$kind).await;
        }
    )*};
}

each! {
    fastmcp1: FastMcp1,
    fastmcp2: FastMcp2,
    python1: Python1,
    python2: Python2,
    typescript1: TypeScript1,
    typescript2: TypeScript2,
    tower_mcp: TowerMcp,
    rmcp: Rmcp,
}

/// Writes `tests/corpus/` anew, where [`RECORD`] is set to 1: see its README.
#[tokio::test]
async fn record() {
    if std::env::var_os(RECORD).is_none_or(|value| value != "1") {
        return;
    }
    for kind in Kind::ALL {
        match record::record(kind).await {
            Ok(()) => {}
            Err(unavailable) => skip_or_fail(&unavailable),
        }
    }
}
