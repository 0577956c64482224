//! Answers where nobody listens: a body that says that it is short is read in one go, any other one as
//! it comes, and the client is told the same.
//!
//! No test here may install a subscriber, nor make a layer with a hook or a policy: `tracing` keeps one
//! level for the whole process, and what one layer needs to know all layers then find out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

#[path = "http_stacks/kit.rs"]
#[allow(unused_imports, reason = "what other suites need")]
mod kit;
#[path = "http_stacks/script.rs"]
mod script;

use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue, header};
use serde_json::json;
use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{ContainLayer, LogLayer, OutcomeLayer};
use tracing::level_filters::LevelFilter;

use crate::{
    kit::{Fake, Got, Piece, Script, call, data, error, fake, is_error, response, send, success},
    script::Watch,
};

const SECRET: &str = "postgres://notes:hunter2@db";

type Pieces = fn() -> Vec<Piece>;

/// What a server sends, and whether it is passed on as it is.
const BODIES: [(&str, Pieces, bool); 17] = [
    ("a result", || vec![works()], true),
    ("a result byte by byte", || bytewise(&success(&json!(7))), true),
    ("a result after an empty frame", || vec![data(""), works()], true),
    ("a result with trailers", || vec![works(), trailers()], true),
    ("a result with a byte order mark", || vec![data("\u{feff}"), works()], true),
    ("a result of another request", || vec![data(success(&json!(8)))], true),
    ("an isError result", || vec![data(is_error(&json!(7), "no such note"))], true),
    ("an error about the request", || vec![data(error(&json!(7), -32602, "no path"))], true),
    ("an error of the server", || vec![fails()], false),
    ("the same byte by byte", || bytewise(&error(&json!(7), -32603, SECRET)), false),
    ("the same with trailers", || vec![fails(), trailers()], false),
    ("no JSON", || vec![data(SECRET)], false),
    ("an array", || vec![data("["), fails(), data("]")], false),
    ("half an error", || vec![data(r#"{"error":{"message":"postgres://notes:hunter2@db"#)], false),
    ("nothing but white space", || vec![data(" \n")], false),
    ("an error before anything", || vec![Piece::Error(SECRET)], false),
    ("a panic before anything", || vec![Piece::Panic(SECRET)], false),
];

fn works() -> Piece {
    data(success(&json!(7)))
}

fn fails() -> Piece {
    data(error(&json!(7), -32603, SECRET))
}

fn bytewise(text: &str) -> Vec<Piece> {
    text.bytes().map(|byte| data(vec![byte])).collect()
}

fn trailers() -> Piece {
    Piece::Trailers(HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"7\""))]))
}

fn sent(pieces: Pieces) -> Vec<u8> {
    let bytes = |piece| match piece {
        Piece::Data(data) => data.to_vec(),
        _ => Vec::new(),
    };
    pieces().into_iter().flat_map(bytes).collect()
}

fn server(pieces: Pieces, is_measured: bool, watch: &Watch) -> Fake {
    let watch = watch.clone();
    fake(move |_| {
        let script = Script::of(pieces()).watched(&watch);
        let length = sent(pieces).len().max(10) as u64;
        let script = if is_measured { script.measured(length) } else { script };
        let mut response = response("application/json", script);
        response.headers_mut().insert(header::SERVER, HeaderValue::from_static("notes/1"));
        std::future::ready(Ok(response))
    })
}

/// What counts of an answer: references are never the same.
fn told(got: &Got) -> (u16, String, String, bool, Option<String>) {
    let text = got.text();
    let text = text.split("reference").map(|part| part.get(13..).unwrap_or(part));
    (
        got.status,
        got.header("server").to_owned(),
        text.collect(),
        got.trailers.is_some(),
        got.error.clone(),
    )
}

#[tokio::test]
async fn short_answers_are_told_as_any_others() {
    assert_eq!(LevelFilter::current(), LevelFilter::OFF, "somebody listens");
    for (what, pieces, is_passed) in BODIES {
        for layers in [1, 2] {
            let (of_short, of_any) = (Watch::default(), Watch::default());
            let send_to = async |service: Fake| match layers {
                1 => send(OutcomeLayer::new().layer(service), call()).await,
                _ => {
                    let round = ContainLayer::new().layer(OutcomeLayer::new().layer(service));
                    send(LogLayer::new().layer(round), call()).await
                }
            };
            let short = send_to(server(pieces, true, &of_short)).await;
            let any = send_to(server(pieces, false, &of_any)).await;
            assert_eq!(told(&short), told(&any), "{what}");
            let is_same = short.frames.concat() == sent(pieces);
            assert_eq!(is_same, is_passed, "{what}: {short:?}");
            assert!(!short.text().contains(SECRET), "{what}: {short:?}");
            kit::assert_length(&short);
            assert!(of_short.is_dropped() && of_any.is_dropped(), "{what}");
        }
    }
}

#[tokio::test]
async fn a_short_answer_that_breaks_off_is_a_fault_before_anything_goes_out() {
    for last in [|| Piece::Error(SECRET), || Piece::Panic(SECRET)] {
        let service = fake(move |_| {
            let text = success(&json!(7));
            let start = text[..text.len() - 9].to_owned();
            let script = Script::of([data(start), last()]).measured(text.len() as u64);
            std::future::ready(Ok(response("application/json", script)))
        });
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        let text = got.message()["result"]["content"][0]["text"].clone();
        assert!(text.as_str().unwrap().starts_with("This call was fine"), "{got:?}");
        assert!(got.error.is_none() && !got.text().contains(SECRET), "{got:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_longer_than_it_says_is_not_waited_for() {
    let service = fake(|_| {
        let endless = (0..100).map(|_| data(vec![b' '; 1024]));
        std::future::ready(Ok(response("application/json", Script::of(endless).measured(100))))
    });
    let got = send(OutcomeLayer::new().layer(service), call()).await;
    assert!(got.text().contains("This call was fine"), "{got:?}");
}

#[tokio::test]
async fn a_short_answer_that_does_not_come_is_dropped_with_its_request() {
    let watch = Watch::default();
    let seen = watch.clone();
    let pens = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&pens);
    let service = fake(move |_| {
        let (pen, script) = Script::new();
        kept.lock().unwrap().push(pen);
        let script = script.measured(9).watched(&seen);
        std::future::ready(Ok(response("application/json", script)))
    });
    let mut answer = Box::pin(OutcomeLayer::new().layer(service).oneshot(call()));
    assert!(kit::is_pending(&mut answer).await);
    assert!(!watch.is_dropped());
    drop(answer);
    assert!(watch.is_dropped() && pens.lock().unwrap().iter().all(|pen| pen.is_closed()));
}

#[tokio::test]
async fn what_answers_an_encoded_request_is_read_all_the_same() {
    for is_measured in [false, true] {
        let mut request = call();
        request.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let service = server(|| vec![fails()], is_measured, &Watch::default());
        let got = send(OutcomeLayer::new().layer(service), request).await;
        assert_eq!(got.message()["id"], 7, "{got:?}");
        assert!(!got.text().contains(SECRET), "{got:?}");
    }
}
