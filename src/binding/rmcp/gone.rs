//! Whether a client still waits, as far as rmcp lets one tell.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use pin_project_lite::pin_project;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{
    RmcpRequest,
    connection::{Connection, Key},
};
use crate::{
    binding::{Gone, WhoLeft},
    outcome::Reason,
    timer::Timer,
};

/// How long the token of a request may be ahead of the notification that cancelled it. rmcp fires
/// the token first and hands the notification to a task of its own (`service.rs` of rmcp 3.11).
const NOTIFICATION_DELAY: Duration = Duration::from_millis(250);
/// How long rmcp still delivers answers after the token of a request has fired because the session
/// was told to end: 2 s (`service.rs`), and some slack.
const DRAIN: Duration = Duration::from_millis(2500);

pin_project! {
    /// Watches whether the client of a request still waits.
    ///
    /// A request's token fires for many reasons. That the client cancelled is known from its
    /// notification, which comes a moment later; over HTTP without a session a fired token means
    /// that the stream was closed, which from 2026-07-28 on *is* cancelling.
    #[derive(Debug)]
    pub struct ClientGone {
        token: Option<CancellationToken>,
        key: Option<Key>,
        connection: Arc<Connection>,
        stream: Stream,
        #[pin]
        fired: Option<WaitForCancellationFutureOwned>,
        // From the token's firing on.
        wait: Option<Wait>,
        // Its place among those that wait for a notification.
        ticket: Option<u64>,
    }

    impl PinnedDrop for ClientGone {
        fn drop(this: Pin<&mut Self>) {
            if let Some(ticket) = this.ticket {
                this.connection.leave(ticket);
            }
        }
    }
}

/// What it means that a request's token fires without a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    /// Each request has its own stream, which was closed: from 2026-07-28 on this is cancelling.
    Cancels,
    /// The same before that revision.
    Disconnects,
    /// The session, which outlives streams, has ended.
    Session,
    /// There is one stream for everything, and either side may have ended it.
    Shared,
}

#[derive(Debug)]
struct Wait {
    timer: Timer,
    is_drain: bool,
}

impl ClientGone {
    pub(super) fn new(request: &RmcpRequest) -> Self {
        let context = request.context();
        let session = request.session_id();
        // From 2026-07-28 on rmcp serves without sessions, whatever the headers say.
        let stream = match request.http() {
            None => Stream::Shared,
            Some(_) if request.is_2026_07_28_or_later() => Stream::Cancels,
            Some(_) if session.is_some() => Stream::Session,
            Some(_) => Stream::Disconnects,
        };
        Self {
            token: context.map(|context| context.ct.clone()),
            key: context.map(|context| Key { id: context.id.clone(), session: session.cloned() }),
            connection: Arc::clone(&request.0.connection),
            stream,
            fired: None,
            wait: None,
            ticket: None,
        }
    }
}

impl Gone for ClientGone {
    fn fired(&self) -> bool {
        self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    fn poll_gone(self: Pin<&mut Self>, cx: &mut Context<'_>, answered: bool) -> Poll<WhoLeft> {
        let mut this = self.project();
        let (Some(token), Some(key)) = (&*this.token, &*this.key) else {
            return Poll::Pending;
        };
        if this.wait.is_none() {
            if this.fired.is_none() {
                this.fired.set(Some(token.clone().cancelled_owned()));
            }
            if let Some(fired) = this.fired.as_mut().as_pin_mut() {
                ready!(fired.poll(cx));
            }
            match this.stream {
                Stream::Cancels => return Poll::Ready(WhoLeft::Cancelled),
                Stream::Disconnects => {
                    return Poll::Ready(WhoLeft::Gone(Some(Reason::Disconnected)));
                }
                Stream::Session | Stream::Shared => {}
            }
        }
        if this.connection.poll_cancelled(key, this.ticket, cx).is_ready() {
            return Poll::Ready(WhoLeft::Cancelled);
        }
        let wait = this.wait.get_or_insert_with(|| Wait {
            timer: Timer::until(Instant::now() + NOTIFICATION_DELAY),
            is_drain: false,
        });
        loop {
            if wait.is_drain && answered {
                // No notification came: the session is ending, and rmcp still delivers.
                return Poll::Ready(WhoLeft::StillServed);
            }
            ready!(Pin::new(&mut wait.timer).poll(cx));
            if wait.is_drain {
                let reason = (*this.stream == Stream::Session).then_some(Reason::SessionEnded);
                return Poll::Ready(WhoLeft::Gone(reason));
            }
            *wait = Wait { timer: Timer::until(Instant::now() + DRAIN), is_drain: true };
        }
    }
}
