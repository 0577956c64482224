//! Readiness: the service that is called is the one that was ready, a call waits inside of our layers
//! until there is one, and nobody is asked more often than has to be.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tower::{Layer as _, Service, ServiceExt as _, limit::GlobalConcurrencyLimitLayer};
use tower_test::mock;

use crate::{
    http::Http,
    support::GUARD,
    typed::Typed,
    wire::{Ours, Server, Svc, Wire, boxed},
};

/// Our layers, from outside to inside.
const STACKS: [&[Ours]; 8] = {
    use Ours::{Classify, Contain, Log, Outcome};
    [
        &[Log],
        &[Classify],
        &[Contain],
        &[Outcome],
        &[Log, Contain],
        &[Contain, Log],
        &[Log, Classify, Contain],
        &[Outcome, Outcome],
    ]
};

fn stacked<W: Wire>(stack: &[Ours], server: Svc<W>) -> Svc<W> {
    stack.iter().rev().fold(server, |inner, ours| W::wrap(*ours, inner))
}

async fn told<W: Wire>(
    answer: impl Future<Output = Result<W::Response, tower::BoxError>>,
) -> String {
    let answer = tokio::time::timeout(GUARD, answer).await.expect("it hangs");
    W::told(answer.unwrap_or_else(|error| panic!("{error}"))).await
}

async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

/// How often a server was asked whether it is ready, and called.
#[derive(Clone, Default)]
struct Asked {
    ready: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
}

/// A server each clone of which has to be ready before it is called, as tower's contract says, and
/// whose futures may not be polled once they are done.
struct Strict<W: Wire> {
    inner: Svc<W>,
    is_ready: bool,
    asked: Asked,
}

impl<W: Wire> Strict<W> {
    fn new(asked: &Asked) -> Self {
        Self { inner: W::server(Server::Works), is_ready: false, asked: asked.clone() }
    }
}

impl<W: Wire> Clone for Strict<W> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), is_ready: false, asked: self.asked.clone() }
    }
}

impl<W: Wire> Service<W::Request> for Strict<W> {
    type Response = W::Response;
    type Error = tower::BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<W::Response, tower::BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), tower::BoxError>> {
        self.asked.ready.fetch_add(1, Ordering::Relaxed);
        let ready = self.inner.poll_ready(cx);
        self.is_ready = ready.is_ready();
        ready
    }

    fn call(&mut self, request: W::Request) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "it was not ready");
        self.asked.called.fetch_add(1, Ordering::Relaxed);
        // The server's own, an async block, which panics when it is polled again.
        Box::pin(self.inner.call(request))
    }
}

async fn the_one_that_is_called_was_ready<W: Wire>() {
    for stack in STACKS {
        let asked = Asked::default();
        let mut service = stacked::<W>(stack, boxed(Strict::<W>::new(&asked)));
        for call in 1..=3 {
            // One service for all, as hyper has it, and a clone a request, as axum has it.
            let answer = service.ready().await.unwrap().call(W::call(7));
            assert_eq!(told::<W>(answer).await, "the result", "{stack:?}");
            let answer = service.clone().oneshot(W::call(7));
            assert_eq!(told::<W>(answer).await, "the result", "{stack:?}");
            let (ready, called) = (&asked.ready, &asked.called);
            assert_eq!(called.load(Ordering::Relaxed), 2 * call, "{stack:?}");
            assert_eq!(ready.load(Ordering::Relaxed), 2 * call, "{stack:?}: asked in vain");
        }
    }
}

#[tokio::test]
async fn the_service_that_is_called_was_ready_and_asked_once_typed() {
    the_one_that_is_called_was_ready::<Typed>().await;
}

#[tokio::test]
async fn the_service_that_is_called_was_ready_and_asked_once_over_http() {
    the_one_that_is_called_was_ready::<Http>().await;
}

