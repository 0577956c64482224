//! The layers in the orders that people put them in.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::LocalBoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use tower::{BoxError, Layer, Service, ServiceBuilder};
use tower_http::map_response_body::MapResponseBodyLayer;
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, Record};

use crate::script::{Script, Server};

/// Who stands round the server, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    Outcome,
    Log,
    LogContain,
    LogClassifyContain,
    /// With a layer between them that copies each frame.
    LogCopyContain,
    /// With a layer between them that copies every other frame.
    LogMixContain,
    /// With a layer between them that cuts each frame in two.
    LogCutContain,
    /// With a layer between them that hands the frames on in a body of its own.
    LogWrapContain,
    ContainLog,
    OutcomeTwice,
    /// With a layer between them that answers something else: none of `STACKS`.
    LogSpoilContain,
}

/// What it answers.
pub const SPOILT: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#;

pub const STACKS: [Stack; 10] = [
    Stack::Outcome,
    Stack::Log,
    Stack::LogContain,
    Stack::LogClassifyContain,
    Stack::LogCopyContain,
    Stack::LogMixContain,
    Stack::LogCutContain,
    Stack::LogWrapContain,
    Stack::ContainLog,
    Stack::OutcomeTwice,
];

/// The records of one hook.
pub type Records = Arc<Mutex<Vec<Record>>>;

pub type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A stack that is called once.
pub type Call =
    Box<dyn FnOnce(Request<Script>) -> LocalBoxFuture<'static, Result<Answer, BoxError>>>;

impl Stack {
    pub fn contains(self) -> bool {
        self != Self::Log
    }

    /// The stack round a server, and the records of each of its hooks.
    pub fn round(self, server: Server) -> (Call, Vec<Records>) {
        let records = [Records::default(), Records::default()];
        let [first, second] = &records;
        let (log, contain) = (|| LogLayer::new().hook(hook(first)), ContainLayer::new);
        let call = match self {
            Self::Outcome => call(OutcomeLayer::new().hook(hook(first)).layer(server)),
            Self::Log => call(log().layer(server)),
            Self::LogContain => {
                call(ServiceBuilder::new().layer(log()).layer(contain()).service(server))
            }
            Self::LogClassifyContain => call(
                ServiceBuilder::new()
                    .layer(log())
                    .layer(ClassifyLayer::new())
                    .layer(contain())
                    .service(server),
            ),
            Self::LogCopyContain => wrapped(&log(), How::Copy, server),
            Self::LogMixContain => wrapped(&log(), How::Mix, server),
            Self::LogSpoilContain => wrapped(&log(), How::Spoil, server),
            Self::LogCutContain => wrapped(&log(), How::Cut, server),
            Self::LogWrapContain => wrapped(&log(), How::AsItIs, server),
            Self::ContainLog => {
                call(ServiceBuilder::new().layer(contain()).layer(log()).service(server))
            }
            Self::OutcomeTwice => call(
                ServiceBuilder::new()
                    .layer(OutcomeLayer::new().hook(hook(first)))
                    .layer(OutcomeLayer::new().hook(hook(second)))
                    .service(server),
            ),
        };
        let hooks = if self == Self::OutcomeTwice { 2 } else { 1 };
        (call, records.into_iter().take(hooks).collect())
    }
}

/// No hook, and so nobody who listens.
pub fn unheard(server: Server) -> Call {
    call(ContainLayer::new().layer(server))
}

/// The same with all of the layers, none of which is heard.
pub fn all_unheard(server: Server) -> Call {
    call(OutcomeLayer::new().layer(server))
}

fn hook(records: &Records) -> impl Fn(&Record) + Send + Sync + use<> {
    let records = Arc::clone(records);
    move |record: &Record| records.lock().unwrap().push(record.clone())
}

fn wrapped(log: &LogLayer, how: How, server: Server) -> Call {
    let between = MapResponseBodyLayer::new(move |body| Between {
        body: Box::pin(body),
        how,
        rest: None,
        count: 0,
    });
    call(log.layer(between.layer(ContainLayer::new().layer(server))))
}

fn call<S, R>(mut service: S) -> Call
where
    S: Service<Request<Script>, Response = Response<R>> + 'static,
    S::Error: Into<BoxError>,
    S::Future: 'static,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    Box::new(move |request| {
        Box::pin(async move {
            std::future::poll_fn(|cx| service.poll_ready(cx)).await.map_err(Into::into)?;
            let future = service.call(request);
            // As a server does: the service is gone before the answer has come.
            drop(service);
            let response = future.await.map_err(Into::into)?;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    })
}

#[derive(Clone, Copy)]
enum How {
    AsItIs,
    Copy,
    Mix,
    Cut,
    Spoil,
}

/// A body round another one, as other people's layers make them.
struct Between<B> {
    body: Pin<Box<B>>,
    how: How,
    rest: Option<Bytes>,
    count: usize,
}

impl<B: Body<Data = Bytes>> Body for Between<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(rest) = self.rest.take() {
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        let frame = self.body.as_mut().poll_frame(cx);
        frame.map(|frame| {
            frame.map(|frame| {
                frame.map(|frame| {
                    frame.map_data(|mut data| match self.how {
                        How::AsItIs => data,
                        How::Copy => Bytes::copy_from_slice(&data),
                        How::Spoil => {
                            self.count += 1;
                            Bytes::from_static(if self.count == 1 { SPOILT } else { b"" })
                        }
                        How::Mix => {
                            self.count += 1;
                            match self.count % 2 {
                                0 => Bytes::copy_from_slice(&data),
                                _ => data,
                            }
                        }
                        How::Cut => {
                            let start = data.split_to(data.len() / 2);
                            self.rest = Some(data);
                            start
                        }
                    })
                })
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
