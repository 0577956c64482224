//! Typed services, of a protocol library that is made up.

use std::{
    borrow::Cow,
    future::Ready,
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Map, Value};
use tower::{
    BoxError, Layer as _,
    retry::{Policy, RetryLayer},
    service_fn,
};
use tower_outcome::{
    Call, ClassifyLayer, ContainLayer, Declaration, Kind, LogLayer, McpReply, McpRequest, Origin,
    OutcomeLayer, Rendering, RequestId,
    binding::{Answer, NeverGone, ResultView},
};

use crate::wire::{Ours, PANIC, Server, Svc, Wire, boxed, told_text};

#[derive(Clone, Copy)]
pub(crate) struct Typed;

#[derive(Clone)]
pub(crate) struct Ask {
    id: i64,
    call: Option<Call>,
}

pub(crate) struct Told {
    text: String,
    is_error: bool,
    meta: Map<String, Value>,
}

impl McpRequest for Ask {
    type Reply = Told;
    type Gone = NeverGone;

    fn kind(&self) -> Kind {
        Kind::ToolCall
    }

    fn method(&self) -> Cow<'static, str> {
        "tools/call".into()
    }

    fn tool(&self) -> Option<&str> {
        Some("sort")
    }

    fn id(&self) -> Option<RequestId> {
        Some(RequestId::Number(self.id))
    }

    fn origin(&self) -> Origin {
        Origin::default()
    }

    fn call(&self) -> Option<&Call> {
        self.call.as_ref()
    }

    fn set_call(&mut self, call: Call) {
        self.call = Some(call);
    }

    fn gone(&self) -> NeverGone {
        NeverGone
    }
}

impl McpReply for Told {
    fn answer(&self) -> Answer<'_> {
        Answer::Result(ResultView {
            is_error: self.is_error,
            meta: Some(&self.meta),
            text: Some(&self.text),
            is_text_alone: true,
            ..ResultView::default()
        })
    }

    fn failure(_: Kind, _: Option<&RequestId>, rendering: Rendering) -> Self {
        let record = (Declaration::KEY.to_owned(), rendering.declaration.to_value());
        Self { text: rendering.text, is_error: true, meta: Map::from_iter([record]) }
    }
}

impl Wire for Typed {
    type Request = Ask;
    type Response = Told;

    fn server(does: Server) -> Svc<Self> {
        let calls = Arc::new(AtomicUsize::new(0));
        boxed(service_fn(move |_| {
            let earlier = calls.fetch_add(1, Ordering::Relaxed);
            assert!(does != Server::Panics, "{PANIC}");
            async move {
                match does {
                    Server::Hangs => std::future::pending().await,
                    Server::FailsTwice if earlier < 2 => Err(BoxError::from("out of order")),
                    _ => Ok(Told { text: "fine".to_owned(), is_error: false, meta: Map::new() }),
                }
            }
        }))
    }

    fn call(id: u64) -> Ask {
        Ask { id: id as i64, call: None }
    }

    fn wrap(ours: Ours, inner: Svc<Self>) -> Svc<Self> {
        match ours {
            Ours::Log => boxed(LogLayer::new().layer(inner)),
            Ours::Classify => boxed(ClassifyLayer::new().layer(inner)),
            Ours::Contain => boxed(ContainLayer::new().layer(inner)),
            Ours::Outcome => boxed(OutcomeLayer::new().layer(inner)),
        }
    }

    fn retrying(inner: Svc<Self>) -> Svc<Self> {
        boxed(RetryLayer::new(Attempts(2)).layer(inner))
    }

    async fn told(told: Told) -> String {
        told_text(&told.text)
    }
}

/// Attempts that are left.
#[derive(Clone)]
struct Attempts(usize);

impl Policy<Ask, Told, BoxError> for Attempts {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Ask, result: &mut Result<Told, BoxError>) -> Option<Ready<()>> {
        self.0 = self.0.checked_sub(usize::from(result.is_err()))?;
        result.is_err().then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, ask: &Ask) -> Option<Ask> {
        Some(ask.clone())
    }
}
