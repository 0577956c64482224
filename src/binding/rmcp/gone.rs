//! Whether a client still waits, as far as rmcp lets one tell.

use std::{
    borrow::Cow,
    collections::{VecDeque, hash_map::RandomState},
    future::Future,
    hash::BuildHasher as _,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use pin_project_lite::pin_project;
use rmcp::model::NumberOrString;
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::RmcpRequest;
use crate::{
    binding::{Gone, WhoLeft},
    call::Session,
    outcome::Reason,
};

/// How long the token of a request may be ahead of the notification that cancelled it. rmcp fires
/// the token first and hands the notification to a task of its own (`service.rs` of rmcp 3.11).
const NOTIFICATION_DELAY: Duration = Duration::from_millis(250);
/// How long rmcp still delivers answers after the token of a request has fired because the session
/// was told to end: 2 s (`service.rs`), and some slack.
const DRAIN: Duration = Duration::from_millis(2500);
/// Cancelled requests of one connection that are remembered until their token is asked about.
const MAX_NOTED: usize = 64;

/// What the layers have to know about one connection, or one wrapper: rmcp has nothing to tell
/// connections apart by.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) session: Session,
    pub(super) transport: Option<Cow<'static, str>>,
    cancels: Mutex<Cancels>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Cancels {
    /// Hashes of the ids that `notifications/cancelled` named: an id may be long.
    noted: VecDeque<u64>,
    waiting: Vec<Waker>,
}

impl Connection {
    pub(super) fn new(transport: Option<Cow<'static, str>>) -> Self {
        Self {
            session: Session::random(),
            transport,
            cancels: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// The client has cancelled the request with this id.
    pub(super) fn note_cancelled(&self, id: &NumberOrString) {
        let waiting = {
            let mut cancels = self.cancels();
            if cancels.noted.len() >= MAX_NOTED {
                cancels.noted.pop_front();
            }
            let id = self.hasher.hash_one(id);
            cancels.noted.push_back(id);
            std::mem::take(&mut cancels.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn poll_cancelled(&self, id: &NumberOrString, cx: &mut Context<'_>) -> Poll<()> {
        let id = self.hasher.hash_one(id);
        let mut cancels = self.cancels();
        if let Some(at) = cancels.noted.iter().position(|noted| *noted == id) {
            cancels.noted.remove(at);
            return Poll::Ready(());
        }
        if !cancels.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            cancels.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    fn cancels(&self) -> MutexGuard<'_, Cancels> {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pin_project! {
    /// Watches whether the client of a request still waits.
    ///
    /// A request's token fires for many reasons. That the client cancelled is known from its
    /// notification, which comes a moment later; over HTTP without a session a fired token means
    /// that the stream was closed, which from 2026-07-28 on *is* cancelling.
    #[derive(Debug)]
    pub struct ClientGone {
        token: Option<CancellationToken>,
        id: Option<NumberOrString>,
        connection: std::sync::Arc<Connection>,
        stream: Stream,
        #[pin]
        fired: Option<WaitForCancellationFutureOwned>,
        // From the token's firing on.
        timer: Option<Timer>,
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
struct Timer {
    sleep: Pin<Box<Sleep>>,
    is_drain: bool,
}

impl ClientGone {
    pub(super) fn new(request: &RmcpRequest) -> Self {
        let context = request.context();
        let stream = match request.http() {
            None => Stream::Shared,
            Some(http) if http.headers.contains_key("mcp-session-id") => Stream::Session,
            Some(_) if request.is_2026_07_28_or_later() => Stream::Cancels,
            Some(_) => Stream::Disconnects,
        };
        Self {
            token: context.map(|context| context.ct.clone()),
            id: context.map(|context| context.id.clone()),
            connection: std::sync::Arc::clone(&request.0.connection),
            stream,
            fired: None,
            timer: None,
        }
    }
}

impl Gone for ClientGone {
    fn fired(&self) -> bool {
        self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    fn poll_gone(self: Pin<&mut Self>, cx: &mut Context<'_>, answered: bool) -> Poll<WhoLeft> {
        let mut this = self.project();
        let (Some(token), Some(id)) = (&*this.token, &*this.id) else {
            return Poll::Pending;
        };
        if this.timer.is_none() {
            if this.fired.is_none() {
                this.fired.set(Some(token.clone().cancelled_owned()));
            }
            if let Some(fired) = this.fired.as_mut().as_pin_mut() {
                std::task::ready!(fired.poll(cx));
            }
            match this.stream {
                Stream::Cancels => return Poll::Ready(WhoLeft::Cancelled),
                Stream::Disconnects => {
                    return Poll::Ready(WhoLeft::Gone(Some(Reason::Disconnected)));
                }
                Stream::Session | Stream::Shared => {}
            }
        }
        if this.connection.poll_cancelled(id, cx).is_ready() {
            return Poll::Ready(WhoLeft::Cancelled);
        }
        let timer = this.timer.get_or_insert_with(|| Timer {
            sleep: Box::pin(tokio::time::sleep(NOTIFICATION_DELAY)),
            is_drain: false,
        });
        loop {
            if timer.is_drain && answered {
                // No notification came: the session is ending, and rmcp still delivers.
                return Poll::Ready(WhoLeft::StillServed);
            }
            std::task::ready!(timer.sleep.as_mut().poll(cx));
            if timer.is_drain {
                let reason = (*this.stream == Stream::Session).then_some(Reason::SessionEnded);
                return Poll::Ready(WhoLeft::Gone(reason));
            }
            *timer = Timer { sleep: Box::pin(tokio::time::sleep(DRAIN)), is_drain: true };
        }
    }
}
