//! Bodies, frame by frame, whoever sends them.

use std::{
    borrow::Cow,
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tower::BoxError;

/// Frames in their order; there is rarely more than one.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    first: Option<Bytes>,
    more: VecDeque<Bytes>,
}

impl Frames {
    pub(super) fn push_back(&mut self, frame: Bytes) {
        match &self.first {
            None => self.first = Some(frame),
            Some(_) => self.more.push_back(frame),
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<Bytes> {
        std::mem::replace(&mut self.first, self.more.pop_front())
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.more.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.first.iter().chain(&self.more)
    }

    /// How many bytes they are.
    pub(super) fn bytes(&self) -> u64 {
        self.iter().map(|frame| frame.len() as u64).sum()
    }

    /// All of them in one piece, without a copy where they are one.
    pub(super) fn joined(&self) -> Cow<'_, [u8]> {
        match &self.first {
            None => Cow::Borrowed(&[]),
            Some(frame) if self.more.is_empty() => Cow::Borrowed(frame),
            Some(_) => {
                let mut all = Vec::new();
                self.iter().for_each(|frame| all.extend_from_slice(frame));
                Cow::Owned(all)
            }
        }
    }
}

impl Extend<Bytes> for Frames {
    fn extend<I: IntoIterator<Item = Bytes>>(&mut self, frames: I) {
        frames.into_iter().for_each(|frame| self.push_back(frame));
    }
}

impl From<Bytes> for Frames {
    fn from(frame: Bytes) -> Self {
        Self { first: Some(frame), more: VecDeque::new() }
    }
}

/// A piece of a body; without a copy where it is what nearly all bodies consist of.
pub(super) fn bytes_of(mut data: impl Buf) -> Bytes {
    data.copy_to_bytes(data.remaining())
}

/// The next frame of a body that passes as it is.
pub(super) fn poll_frame<B>(
    body: Pin<&mut B>,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    body.poll_frame(cx).map(|frame| {
        frame.map(|frame| match frame {
            Ok(frame) => Ok(frame.map_data(bytes_of)),
            Err(error) => Err(error.into()),
        })
    })
}

/// The hint of a body that has `ready` bytes before what `rest` tells of.
pub(super) fn size_after(ready: u64, rest: &SizeHint) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(ready.saturating_add(rest.lower()));
    if let Some(upper) = rest.upper() {
        hint.set_upper(ready.saturating_add(upper));
    }
    hint
}
