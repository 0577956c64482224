//! A request's body: read for what it says, then replayed.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::BoxError;

use super::{Id, Read};
use crate::binding::http::{
    MAX_MESSAGES,
    exchange::Exchange,
    frames::{Frames, bytes_of, poll_frame, size_after},
    scan::{Config, Progress, Scanner, Seen},
};

/// Frames of a body that are read before it is handed on: each takes room of its own.
const MAX_FRAMES: usize = 16 * 1024;

pin_project! {
    /// The body that the layers hand a request on with.
    ///
    /// It yields what came, frame by frame and byte for byte, trailers and a late error included.
    pub struct RequestBody<B> {
        #[pin]
        body: Inner<B>,
    }
}

pin_project! {
    #[project = InnerProjection]
    enum Inner<B> {
        Untouched { #[pin] body: B },
        Read { replay: Replay<B> },
    }
}

struct Replay<B> {
    frames: Frames,
    rest: Rest<B>,
}

/// What comes after the frames that were read.
enum Rest<B> {
    Nothing,
    Trailers(Box<HeaderMap>),
    Error(BoxError),
    /// The body was not read to its end.
    Body(Pin<Box<B>>, Option<Box<Late>>),
}

/// A message that is read on as it goes by, for its id.
struct Late {
    scanner: Scanner,
    exchange: Arc<Exchange>,
}

/// A body that is being read.
pub(in super::super) struct Reading<B> {
    body: Pin<Box<B>>,
    limit: usize,
    read: usize,
    frames: Frames,
    end: Option<End>,
}

/// How the reading of a body ended.
enum End {
    Whole(Option<Box<HeaderMap>>),
    /// It is longer than the limit.
    Long,
    Broken(BoxError),
}

/// What a body says.
#[derive(Debug, Default)]
pub(in super::super) struct Contents {
    pub(in super::super) messages: Vec<Read>,
    pub(in super::super) is_batch: bool,
    /// It is no JSON, or not all of it came.
    pub(in super::super) is_broken: bool,
}

impl<B> RequestBody<B> {
    pub(in super::super) fn untouched(body: B) -> Self {
        Self { body: Inner::Untouched { body } }
    }
}

impl<B: Body> Reading<B> {
    pub(in super::super) fn new(body: B, limit: usize) -> Self {
        let body = Box::pin(body);
        Self { body, limit, read: 0, frames: Frames::default(), end: None }
    }

    /// Reads to the end, or up to the limit.
    pub(in super::super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()>
    where
        B::Error: Into<BoxError>,
    {
        while self.end.is_none() {
            if self.body.is_end_stream() {
                self.end = Some(End::Whole(None));
                break;
            }
            match ready!(self.body.as_mut().poll_frame(cx)) {
                None => self.end = Some(End::Whole(None)),
                Some(Err(error)) => self.end = Some(End::Broken(error.into())),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        let data = bytes_of(data);
                        self.read = self.read.saturating_add(data.len());
                        self.frames.push_back(data);
                        if self.read > self.limit || self.frames.len() > MAX_FRAMES {
                            self.end = Some(End::Long);
                        }
                    }
                    Err(frame) => {
                        self.end = Some(End::Whole(frame.into_trailers().ok().map(Box::new)));
                    }
                },
            }
        }
        Poll::Ready(())
    }

    /// What was read.
    pub(in super::super) fn frames(&self) -> &Frames {
        &self.frames
    }

    pub(in super::super) fn len(&self) -> usize {
        self.read
    }

    pub(in super::super) fn is_whole(&self) -> bool {
        matches!(self.end, Some(End::Whole(_)))
    }

    /// What is said in what was read.
    pub(in super::super) fn contents(&self, headers: &HeaderMap) -> Contents {
        Contents::of(&self.frames, self.is_whole(), headers)
    }

    /// The body to hand on.
    pub(in super::super) fn replay(self, exchange: &Arc<Exchange>) -> RequestBody<B> {
        let rest = match self.end {
            Some(End::Whole(Some(trailers))) => Rest::Trailers(trailers),
            Some(End::Broken(error)) => Rest::Error(error),
            Some(End::Long) => Rest::Body(self.body, Late::new(exchange, &self.frames)),
            Some(End::Whole(None)) | None => Rest::Nothing,
        };
        RequestBody { body: Inner::Read { replay: Replay { frames: self.frames, rest } } }
    }
}

