//! Bodies, frame by frame, whoever sends them.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tower::BoxError;

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
