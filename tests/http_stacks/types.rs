//! What follows from the types of what is inside.

use std::{convert::Infallible, marker::PhantomPinned};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tower::{BoxError, Layer, Service, layer::util::Identity, util::BoxCloneSyncService};
use tower_outcome::{
    ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer,
    binding::http::{RequestBody, ResponseBody},
};

use crate::kit::{Fake, Script, answers, call, json_response, send, success};

fn is_send<T: Send>(_: &T) {}
fn is_sync<T: Sync>(_: &T) {}
fn is_clone<T: Clone>(_: &T) {}
fn is_unpin<T: Unpin>() {}
fn is_default<T: Default>() -> T {
    T::default()
}
fn is_static<T: 'static>(_: &T) {}

/// A body that is neither `Unpin` nor `Default`, but may be sent and shared.
struct Pinned(#[allow(dead_code, reason = "it is there for its type")] PhantomPinned);

impl Body for Pinned {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(None)
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}

macro_rules! for_each_layer {
    ($check:ident) => {
        $check!(LogLayer::new());
        $check!(ClassifyLayer::new());
        $check!(ContainLayer::new());
        $check!(OutcomeLayer::new());
    };
}

#[test]
fn services_futures_and_bodies_are_what_the_inner_ones_are() {
    fn future<S: Service<Request<B>>, B>(service: &mut S, request: Request<B>) -> S::Future {
        service.call(request)
    }
    macro_rules! check {
        ($layer:expr) => {
            let mut service = $layer.layer(answers(|| json_response("{}")));
            is_send(&service);
            is_sync(&service);
            is_clone(&service);
            is_static(&service);
            let future = future(&mut service, call());
            is_send(&future);
            is_static(&future);
        };
    }
    let (_logs, _guard) = crate::support::Logs::capture();
    for_each_layer!(check);
    is_unpin::<ResponseBody<Script>>();
    is_unpin::<ResponseBody<Full<Bytes>>>();
    is_unpin::<RequestBody<Full<Bytes>>>();
    is_send(&None::<ResponseBody<Pinned>>);
    is_sync(&None::<ResponseBody<Pinned>>);
    is_send(&None::<RequestBody<Pinned>>);
    is_sync(&None::<RequestBody<Pinned>>);
}

/// Its bodies and errors need not be such that they can be sent.
#[tokio::test]
async fn nothing_has_to_be_send_or_unpin() {
    use std::{future::Ready, rc::Rc, task::Poll};

    #[derive(Clone)]
    struct Local(Rc<()>);
    impl<B> Service<Request<B>> for Local {
        type Response = Response<Pinned>;
        type Error = BoxError;
        type Future = Ready<Result<Response<Pinned>, BoxError>>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, _: Request<B>) -> Self::Future {
            let _ = Rc::clone(&self.0);
            std::future::ready(Ok(Response::new(Pinned(PhantomPinned))))
        }
    }
    macro_rules! check {
        ($layer:expr) => {
            let got = send($layer.layer(Local(Rc::default())), call()).await;
            assert_eq!(got.status, 200);
        };
    }
    for_each_layer!(check);
}

#[test]
fn a_body_has_a_default_where_the_inner_one_has() {
    let body = is_default::<ResponseBody<Script>>();
    assert_eq!(body.size_hint().exact(), None);
    let body = is_default::<ResponseBody<Full<Bytes>>>();
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
    let body = is_default::<ResponseBody<ResponseBody<Full<Bytes>>>>();
    assert!(body.is_end_stream());
}

#[test]
fn nothing_gets_past_containment() {
    fn error_of<S, B>(_: &S)
    where
        S: Service<Request<B>, Error = Infallible>,
    {
    }
    error_of::<_, Full<Bytes>>(&ContainLayer::new().layer(answers(|| json_response("{}"))));
    error_of::<_, Full<Bytes>>(&OutcomeLayer::new().layer(answers(|| json_response("{}"))));
    // A layer further out that logs alone keeps it that way.
    let inner = ContainLayer::new().layer(answers(|| json_response("{}")));
    error_of::<_, Full<Bytes>>(&LogLayer::new().layer(inner));
}

#[tokio::test]
async fn the_stack_fits_into_a_box_and_through_other_layers() {
    let service = OutcomeLayer::new().layer(answers(|| json_response(success(&7.into()))));
    let boxed: BoxCloneSyncService<Request<Full<Bytes>>, Response<ResponseBody<_>>, Infallible> =
        BoxCloneSyncService::new(service);
    assert_eq!(send(boxed.clone(), call()).await.message()["id"], 7);
    assert_eq!(send(Identity::new().layer(boxed), call()).await.message()["id"], 7);
}

#[test]
fn everything_can_be_printed() {
    fn is_debug<T: std::fmt::Debug>() {}
    is_debug::<ResponseBody<Fake>>();
    is_debug::<RequestBody<Fake>>();
    is_debug::<<OutcomeLayer as Layer<()>>::Service>();
}
