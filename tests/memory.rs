//! What a call in flight keeps in memory beside the frames that pass: as much for an answer of
//! 256 MiB as for one of 1 MiB.
//!
//! All frames of an answer share one static text, so that they cost nothing, and what is counted is
//! the layer's own: its futures and bodies, which are boxed here, and what it keeps. One test alone:
//! `tracing` has one subscriber for the process, and nobody has listened until there is one.

#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use allocation_counter::measure;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header::CONTENT_TYPE};
use http_body::{Body, Frame};
use http_body_util::Full;
use tower::{Layer, Service, service_fn};
use tower_outcome::{Outcome, OutcomeLayer, Policy, Record, Undeclared};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
/// As hyper reads a body.
const FRAME: usize = 16 * KIB;
/// What a call may keep beyond the frames.
const ALLOWED: u64 = 16 * KIB as u64;
/// The same while something is held that may not go out.
const ALLOWED_HELD: u64 = ALLOWED + 64 * KIB as u64;
/// The same where a text is kept that a classifier looks at: 12 KiB, as it came, without its escapes,
/// and what of it is told.
const ALLOWED_JSON: u64 = ALLOWED + 32 * KIB as u64;
/// As much of a message as is held, and a little less.
const HELD: usize = 48 * KIB;

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_note","arguments":{}}}"#;

/// The bytes of the last answer, as a hook was told, if the call ended as `EXPECTED` has it.
static BYTES: AtomicU64 = AtomicU64::new(0);
static EXPECTED: Mutex<Option<Outcome>> = Mutex::new(None);

/// An answer on its way: a beginning, so many bytes of what is in its middle, and its end.
#[derive(Clone)]
struct Answer {
    media_type: HeaderValue,
    begin: Bytes,
    middle: &'static [u8],
    bytes: usize,
    end: Bytes,
    /// Bytes that are none of the message's.
    framing: usize,
}

/// What is in the middle of an answer.
#[derive(Clone, Copy)]
enum Middle {
    /// The text of a result, before its `isError`.
    Prose,
    /// The same, full of escapes.
    Escapes,
    /// The same, JSON itself, so that as much of it is kept as a classifier may look at.
    Json,
    /// Rows of structured content.
    Rows,
    /// The message of an error.
    Message,
    /// The data of an error.
    Data,
}

impl Middle {
    /// What goes before it, what it is made of, and what comes behind it.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Prose => (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""#,
                "Water the plants, feed the cat. ",
                r#""}],"isError":true}}"#,
            ),
            Self::Escapes => (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""#,
                r#"Water the \"plants\",\nfeed the cat. "#,
                r#""}],"isError":true}}"#,
            ),
            Self::Json => (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"rows\":["#,
                r#"{\"id\":1,\"ok\":true},"#,
                r#"{}]}"}],"isError":true}}"#,
            ),
            Self::Rows => (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"rows":["#,
                r#"{"id":1,"ok":true,"tags":["a"]},"#,
                r#"{}]},"isError":true}}"#,
            ),
            Self::Message => (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":""#,
                "no route to the host ",
                r#""}}"#,
            ),
            Self::Data => (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"failed","data":["#,
                r#"{"at":"main.rs:17"},"#,
                "{}]}}",
            ),
        }
    }

    /// So much of it that nothing of a row is cut where a frame ends.
    fn text(self) -> &'static [u8] {
        static TEXTS: [OnceLock<Vec<u8>>; 6] = [const { OnceLock::new() }; 6];
        let unit = self.parts().1.as_bytes();
        let times = FRAME / unit.len();
        TEXTS.get(self as usize).unwrap().get_or_init(|| unit.repeat(times))
    }

    /// An answer of about so many bytes.
    fn answer(self, bytes: usize, is_event: bool) -> Answer {
        let (begin, unit, end) = self.parts();
        let (before, behind) = if is_event { ("event: message\ndata: ", "\n\n") } else { ("", "") };
        let media_type = if is_event { "text/event-stream" } else { "application/json" };
        Answer {
            media_type: HeaderValue::from_static(media_type),
            begin: format!("{before}{begin}").into(),
            middle: self.text(),
            bytes: bytes.next_multiple_of(unit.len()),
            end: format!("{end}{behind}").into(),
            framing: before.len() + behind.len(),
        }
    }
}

impl Answer {
    fn len(&self) -> usize {
        self.begin.len() + self.bytes + self.end.len()
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = if !self.begin.is_empty() {
            std::mem::take(&mut self.begin)
        } else if self.bytes > 0 {
            let piece = self.middle.get(..self.bytes).unwrap_or(self.middle);
            self.bytes -= piece.len();
            Bytes::from_static(piece)
        } else {
            std::mem::take(&mut self.end)
        };
        Poll::Ready((!frame.is_empty()).then(|| Ok(Frame::data(frame))))
    }
}

/// What one call took.
struct Taken {
    /// Bytes that were in use at once.
    peak: u64,
    /// Bytes that came out.
    len: usize,
}

/// Makes one call, and reads its answer to the end.
fn call(layer: &OutcomeLayer, answer: &Answer) -> Taken {
    let mut cx = Context::from_waker(Waker::noop());
    let mut service = layer.layer(service_fn(|_| async { Ok::<_, Infallible>(response(answer)) }));
    let mut len = 0;
    let counted = measure(|| {
        let mut request = Request::new(Full::new(Bytes::from_static(REQUEST)));
        *request.method_mut() = Method::POST;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert!(Service::poll_ready(&mut service, &mut cx).is_ready());
        let mut call = Box::pin(service.call(request));
        let Poll::Ready(Ok(response)) = call.as_mut().poll(&mut cx) else {
            panic!("no answer");
        };
        drop(call);
        let mut body = Box::pin(response.into_body());
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
            len += frame.unwrap().into_data().unwrap().len();
        }
    });
    Taken { peak: counted.bytes_max, len }
}

