use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tower_mcp::context::CancellationToken;

use crate::binding::{Gone, WhoLeft};

/// Watches whether the client of a request still waits: a request's token fires where it sends
/// `notifications/cancelled`. Where its stream is closed, the work is dropped as well.
pub struct ClientGone {
    token: Option<CancellationToken>,
    /// Only where the work takes more than one poll.
    fired: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl ClientGone {
    pub(super) fn new(token: Option<CancellationToken>) -> Self {
        Self { token, fired: None }
    }
}

impl Gone for ClientGone {
    fn fired(&self) -> bool {
        self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    fn poll_gone(mut self: Pin<&mut Self>, cx: &mut Context<'_>, _: bool) -> Poll<WhoLeft> {
        let this = &mut *self;
        let Some(token) = &this.token else { return Poll::Pending };
        let fired = this.fired.get_or_insert_with(|| {
            let token = token.clone();
            Box::pin(async move { token.cancelled().await })
        });
        fired.as_mut().poll(cx).map(|()| WhoLeft::Cancelled)
    }
}

impl fmt::Debug for ClientGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientGone").field("token", &self.token).finish_non_exhaustive()
    }
}
