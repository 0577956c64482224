//! Two calls through the layers, for a protocol that is made up. Built with `panic = "abort"` by
//! `a2_…` in `tests/cases`, which reads what it writes to stderr.

use std::{
    borrow::Cow,
    convert::Infallible,
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use tower_layer::Layer as _;
use tower_outcome::{
    Call, Kind, McpReply, McpRequest, Origin, OutcomeLayer, Rendering, RequestId,
    binding::{Answer, NeverGone, ResultView},
};
use tower_service::Service;

#[derive(Default)]
struct Request(Option<Call>);

struct Reply;

impl McpRequest for Request {
    type Reply = Reply;
    type Gone = NeverGone;

    fn kind(&self) -> Kind {
        Kind::ToolCall
    }

    fn method(&self) -> Cow<'static, str> {
        "tools/call".into()
    }

    fn tool(&self) -> Option<&str> {
        Some("ok")
    }

    fn id(&self) -> Option<RequestId> {
        Some(RequestId::Number(1))
    }

    fn origin(&self) -> Origin {
        Origin::default()
    }

    fn call(&self) -> Option<&Call> {
        self.0.as_ref()
    }

    fn set_call(&mut self, call: Call) {
        self.0 = Some(call);
    }

    fn gone(&self) -> NeverGone {
        NeverGone
    }
}

impl McpReply for Reply {
    fn answer(&self) -> Answer<'_> {
        Answer::Result(ResultView::default())
    }

    fn failure(_: Kind, _: Option<&RequestId>, rendering: Rendering) -> Self {
        eprintln!("failed: {}", rendering.text);
        Self
    }
}

#[derive(Clone)]
struct Fine;

impl Service<Request> for Fine {
    type Response = Reply;
    type Error = Infallible;
    type Future = Ready<Result<Reply, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Ok(Reply))
    }
}

fn main() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let layer = OutcomeLayer::new();
    // A service for each session: what is said once is said once for all of them.
    for _ in 0..2 {
        let mut service = layer.layer(Fine);
        eprintln!("a service was made");
        let mut cx = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut cx).is_ready());
        let answer = pin!(service.call(Request::default()));
        assert!(answer.poll(&mut cx).is_ready());
        eprintln!("answered");
    }
}
