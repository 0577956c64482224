//! A client that has one exchange with a stack of layers, one poll at a time.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Once,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, response};
use http_body::{Body as _, Frame};
use tower_outcome::Record;

use crate::{
    corpus::{Ends, Exchange},
    script::{Does, Got, Log, Script, Server, Step},
    stacks::{Call, Records, Stack},
};

const SESSION: &str = "mcp-session-id";

/// One exchange, and how it goes.
pub struct Setup<'a> {
    pub exchange: &'a Exchange,
    pub stack: Stack,
    /// Tells sessions apart: calls are known by their session, and the corpus names the same ones
    /// again and again.
    pub session: usize,
    pub does: Does,
    pub request: Vec<Step>,
    pub response: Vec<Step>,
    /// Whether bodies say that they are at their end before they are asked.
    pub tells_end: bool,
    /// Whether the client asks a body whether it is at its end before it asks for more.
    pub asks_end: bool,
    /// After how many polls the client leaves.
    pub leaves_after: Option<usize>,
    /// Whether the server's body panics when it is dropped.
    pub bursts: bool,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Run {
    pub head: Option<response::Parts>,
    /// The length that the body had when its head came, as far as it said so.
    pub hint: Option<u64>,
    pub frames: Vec<Bytes>,
    pub trailers: Option<HeaderMap>,
    /// Of the service or of the body.
    pub error: Option<String>,
    pub panic: Option<String>,
    /// The client left.
    pub has_left: bool,
    /// Nobody would ever have woken the client.
    pub is_stuck: bool,
    pub polls: usize,
    pub got: Got,
    /// By hook.
    records: Vec<Records>,
    /// What the layers must not do.
    pub misuse: Vec<String>,
}

impl<'a> Setup<'a> {
    /// Each body in one frame.
    pub fn new(exchange: &'a Exchange, stack: Stack) -> Self {
        let whole = |bytes: &Bytes| match bytes.is_empty() {
            true => Vec::new(),
            false => vec![Step::Data(bytes.clone())],
        };
        static SESSIONS: AtomicUsize = AtomicUsize::new(0);
        Self {
            exchange,
            stack,
            session: SESSIONS.fetch_add(1, Ordering::Relaxed),
            does: Does::Answers,
            request: whole(exchange.request.body()),
            response: whole(exchange.response.body()),
            tells_end: false,
            asks_end: true,
            leaves_after: None,
            bursts: false,
        }
    }

    /// Has the exchange, and its end as it was recorded.
    pub fn run(mut self) -> Run {
        self.ends_as_recorded();
        self.run_as_it_is()
    }

    /// The same where the steps say how it ends.
    pub fn run_as_it_is(self) -> Run {
        let stack = self.stack;
        self.run_in(|server| stack.round(server))
    }

    /// Has the exchange, and its end as it was recorded, with layers that nobody hears.
    pub fn run_unheard(mut self, round: fn(Server) -> Call) -> Run {
        self.ends_as_recorded();
        self.run_in(|server| (round(server), Vec::new()))
    }

    fn ends_as_recorded(&mut self) {
        match self.exchange.expected.ends {
            Ends::Clean => {}
            Ends::Broken => self.response.push(Step::Error),
            Ends::Left => self.response.push(Step::Silent),
        }
    }

    fn run_in(self, round: impl FnOnce(Server) -> (Call, Vec<Records>)) -> Run {
        keep_quiet();
        let misuse = Log::default();
        let body = |steps: &[Step]| {
            let mut script = Script::new(steps.to_vec()).noted(&misuse);
            script.tells_end = self.tells_end;
            script
        };
        let mut response = body(&self.response);
        response.bursts = self.bursts;
        if self.does != Does::Answers {
            // Nobody takes it.
            response.bursts = false;
        }
        let mut parts = parts_of(&self.exchange.response);
        rename(&mut parts.headers, self.session);
        let server = Server::new(self.does, parts, response);
        let got = Arc::clone(&server.got);
        let (call, records) = round(server);
        let mut request = self.exchange.request.clone().map(|_| body(&self.request));
        rename(request.headers_mut(), self.session);
        let mut run = Run::default();
        let mut patience = Patience::new(self.leaves_after);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            run.have(call, request, &mut patience, self.asks_end);
        }));
        run.panic = panic.err().map(|panic| text_of(&*panic));
        run.polls = patience.polls;
        run.is_stuck = patience.is_stuck;
        run.got = std::mem::take(&mut got.lock().unwrap());
        run.records = records;
        run.misuse = misuse.lock().unwrap().clone();
        run
    }
}

