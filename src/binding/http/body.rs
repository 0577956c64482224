//! The body that the layers hand an answer on with.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::BoxError;

use super::{
    answer::{Answering, End, Next, Unwinding},
    frames::{Frames, bytes_of, poll_frame, size_after},
    guard::{Guard, Interrupt},
};
use crate::{contain::Fault, unwind};

pin_project! {
    /// The body that the layers hand an answer on with.
    ///
    /// It yields each frame as it comes, byte for byte, except for the messages that containment
    /// holds back or replaces; and it ends with an error only where the answer has begun and cannot
    /// be told otherwise that it broke off.
    pub struct ResponseBody<B> {
        #[pin]
        inner: Inner<B>,
        answering: Option<Box<Watched>>,
    }

    impl<B> PinnedDrop for ResponseBody<B> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Some(watched) = this.answering.as_mut() {
                // Those further in first: they know whether the answer has gone by.
                let panic = watched.guard.drop(|| this.inner.set(Inner::Gone));
                watched.answering.desk.report(panic);
                watched.answering.leave();
            }
        }
    }
}

pin_project! {
    #[project = InnerProjection]
    pub(super) enum Inner<B> {
        Direct { #[pin] body: B },
        // It was polled before the head went out.
        Boxed { body: Pin<Box<B>> },
        // All of it was read by then.
        Read { frames: Frames },
        Gone,
    }
}

/// An answer that is watched, and how.
pub(super) struct Watched {
    pub(super) answering: Answering,
    pub(super) guard: Guard,
}

impl<B> ResponseBody<B> {
    /// A body that passes as it is.
    pub(super) fn untouched(body: B) -> Self {
        Self { inner: Inner::Direct { body }, answering: None }
    }

    pub(super) fn watched(inner: Inner<B>, watched: Box<Watched>) -> Self {
        Self { inner, answering: Some(watched) }
    }

    /// A body of these frames, which pass as they are.
    pub(super) fn of(frames: Frames) -> Self {
        Self { inner: Inner::Read { frames }, answering: None }
    }

    /// No body.
    pub(super) fn gone() -> Self {
        Self { inner: Inner::Gone, answering: None }
    }

    /// A body of what is ready by now.
    pub(super) fn ready(watched: Box<Watched>) -> Self {
        Self { inner: Inner::Gone, answering: Some(watched) }
    }
}

impl Watched {
    /// Polls the body once, and reads what comes. Ready when there is something to go out, or to
    /// be decided; the body is to be dropped once the answer is over.
    pub(super) fn advance<B>(&mut self, body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<()>
    where
        B: Body,
        B::Error: Into<BoxError>,
    {
        let mut body = body;
        let (guard, answering) = (&mut self.guard, &mut self.answering);
        let unwinding = Unwinding(&mut answering.desk);
        let polled = guard.run(|| {
            let frame = ready!(body.as_mut().poll_frame(cx));
            let frame = frame.map(|frame| frame.map(|frame| frame.map_data(bytes_of)));
            // Asked here, since a body is not always polled until it says that it is at its end.
            Poll::Ready((frame, body.is_end_stream()))
        });
        drop(unwinding);
        let (frame, is_last) = match polled {
            Err(cause) => {
                answering.end(End::Broken(Fault::panic(cause), None));
                return Poll::Ready(());
            }
            Ok(Poll::Ready(polled)) => polled,
            Ok(Poll::Pending) => {
                match guard.poll_pending(&mut answering.desk, cx) {
                    Some(Interrupt::Late(fault)) => {
                        answering.end(End::Broken(fault, Some("no answer in time".into())));
                    }
                    Some(Interrupt::Unwanted(fault)) => answering.abort(&fault),
                    None => return Poll::Pending,
                }
                return Poll::Ready(());
            }
        };
        match frame {
            None => answering.end(End::Clean),
            Some(Err(error)) => {
                let (fault, error) = self.broken(error);
                self.answering.end(End::Broken(fault, error));
            }
            Some(Ok(frame)) => {
                match frame.into_data() {
                    Ok(data) => answering.data(data),
                    Err(frame) => {
                        if let Ok(trailers) = frame.into_trailers() {
                            answering.trailers(trailers);
                        }
                    }
                }
                if is_last {
                    answering.end(End::Clean);
                }
            }
        }
        Poll::Ready(())
    }

    /// What the error of a body means, and what is passed on in its place.
    fn broken<E: Into<BoxError>>(&self, error: E) -> (Fault, Option<BoxError>) {
        // A box is looked at in passing, so that it can be passed on.
        match unwind::catch(|| error.into()) {
            Ok(error) => {
                let call = self.answering.desk.seats.calls().next();
                let (fault, error) = Fault::broken(error, std::any::type_name::<E>(), call);
                (fault, Some(error))
            }
            Err(cause) => (Fault::panic(cause), None),
        }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        let Some(watched) = this.answering.as_mut() else {
            return match this.inner.project() {
                InnerProjection::Direct { body } => poll_frame(body, cx),
                InnerProjection::Boxed { body } => poll_frame(body.as_mut(), cx),
                InnerProjection::Read { frames } => {
                    Poll::Ready(frames.pop_front().map(|frame| Ok(Frame::data(frame))))
                }
                InnerProjection::Gone => Poll::Ready(None),
            };
        };
        loop {
            if watched.answering.is_over() {
                // Before the end goes out: a destructor that panicked later would take it along.
                let panic = watched.guard.drop(|| this.inner.set(Inner::Gone));
                watched.answering.desk.report(panic);
            }
            match watched.answering.next() {
                Some(Next::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Some(Next::Trailers(trailers)) => {
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Some(Next::Error(error)) => return Poll::Ready(Some(Err(error))),
                Some(Next::End) => return Poll::Ready(None),
                None => {}
            }
            match this.inner.as_mut().project() {
                InnerProjection::Direct { body } => ready!(watched.advance(body, cx)),
                InnerProjection::Boxed { body } => ready!(watched.advance(body.as_mut(), cx)),
                InnerProjection::Read { frames } => match frames.pop_front() {
                    Some(frame) => watched.answering.data(frame),
                    None => watched.answering.end(End::Clean),
                },
                InnerProjection::Gone => watched.answering.end(End::Clean),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match (&self.answering, &self.inner) {
            (Some(watched), _) => watched.answering.is_at_end(),
            (None, Inner::Direct { body }) => body.is_end_stream(),
            (None, Inner::Boxed { body }) => body.is_end_stream(),
            (None, Inner::Read { frames }) => frames.is_empty(),
            (None, Inner::Gone) => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let rest = match &self.inner {
            Inner::Direct { body } => body.size_hint(),
            Inner::Boxed { body } => body.size_hint(),
            Inner::Read { frames } => SizeHint::with_exact(frames.bytes()),
            Inner::Gone => SizeHint::with_exact(0),
        };
        let Some(watched) = &self.answering else { return rest };
        let ready = watched.answering.ready_bytes();
        if watched.answering.is_over() {
            return SizeHint::with_exact(ready);
        }
        if watched.answering.may_change_length() {
            return SizeHint::default();
        }
        size_after(ready, &rest)
    }
}

/// An empty one where the inner one is: for layers that answer by themselves.
impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::untouched(B::default())
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
