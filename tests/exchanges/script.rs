//! A service that does as it is told, with bodies that do.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, request, response};
use http_body::{Body, Frame, SizeHint};
use tower::{BoxError, Service};

/// What a body does when it is polled.
#[derive(Clone, Debug)]
pub enum Step {
    Data(Bytes),
    Trailers(HeaderMap),
    Error,
    Panic,
    /// Comes later, and says when.
    Pending,
    /// Never says anything again.
    Silent,
}

/// A body of these steps. It must not be polled after its end.
#[derive(Debug, Default)]
pub struct Script {
    steps: VecDeque<Step>,
    /// Whether it says that it is at its end before it is asked for more.
    pub tells_end: bool,
    pub length: Option<u64>,
    /// Whether its destructor panics.
    pub bursts: bool,
    has_ended: bool,
    misuse: Option<Log>,
}

/// What was noticed of the layers.
pub type Log = Arc<Mutex<Vec<String>>>;

impl Script {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let mut script = Self::default();
        script.steps.extend(steps);
        script
    }

    /// Notes in `log` what must not be done with it.
    pub fn noted(mut self, log: &Log) -> Self {
        self.misuse = Some(Arc::clone(log));
        self
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.has_ended
            && let Some(log) = &self.misuse
        {
            log.lock().unwrap().push("a body was polled after its end".to_owned());
        }
        match self.steps.pop_front() {
            None => {
                self.has_ended = true;
                Poll::Ready(None)
            }
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Step::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Step::Error) => {
                self.has_ended = true;
                Poll::Ready(Some(Err("hunter2 broke the pipe".into())))
            }
            Some(Step::Panic) => {
                self.has_ended = true;
                panic!("hunter2 burnt the pipe")
            }
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Silent) => {
                self.steps.push_front(Step::Silent);
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.tells_end && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if self.bursts && !std::thread::panicking() {
            panic!("hunter2 burst the pipe");
        }
    }
}

/// What the service does with a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Does {
    /// Reads all of it, then answers.
    #[default]
    Answers,
    /// Answers without a look at it.
    AnswersAtOnce,
    /// Panics as it is called.
    PanicsInCall,
    /// Panics in its future, when it has read the request.
    PanicsInFuture,
    /// Fails when it has read the request.
    Fails,
    /// Never answers.
    Hangs,
}

/// What the service got.
#[derive(Debug, Default)]
pub struct Got {
    pub parts: Option<request::Parts>,
    pub body: Vec<u8>,
    pub trailers: Option<HeaderMap>,
    pub error: Option<String>,
}

/// Answers one request.
#[derive(Clone)]
pub struct Server {
    pub does: Does,
    answer: Arc<Mutex<Option<Response<Script>>>>,
    pub got: Arc<Mutex<Got>>,
}

impl Server {
    pub fn new(does: Does, parts: response::Parts, body: Script) -> Self {
        let answer = Arc::new(Mutex::new(Some(Response::from_parts(parts, body))));
        Self { does, answer, got: Arc::default() }
    }
}

impl<B> Service<Request<B>> for Server
where
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Script>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Script>, BoxError>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        let (parts, body) = request.into_parts();
        server.got.lock().unwrap().parts = Some(parts);
        assert!(server.does != Does::PanicsInCall, "hunter2 called");
        Box::pin(async move {
            let mut body = Box::pin(body);
            if server.does != Does::AnswersAtOnce {
                server.read(body.as_mut()).await;
            }
            match server.does {
                Does::PanicsInFuture => panic!("hunter2 was thrown"),
                Does::Fails => return Err("hunter2 failed".into()),
                Does::Hangs => std::future::pending().await,
                _ => {}
            }
            // The body lives as long as the answer is made, as a handler's does.
            let answer = server.answer.lock().unwrap().take();
            drop(body);
            Ok(answer.expect("one request"))
        })
    }
}

impl Server {
    async fn read<B>(&self, mut body: Pin<&mut B>)
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let mut got = self.got.lock().unwrap();
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => got.body.extend_from_slice(&data),
                Ok(Err(frame)) => got.trailers = frame.into_trailers().ok(),
                Err(error) => {
                    got.error = Some(error.into().to_string());
                    return;
                }
            }
        }
    }
}