impl Run {
    fn have(&mut self, call: Call, request: Request<Script>, patience: &mut Patience, asks: bool) {
        let mut future = call(request);
        let answer = patience.poll(|cx| future.as_mut().poll(cx));
        drop(future);
        let response = match answer {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                self.error = Some(error.to_string());
                return;
            }
            None => {
                self.has_left = true;
                return;
            }
        };
        let (parts, mut body) = response.into_parts();
        self.head = Some(parts);
        self.hint = body.size_hint().exact();
        loop {
            if patience.is_over() {
                self.has_left = true;
                return;
            }
            if asks && body.is_end_stream() {
                return;
            }
            match patience.poll(|cx| Pin::new(&mut body).poll_frame(cx)) {
                None => {
                    self.has_left = true;
                    return;
                }
                Some(None) => return,
                Some(Some(Ok(frame))) => self.take(frame),
                Some(Some(Err(error))) => {
                    self.error = Some(error.to_string());
                    return;
                }
            }
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        assert!(self.trailers.is_none(), "something came after the trailers");
        match frame.into_data() {
            Ok(data) => self.frames.push(data),
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
    }

    /// All that came.
    pub fn bytes(&self) -> Vec<u8> {
        self.frames.concat()
    }

    /// What each hook was told until now.
    pub fn records(&self) -> Vec<Vec<Record>> {
        self.records.iter().map(|records| records.lock().unwrap().clone()).collect()
    }
}

/// Polls until something comes, nobody would wake it any more, or the client has had enough.
struct Patience {
    woken: Arc<Woken>,
    waker: Waker,
    polls: usize,
    leaves_after: Option<usize>,
    is_stuck: bool,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Patience {
    fn new(leaves_after: Option<usize>) -> Self {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        Self { woken, waker, polls: 0, leaves_after, is_stuck: false }
    }

    fn is_over(&self) -> bool {
        self.leaves_after.is_some_and(|polls| self.polls >= polls)
    }

    fn poll<T>(&mut self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
        loop {
            if self.is_over() {
                return None;
            }
            self.polls += 1;
            self.woken.0.store(false, Ordering::Relaxed);
            if let Poll::Ready(ready) = poll(&mut Context::from_waker(&self.waker)) {
                return Some(ready);
            }
            if !self.woken.0.load(Ordering::Relaxed) {
                self.is_stuck = true;
                return None;
            }
        }
    }
}

/// Ends a session, so that nothing of it is waited for.
pub fn end_session(exchange: &Exchange, session: usize) {
    let Some(id) = exchange.request.headers().get(SESSION) else { return };
    let mut request = Request::delete("/mcp").body(Script::default()).unwrap();
    request.headers_mut().insert(SESSION, id.clone());
    rename(request.headers_mut(), session);
    let server =
        Server::new(Does::Answers, parts_of(&Response::new(Bytes::new())), Script::default());
    let (call, _) = Stack::Outcome.round(server);
    Run::default().have(call, request, &mut Patience::new(None), false);
}

/// Gives the session that a head names a name of its own.
fn rename(headers: &mut HeaderMap, session: usize) {
    if let Some(id) = headers.get_mut(SESSION) {
        let name = [id.as_bytes(), format!("-{session}").as_bytes()].concat();
        *id = HeaderValue::from_bytes(&name).unwrap();
    }
}

/// The name that a session goes by in a run.
pub fn renamed(headers: &HeaderMap, session: usize) -> HeaderMap {
    let mut headers = headers.clone();
    rename(&mut headers, session);
    headers
}

fn parts_of(response: &Response<Bytes>) -> response::Parts {
    response.clone().into_parts().0
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic".to_owned())
}

/// Keeps the panics that are meant out of the output.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = text_of(info.payload());
            if !text.starts_with("hunter2") {
                hook(info);
            }
        }));
    });
}