fn response(answer: &Answer) -> Response<Answer> {
    let mut response = Response::new(answer.clone());
    response.headers_mut().insert(CONTENT_TYPE, answer.media_type.clone());
    response
}

/// The hook that tells how the last call ended.
fn ended(record: &Record) {
    let is_expected = *EXPECTED.lock().unwrap() == Some(record.outcome);
    BYTES.store(record.result_bytes.filter(|_| is_expected).unwrap_or(0), Ordering::Relaxed);
}

/// Answers of one kind, in several sizes.
struct Case {
    what: &'static str,
    middle: Middle,
    sizes: &'static [usize],
    /// Whether undeclared failures are masked.
    masks: bool,
    /// Whether the answer goes out as it came, whatever its size.
    passes: bool,
    allowed: u64,
    outcome: Outcome,
}

/// Only prose is read fast enough in a debug build for the largest sizes: within a second or two.
/// What else there is, is as flat at 4 MiB, or it is not. The mask is last: from then on calls are
/// recorded where nobody listens, too.
const CASES: [Case; 7] = [
    Case {
        what: "text, then isError",
        middle: Middle::Prose,
        sizes: &[KIB, MIB, 64 * MIB, 256 * MIB],
        masks: false,
        passes: true,
        allowed: ALLOWED,
        outcome: Outcome::Undeclared,
    },
    Case {
        what: "text of escapes, then isError",
        middle: Middle::Escapes,
        sizes: &[KIB, MIB, 4 * MIB],
        masks: false,
        passes: true,
        allowed: ALLOWED,
        outcome: Outcome::Undeclared,
    },
    Case {
        what: "text that is JSON, then isError",
        middle: Middle::Json,
        sizes: &[KIB, MIB, 4 * MIB],
        masks: false,
        passes: true,
        allowed: ALLOWED_JSON,
        outcome: Outcome::Undeclared,
    },
    Case {
        what: "rows, then isError",
        middle: Middle::Rows,
        sizes: &[KIB, MIB, 4 * MIB],
        masks: false,
        passes: true,
        allowed: ALLOWED,
        outcome: Outcome::Undeclared,
    },
    Case {
        what: "error with a long message",
        middle: Middle::Message,
        sizes: &[KIB, HELD, MIB, 64 * MIB],
        masks: false,
        passes: false,
        allowed: ALLOWED_HELD,
        outcome: Outcome::Fault,
    },
    Case {
        what: "error with long data",
        middle: Middle::Data,
        sizes: &[KIB, HELD, MIB, 4 * MIB],
        masks: false,
        passes: false,
        allowed: ALLOWED_HELD,
        outcome: Outcome::Fault,
    },
    Case {
        what: "isError that is masked up to 64 KiB",
        middle: Middle::Prose,
        sizes: &[KIB, HELD, MIB, 64 * MIB],
        masks: true,
        passes: false,
        allowed: ALLOWED_HELD,
        outcome: Outcome::Undeclared,
    },
];

impl Case {
    /// Makes the calls, and says what is wrong with what they took.
    fn complaints(&self, layer: OutcomeLayer, is_heard: bool) -> Vec<String> {
        let layer = if self.masks {
            layer.policy(Policy::new().undeclared(Undeclared::Mask))
        } else {
            layer
        };
        let mut complaints = Vec::new();
        for is_event in [false, true] {
            let form = if is_event { "event" } else { "JSON" };
            let state = if is_heard { "heard" } else { "idle" };
            // What is set up once is set up.
            call(&layer, &self.middle.answer(KIB, is_event));
            let mut large = None;
            for &size in self.sizes {
                let answer = self.middle.answer(size, is_event);
                BYTES.store(0, Ordering::Relaxed);
                *EXPECTED.lock().unwrap() = Some(self.outcome);
                let Taken { peak, len } = call(&layer, &answer);
                let what = format!("{state}, {form}, {}, {} KiB", self.what, size / KIB);
                println!("{what}: {peak} bytes of {}", self.allowed);
                if peak > self.allowed {
                    complaints.push(format!("{what}: {peak} bytes, not {}", self.allowed));
                }
                if size >= MIB && *large.get_or_insert(peak) != peak {
                    complaints.push(format!("{what}: {peak} bytes, not as with less"));
                }
                if self.passes && len != answer.len() {
                    complaints.push(format!("{what}: {len} bytes came out of {}", answer.len()));
                }
                // What is at the end was seen. Of a replaced answer nobody counts the bytes.
                let bytes = BYTES.load(Ordering::Relaxed);
                let expected = (answer.len() - answer.framing) as u64;
                if is_heard && self.passes && bytes != expected {
                    complaints.push(format!("{what}: {bytes} bytes read of {expected}"));
                }
            }
        }
        complaints
    }
}

#[test]
fn a_call_keeps_as_much_for_a_large_answer_as_for_a_small_one() {
    let all = |make: fn() -> OutcomeLayer, is_heard| {
        CASES.iter().flat_map(|case| case.complaints(make(), is_heard)).collect::<Vec<_>>()
    };
    let mut complaints = all(OutcomeLayer::new, false);
    tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::sink)
        .init();
    complaints.extend(all(|| OutcomeLayer::new().hook(ended), true));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
