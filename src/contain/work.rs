use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use crate::{
    call::{Call, Kind, Scoped},
    outcome::Cause,
    tool_error::ToolError,
    unwind,
};

pin_project! {
    /// Work whose panics are an error: those in making it, in a poll, and in the destructor of what
    /// it held, which is dropped in here before there is an answer.
    #[derive(Debug)]
    pub(crate) struct Guarded<F> {
        #[pin]
        future: Option<F>,
        // Why there is none.
        cause: Option<Cause>,
    }

    impl<F> PinnedDrop for Guarded<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // Of work that is not wanted any more nobody is told.
            unwind::shielded(|| this.future.set(None));
        }
    }
}

impl<F> Guarded<F> {
    /// Begins the work at once, as a call of `work` would.
    pub(crate) fn new(work: impl FnOnce() -> F) -> Self {
        match unwind::catch(work) {
            Ok(future) => Self { future: Some(future), cause: None },
            Err(cause) => Self { future: None, cause: Some(cause) },
        }
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Cause>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            return this.cause.take().map_or(Poll::Pending, |cause| Poll::Ready(Err(cause)));
        };
        let polled = match unwind::catch(|| future.poll(cx)) {
            Ok(polled) => Ok(ready!(polled)),
            Err(cause) => Err(cause),
        };
        let dropped = unwind::catch(|| this.future.set(None));
        Poll::Ready(match (polled, dropped) {
            (Ok(value), Err(cause)) => {
                unwind::drop_shielded(value);
                Err(cause)
            }
            (polled, _) => polled,
        })
    }
}

pin_project! {
    /// The future of [`contain`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ContainedWork<F> {
        #[pin]
        future: Scoped<Guarded<F>>,
        call: Call,
    }
}

/// Work that a tool leaves behind, such as a task of its own, in which a panic is a failure like
/// any other: a [`ToolError`] that tells the client nothing, with the cause for the log. So the
/// work always ends, and whoever waits for it is told.
///
/// `work` is called at once. The [call](Call::current) that it is made in stays the current one in
/// it: a failure of the work is logged as what that call's task ended in, where it ended in one; see
/// [tasks](crate#tasks). A panic is logged also where nobody looks at what the work returns; what it
/// returns itself is the caller's to tell. Round the operations of rmcp's `TaskManager` there is
/// `binding::rmcp::contain_operation`.
///
/// ```
/// use tower_outcome::{Kind, contain};
///
/// # async fn rebuild(rows: u32) -> Result<u32, std::io::Error> {
/// #     if rows == 0 { panic!("nothing to divide by") }
/// #     Ok(rows)
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tokio::task::JoinError> {
/// let rebuilt = tokio::spawn(contain(|| rebuild(7))).await?;
/// assert_eq!(rebuilt.ok(), Some(7));
///
/// let failed = tokio::spawn(contain(|| rebuild(0))).await?;
/// let told = failed.err().map(|error| error.render(Kind::ToolCall).text).unwrap_or_default();
/// assert!(told.starts_with("This call was fine, but the server could not complete it."));
/// # Ok(())
/// # }
/// ```
pub fn contain<F, T, E>(work: impl FnOnce() -> F) -> ContainedWork<F>
where
    F: Future<Output = Result<T, E>>,
    E: Into<ToolError>,
{
    let call = background();
    let future = Scoped::new(Some(call.clone()), call.kind(), Guarded::new(work));
    ContainedWork { future, call }
}

/// What work that goes on behind an answer is logged with.
pub(crate) fn background() -> Call {
    match Call::current() {
        Some(call) => call.background(),
        None => Call::begin_unrecorded(Kind::ToolCall),
    }
}

impl<F, T, E> Future for ContainedWork<F>
where
    F: Future<Output = Result<T, E>>,
    E: Into<ToolError>,
{
    type Output = Result<T, ToolError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let ended = ready!(this.future.poll(cx));
        let failed = match ended {
            Ok(Ok(value)) => return Poll::Ready(Ok(value)),
            // The conversion is somebody else's code.
            Ok(Err(error)) => unwind::catch(|| error.into()),
            Err(cause) => Err(cause),
        };
        Poll::Ready(Err(match failed {
            Ok(error) => error.within(this.call.clone()),
            Err(cause) => ToolError::panic(this.call.clone(), cause),
        }))
    }
}
