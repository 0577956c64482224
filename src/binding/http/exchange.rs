//! What the layers of one stack know together about an HTTP request.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};

use bytes::Bytes;
use http::{HeaderMap, request::Parts};

use super::{
    frames::Frames,
    request::{Contents, Id, MODERN, Message, Read, Sort, head},
    sessions,
};
use crate::call::{Call, Kind, RequestId, Session};

/// One HTTP request and its answer, shared by the layers that see it.
pub(super) struct Exchange {
    pub(super) sort: Sort,
    /// The HTTP method, for what is no message.
    pub(super) method: http::Method,
    /// Whether the client reads JSON, not events alone.
    pub(super) accepts_json: bool,
    pub(super) session: Option<Session>,
    unread: Option<Unread>,
    said: OnceLock<Said>,
    /// The innermost layer's name for the route.
    route: Mutex<Option<Arc<str>>>,
    /// What a failure is logged as that no message can be blamed for.
    http_call: Option<Call>,
    /// The last frame that one of our layers has handed on to another one, and whether that one
    /// replaces what must not go out.
    passed: Mutex<Option<(Bytes, bool)>>,
    is_resumable: AtomicBool,
    /// Who is to be woken when a request is cancelled.
    waker: Mutex<Option<Waker>>,
}

/// What is looked for in a request that nobody reads.
mod words {
    use std::sync::LazyLock;

    use memchr::memmem::Finder;

    type Word = LazyLock<Finder<'static>>;

    pub(super) static MESSAGE: Word = LazyLock::new(|| Finder::new(b"jsonrpc"));
    pub(super) static TASKS: Word = LazyLock::new(|| Finder::new(b"tasks"));
    pub(super) static ESCAPE: Word = LazyLock::new(|| Finder::new(b"\\u"));
}

/// What is needed of a request where nobody has asked so far what it says.
struct Unread {
    is_modern: bool,
    speaks_mcp: bool,
    frames: Frames,
}

/// What the body says.
struct Said {
    messages: Vec<Message>,
    is_batch: bool,
    is_modern: bool,
    cancels: Vec<RequestId>,
}

impl Exchange {
    /// An exchange whose request says this.
    pub(super) fn new(sort: Sort, parts: &Parts, contents: Contents) -> Self {
        let said = Said::new(contents, &parts.headers);
        let is_json_of_others =
            sort == Sort::Messages && said.messages.is_empty() && !head::speaks_mcp(&parts.headers);
        let sort = if is_json_of_others { Sort::Foreign } else { sort };
        let is_without = said.messages.is_empty();
        let mut exchange = Self::with(sort, parts, None, OnceLock::from(said));
        exchange.http_call = is_without.then(|| exchange.new_http_call());
        exchange
    }

    /// An exchange of whose request nothing needs to be known unless it fails.
    pub(super) fn unread(sort: Sort, parts: &Parts, frames: Frames) -> Self {
        let version = head::version(&parts.headers);
        let is_modern = version.is_some_and(is_modern);
        let speaks_mcp = version.is_some() || head::speaks_mcp(&parts.headers);
        let is_message = speaks_mcp || words::MESSAGE.find(&frames.joined()).is_some();
        let sort = if sort == Sort::Messages && !is_message { Sort::Foreign } else { sort };
        let unread = Unread { is_modern, speaks_mcp, frames };
        Self::with(sort, parts, Some(unread), OnceLock::new())
    }

