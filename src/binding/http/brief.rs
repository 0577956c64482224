//! Short answers that nobody listens to: read where they are, and let go once they are seen to be
//! results. It is what nearly all answers are where nobody listens, and most of what the layers
//! cost there is in what this leaves out.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderMap, Response, StatusCode, header::CONTENT_TYPE, response};
use http_body::Body;
use tower::BoxError;

use super::{
    answer::{Desk, End, Plan},
    body::{Inner, ResponseBody, Watched},
    duty::Begun,
    frames::{Frames, bytes_of},
    request::{Sort, head},
    respond::{answer_with, release},
    scan::{Config, Envelope, Scanner, Seen},
};
use crate::contain::Fault;

/// Bytes of a body that are waited for.
const MAX_BYTES: u64 = 16 * 1024;

/// What has come of a short answer.
#[derive(Default)]
pub(super) struct Brief {
    frames: Frames,
    read: u64,
    trailers: Option<Box<HeaderMap>>,
}

/// Whether an answer is one that says in its head that it is short.
pub(super) fn is_brief<R: Body>(parts: &response::Parts, body: &R, desk: &Desk) -> bool {
    desk.contains
        && desk.is_owner
        && desk.exchange.sort == Sort::Messages
        && desk.exchange.is_unread()
        && parts.status == StatusCode::OK
        && body.size_hint().exact().is_some_and(|bytes| (1..=MAX_BYTES).contains(&bytes))
        && parts.headers.get(CONTENT_TYPE).is_some_and(head::is_json)
        && !head::is_encoded(&parts.headers)
        // Its result may be what a task says of itself.
        && !desk.exchange.may_ask_for_task()
}

impl Brief {
    /// Reads to the end. Where there is none, nothing of it has gone out.
    pub(super) fn poll<R>(
        &mut self,
        mut body: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>>
    where
        R: Body,
        R::Error: Into<BoxError>,
    {
        while !body.is_end_stream() {
            match ready!(body.as_mut().poll_frame(cx)) {
                None => break,
                Some(Err(error)) => {
                    let type_name = std::any::type_name::<R::Error>();
                    let (fault, _) = Fault::broken(error.into(), type_name, None);
                    return Poll::Ready(Err(fault));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        let data = bytes_of(data);
                        // Each counts, so that there is an end to empty ones.
                        self.read = self.read.saturating_add(data.len().max(1) as u64);
                        self.frames.push_back(data);
                        if self.read > MAX_BYTES {
                            let fault = Fault::nonsense("the body is longer than it said");
                            return Poll::Ready(Err(fault));
                        }
                    }
                    Err(frame) => self.trailers = frame.into_trailers().ok().map(Box::new),
                },
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The response whose body has ended.
    pub(super) fn release<R>(
        mut self,
        parts: response::Parts,
        begun: Begun,
    ) -> Response<ResponseBody<R>> {
        if self.trailers.is_none() && is_result(&self.frames) {
            return Response::from_parts(parts, ResponseBody::of(self.frames));
        }
        let Begun { desk, guard, .. } = begun;
        match Plan::of(&parts, desk) {
            Plan::Follow(mut answering) => {
                while let Some(frame) = self.frames.pop_front() {
                    answering.data(frame);
                }
                if let Some(trailers) = self.trailers {
                    answering.trailers(*trailers);
                }
                answering.end(End::Clean);
                release(parts, Inner::Gone, Box::new(Watched { answering, guard }))
            }
            Plan::Fail(fault, desk) => answer_with(parts, desk, guard, &fault),
        }
    }
}

/// Whether a body begins as the answer of one request that worked.
fn is_result(frames: &Frames) -> bool {
    let mut scanner = Scanner::new(Config::answers());
    for frame in frames.iter() {
        let mut rest = &**frame;
        while !rest.is_empty() {
            let (read, seen) = scanner.push(rest);
            match seen {
                Seen::Envelope => {
                    let is_result = scanner.facts().envelope() == Envelope::Result;
                    return is_result && !scanner.is_batch();
                }
                Seen::Nothing if read == 0 => return false,
                _ => rest = rest.get(read..).unwrap_or_default(),
            }
        }
    }
    false
}