/// As many calls run as the server lets in, and the others wait, wherever our layers stand; each goes on
/// as soon as it may, and has its own answer.
async fn calls_wait_for_the_server<W: Wire>() {
    const CALLS: u64 = 5;
    for stack in STACKS {
        let (mock, mut handle) = mock::pair::<W::Request, W::Response>();
        handle.allow(0);
        let service = stacked::<W>(stack, boxed(mock));
        let mut calls: Vec<_> =
            (0..CALLS).map(|id| Box::pin(service.clone().oneshot(W::call(id)))).collect();
        for call in &mut calls {
            assert!(is_pending(call.as_mut()).await, "{stack:?}: a call does not wait");
        }
        let mut answered = 0;
        for round in 1..=CALLS {
            assert!(is_pending(pin!(handle.next_request())).await, "{stack:?}: one too many");
            handle.allow(1);
            // Whoever is woken goes on, and nobody else does.
            for call in &mut calls {
                assert!(is_pending(call.as_mut()).await, "{stack:?}");
            }
            let (request, reply) =
                tokio::time::timeout(GUARD, handle.next_request()).await.expect("one").unwrap();
            let answer = W::server(Server::Works).oneshot(request).await.unwrap();
            reply.send_response(answer);
            let mut left = Vec::new();
            for mut call in calls {
                match poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await {
                    Poll::Pending => left.push(call),
                    Poll::Ready(answer) => {
                        answered += 1;
                        let answer = answer.unwrap_or_else(|error| panic!("{error}"));
                        assert_eq!(W::told(answer).await, "the result", "{stack:?}");
                    }
                }
            }
            calls = left;
            assert_eq!(answered, round, "{stack:?}");
        }
    }
}

#[tokio::test]
async fn calls_wait_inside_until_there_is_room_typed() {
    calls_wait_for_the_server::<Typed>().await;
}

#[tokio::test]
async fn calls_wait_inside_until_there_is_room_over_http() {
    calls_wait_for_the_server::<Http>().await;
}

/// A waiting call that is given up gives its place to the next one, and they go in the order in which they
/// came.
async fn places_are_given_on<W: Wire>() {
    for stack in STACKS {
        let (mock, mut handle) = mock::pair::<W::Request, W::Response>();
        handle.allow(u64::MAX);
        let limited = GlobalConcurrencyLimitLayer::new(1).layer(mock);
        let service = stacked::<W>(stack, boxed(limited));
        let call = |id| Box::pin(service.clone().oneshot(W::call(id)));
        let (mut first, mut second, mut third, mut fourth) = (call(1), call(2), call(3), call(4));
        for waiting in [&mut first, &mut second, &mut third, &mut fourth] {
            assert!(is_pending(waiting.as_mut()).await, "{stack:?}");
        }
        let (_, reply) = handle.next_request().await.unwrap();
        drop(second);
        // One that runs and is given up frees its place as well.
        drop(first);
        drop(reply);
        assert!(is_pending(fourth.as_mut()).await, "{stack:?}");
        assert!(is_pending(pin!(handle.next_request())).await, "{stack:?}: out of turn");
        assert!(is_pending(third.as_mut()).await, "{stack:?}");
        for call in [third, fourth] {
            let answering = async {
                let (request, reply) = handle.next_request().await.unwrap();
                reply.send_response(W::server(Server::Works).oneshot(request).await.unwrap());
            };
            let (told, ()) = tokio::join!(told::<W>(call), answering);
            assert_eq!(told, "the result", "{stack:?}");
        }
    }
}

#[tokio::test]
async fn a_place_in_the_line_is_given_on_typed() {
    places_are_given_on::<Typed>().await;
}

#[tokio::test]
async fn a_place_in_the_line_is_given_on_over_http() {
    places_are_given_on::<Http>().await;
}

/// What the types of a stack promise: nothing gets past containment, and what waits is no error.
#[tokio::test]
async fn a_server_that_is_never_ready_is_waited_for_and_not_an_error() {
    for stack in STACKS {
        let (mock, mut handle) = mock::pair::<_, _>();
        handle.allow(0);
        let mut service = stacked::<Typed>(stack, boxed(mock));
        let is_ready = poll_fn(|cx| Poll::Ready(service.poll_ready(cx).is_ready())).await;
        // The layer that only configures has nothing to say about what waits.
        assert_eq!(is_ready, stack != [Ours::Classify], "{stack:?}");
        let mut call = Box::pin(service.clone().oneshot(Typed::call(7)));
        assert!(is_pending(call.as_mut()).await, "{stack:?}");
        drop(call);
        assert!(is_pending(pin!(handle.next_request())).await, "{stack:?}");
    }
}