    fn with(sort: Sort, parts: &Parts, unread: Option<Unread>, said: OnceLock<Said>) -> Self {
        Self {
            sort,
            method: parts.method.clone(),
            accepts_json: head::accepts_json(&parts.headers),
            session: head::session(&parts.headers).map(|id| Session::from_id(id.as_bytes())),
            unread,
            said,
            route: Mutex::new(None),
            http_call: None,
            passed: Mutex::new(None),
            is_resumable: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    fn said(&self) -> &Said {
        self.said.get_or_init(|| {
            // Nobody listens, so that nothing else of its head matters.
            let headers = match &self.unread {
                Some(unread) if unread.speaks_mcp => head::of_mcp(),
                _ => HeaderMap::new(),
            };
            let contents = match (&self.unread, self.sort) {
                (Some(unread), Sort::Messages) => Contents::of(&unread.frames, true, &headers),
                (Some(_), Sort::Encoded) => Contents::unread(&headers),
                _ => Contents::default(),
            };
            let mut said = Said::new(contents, &headers);
            said.is_modern |= self.unread.as_ref().is_some_and(|unread| unread.is_modern);
            said
        })
    }

    /// Whether nobody has asked so far what the request says.
    pub(super) fn is_unread(&self) -> bool {
        self.said.get().is_none()
    }

    /// Whether a request may ask for a task: also one that nobody has read so far, which is read only
    /// where it looks like it, and one that cannot be read.
    pub(super) fn may_ask_for_task(&self) -> bool {
        if let Some(unread) = self.unread.as_ref().filter(|_| self.is_unread()) {
            if self.sort == Sort::Encoded {
                return true;
            }
            // Or has it in escapes.
            let body = unread.frames.joined();
            if words::TASKS.find(&body).is_none() && words::ESCAPE.find(&body).is_none() {
                return false;
            }
        }
        let messages = self.messages();
        messages.is_empty() || messages.iter().any(Message::may_ask_for_task)
    }

    /// The requests and notifications that were sent.
    pub(super) fn messages(&self) -> &[Message] {
        &self.said().messages
    }

    /// Whether they came as an array.
    pub(super) fn is_batch(&self) -> bool {
        self.said().is_batch
    }

    /// Whether closing the stream is how the client cancels.
    pub(super) fn is_modern(&self) -> bool {
        self.said().is_modern
    }

    /// Requests that the client does not want any more.
    pub(super) fn cancels(&self) -> &[RequestId] {
        &self.said().cancels
    }

    /// Which message this answers. An error without an id answers the only request that there is.
    pub(super) fn answered_by(&self, id: Option<&Id>, is_error: bool) -> Option<(usize, &Message)> {
        let requests =
            || self.messages().iter().enumerate().filter(|(_, message)| message.is_request());
        let exact = id
            .and_then(|id| requests().find(|(_, it)| it.id().is_some_and(|own| own.key == id.key)));
        let only = || {
            let mut requests = requests();
            requests.next().filter(|_| requests.next().is_none())
        };
        exact.or_else(|| {
            only().filter(|(_, message)| match (message.id(), id) {
                // Some servers change a number into a text, or the other way round.
                (Some(own), Some(id)) => own.is(id),
                // Not read so far as its id: it can be no other.
                (None, Some(_)) => true,
                (own, None) => is_error || own.is_some_and(|own| &*own.json == "null"),
            })
        })
    }

    /// The call of a request that carries no message: it makes no event unless it fails.
    pub(super) fn http_call(&self) -> Option<&Call> {
        self.http_call.as_ref()
    }

    pub(super) fn new_http_call(&self) -> Call {
        Call::begin(Kind::Request, self.method.as_str().to_owned().into(), None, None)
    }

    /// Names the route; layers further in do so later.
    pub(super) fn set_route(&self, route: &Arc<str>) {
        *self.route.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(route));
    }

    pub(super) fn route(&self) -> Option<Arc<str>> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that one of our layers has handed on this frame. It is kept, so that no other frame
    /// can have its place in memory.
    pub(super) fn set_passed(&self, frame: &Bytes, is_edited: bool) {
        let frame = Some((frame.clone(), is_edited));
        let earlier = std::mem::replace(&mut *self.passed(), frame);
        drop(earlier);
    }

    /// Whether it was this frame, or a part of it, untouched, so that whoever is further out need
    /// not read it again; unless it edits, and the other one did not.
    pub(super) fn has_passed(&self, frame: &Bytes, edits: bool) -> bool {
        let passed = self.passed();
        passed.as_ref().is_some_and(|(passed, is_edited)| {
            let (passed, frame) = (passed.as_ptr_range(), frame.as_ptr_range());
            passed.start <= frame.start && frame.end <= passed.end && (!edits || *is_edited)
        })
    }

    fn passed(&self) -> MutexGuard<'_, Option<(Bytes, bool)>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an answer that has not come may still come on another connection.
    pub(super) fn is_resumable(&self) -> bool {
        self.session.is_some() && self.may_go_on()
    }

    /// The same, even if nobody could tell whose it is then.
    pub(super) fn may_go_on(&self) -> bool {
        self.is_resumable.load(Ordering::Relaxed)
    }

    /// Has this task woken when a request is cancelled.
    pub(super) fn wake_by(&self, waker: &Waker) {
        let mut known = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            let earlier = known.replace(waker.clone());
            drop(known);
            // Its destructor is somebody else's code.
            drop(earlier);
        }
    }

    /// Nobody wants the answer of this call any more.
    pub(super) fn cancel(&self, call: &Call) {
        let mut messages = self.messages().iter();
        if let Some(message) = messages.find(|message| message.call.id() == call.id()) {
            message.set_cancelled();
        }
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn set_resumable(&self) {
        self.is_resumable.store(true, Ordering::Relaxed);
    }

    /// Other connections of the session need not look for the message any more, unless its answer
    /// may be replayed.
    pub(super) fn leave_session(&self, message: &Message) {
        if let (true, Some(session), Some(id)) = (message.take_listed(), self.session, message.id())
        {
            if self.is_resumable() {
                sessions::deliver(session, &id.key);
            } else {
                sessions::end(session, &id.key, &message.call);
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // However it ended, the list of the session's calls does not grow by it.
        let messages = self.said.get().map(|said| &*said.messages).unwrap_or_default();
        for message in messages.iter().filter(|message| message.take_listed()) {
            if let (Some(session), Some(id)) = (self.session, message.id()) {
                sessions::end(session, &id.key, &message.call);
            }
        }
    }
}

impl Said {
    fn new(contents: Contents, headers: &HeaderMap) -> Self {
        let mut said = Self {
            messages: Vec::with_capacity(contents.messages.len().max(1)),
            is_batch: contents.is_batch,
            is_modern: head::version(headers).is_some_and(is_modern),
            cancels: Vec::new(),
        };
        // It meant to be a message; whatever the server makes of it is its end.
        let is_meant =
            contents.messages.is_empty() && contents.is_broken && head::speaks_mcp(headers);
        let unreadable = is_meant.then(|| Read::unreadable(None, headers));
        for read in contents.messages.into_iter().chain(unreadable) {
            said.is_modern |= read.version.as_deref().is_some_and(is_modern);
            said.cancels.extend(read.cancels);
            said.messages.push(read.message);
        }
        said
    }
}

/// Revisions are dates, which compare as text.
fn is_modern(version: &str) -> bool {
    version >= MODERN
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("sort", &self.sort).finish_non_exhaustive()
    }
}

/// How layers further in find it.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Arc<Exchange>);