impl Contents {
    /// What a body says that nobody can read, by the headers that go with it.
    pub(in super::super) fn unread(headers: &HeaderMap) -> Self {
        Self::of(&Frames::default(), false, headers)
    }

    /// What is said in a body of these frames, which are all of it where `is_whole`.
    pub(in super::super) fn of(frames: &Frames, is_whole: bool, headers: &HeaderMap) -> Self {
        let mut scanner = Scanner::new(Config::requests());
        let mut contents = Self::default();
        for (at, frame) in frames.iter().enumerate() {
            let mut rest = &**frame;
            if at == 0 {
                // Some servers take a byte order mark.
                rest = rest.strip_prefix("\u{feff}".as_bytes()).unwrap_or(rest);
            }
            while !rest.is_empty() {
                let (read, seen) = scanner.push(rest);
                rest = rest.get(read..).unwrap_or_default();
                if seen == Seen::End && contents.messages.len() < MAX_MESSAGES {
                    contents.messages.reserve_exact(usize::from(contents.messages.is_empty()));
                    contents.messages.extend(Read::of(scanner.facts(), headers));
                    if scanner.is_batch() {
                        scanner.take_facts();
                    }
                }
            }
        }
        contents.is_batch = scanner.is_batch();
        contents.is_broken = !is_whole || scanner.progress() != Progress::Complete;
        if contents.is_broken && !contents.is_batch && contents.messages.is_empty() {
            contents.messages.extend(Read::of_start(scanner.facts(), headers));
        }
        contents
    }
}

impl Late {
    fn new(exchange: &Arc<Exchange>, frames: &Frames) -> Option<Box<Self>> {
        let [message] = exchange.messages() else { return None };
        if message.id().is_some() || !message.is_request() {
            return None;
        }
        let mut late =
            Self { scanner: Scanner::new(Config::requests()), exchange: Arc::clone(exchange) };
        for frame in frames.iter() {
            late.read(frame);
        }
        Some(Box::new(late))
    }

    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (read, seen) = self.scanner.push(bytes);
            bytes = bytes.get(read..).unwrap_or_default();
            if seen == Seen::End
                && let ([message], Some(id)) =
                    (self.exchange.messages(), Id::of(&self.scanner.facts().id))
            {
                message.learn_id(id);
            }
        }
    }
}

impl<B: Body> Body for RequestBody<B>
where
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().body.project() {
            InnerProjection::Untouched { body } => poll_frame(body, cx),
            InnerProjection::Read { replay } => replay.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Inner::Untouched { body } => body.is_end_stream(),
            Inner::Read { replay } => {
                replay.frames.is_empty()
                    && match &replay.rest {
                        Rest::Nothing => true,
                        Rest::Trailers(_) | Rest::Error(_) => false,
                        Rest::Body(body, _) => body.is_end_stream(),
                    }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Inner::Untouched { body } => body.size_hint(),
            Inner::Read { replay } => replay.size_hint(),
        }
    }
}

impl<B: Body> Replay<B>
where
    B::Error: Into<BoxError>,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(frame) = self.frames.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        if let Rest::Body(body, late) = &mut self.rest {
            let frame = ready!(poll_frame(body.as_mut(), cx));
            if let (Some(late), Some(Ok(frame))) = (late, &frame)
                && let Some(data) = frame.data_ref()
            {
                late.read(data);
            }
            return Poll::Ready(frame);
        }
        Poll::Ready(match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Error(error) => Some(Err(error)),
            Rest::Trailers(trailers) => Some(Ok(Frame::trailers(*trailers))),
            Rest::Nothing | Rest::Body(..) => None,
        })
    }

    fn size_hint(&self) -> SizeHint {
        // A body that broke off was to be longer.
        let rest = match &self.rest {
            Rest::Error(_) => SizeHint::default(),
            Rest::Body(body, _) => body.size_hint(),
            Rest::Nothing | Rest::Trailers(_) => SizeHint::with_exact(0),
        };
        size_after(self.frames.bytes(), &rest)
    }
}

impl<B> fmt::Debug for RequestBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").finish_non_exhaustive()
    }
}
