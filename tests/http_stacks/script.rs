//! A body that does what a test says.
#![allow(dead_code, reason = "test binaries use a part each")]

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tower::BoxError;

/// What a body of these tests does next.
#[derive(Debug)]
pub(crate) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
    Error(&'static str),
    Panic(&'static str),
}

/// A body that does what the test sends it, and ends when the test has let go of it.
pub(crate) struct Script {
    pieces: mpsc::UnboundedReceiver<Piece>,
    next: VecDeque<Piece>,
    hint: SizeHint,
    says: Option<u64>,
    watch: Watch,
}

/// What became of a [`Script`].
#[derive(Clone, Default)]
pub(crate) struct Watch {
    pub(crate) polls: Arc<AtomicUsize>,
    pub(crate) is_dropped: Arc<AtomicBool>,
    /// Whether its destructor is to panic.
    pub(crate) drop_panics: Arc<AtomicBool>,
}

impl Watch {
    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }
}

/// The end at which a test says what a [`Script`] does.
pub(crate) type Pen = mpsc::UnboundedSender<Piece>;

impl Script {
    pub(crate) fn new() -> (Pen, Self) {
        let (pen, pieces) = mpsc::unbounded_channel();
        let next = VecDeque::new();
        (pen, Self { pieces, next, hint: SizeHint::default(), says: None, watch: Watch::default() })
    }

    /// A body of these pieces.
    pub(crate) fn of(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let (_, mut script) = Self::new();
        script.next.extend(pieces);
        script
    }

    /// A body of one frame, which knows how long it is.
    pub(crate) fn whole(text: impl Into<Bytes>) -> Self {
        let text = text.into();
        let hint = SizeHint::with_exact(text.len() as u64);
        let mut script = Self::of([Piece::Data(text)]);
        script.hint = hint;
        script
    }

    /// A body that says that it has so many bytes, whatever it has.
    pub(crate) fn measured(mut self, bytes: u64) -> Self {
        self.says = Some(bytes);
        self
    }

    pub(crate) fn watched(mut self, watch: &Watch) -> Self {
        self.watch = watch.clone();
        self
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::of([])
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.watch.is_dropped.store(true, Ordering::Relaxed);
        if self.watch.drop_panics.swap(false, Ordering::Relaxed) && !std::thread::panicking() {
            panic!("a body that panics when it is dropped");
        }
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.watch.polls.fetch_add(1, Ordering::Relaxed);
        let piece = match self.next.pop_front() {
            Some(piece) => Some(piece),
            None => ready!(self.pieces.poll_recv(cx)),
        };
        Poll::Ready(piece.map(|piece| match piece {
            Piece::Data(data) => Ok(Frame::data(data)),
            Piece::Trailers(trailers) => Ok(Frame::trailers(trailers)),
            Piece::Error(text) => Err(text.into()),
            Piece::Panic(text) => panic!("{text}"),
        }))
    }

    fn size_hint(&self) -> SizeHint {
        if let Some(bytes) = self.says {
            return SizeHint::with_exact(bytes);
        }
        if self.hint.exact().is_none() {
            return SizeHint::default();
        }
        let left = self.next.iter().map(|piece| match piece {
            Piece::Data(data) => data.len() as u64,
            _ => 0,
        });
        SizeHint::with_exact(left.sum())
    }
}

pub(crate) fn data(text: impl Into<Bytes>) -> Piece {
    Piece::Data(text.into())
}
