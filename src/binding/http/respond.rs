//! From the head of an answer to the response that goes out.

use std::pin::Pin;

use bytes::Bytes;
use http::{Response, StatusCode, header::CONTENT_LENGTH, response};
use http_body::Body;

use super::{
    answer::{Answering, Desk, End, Plan},
    body::{Inner, ResponseBody, Watched},
    duty::Begun,
    exchange::Exchange,
    guard::Guard,
    write,
};
use crate::contain::Fault;

pub(super) enum Followed<R> {
    Response(Response<ResponseBody<R>>),
    Holding { parts: response::Parts, body: Pin<Box<R>>, watched: Box<Watched> },
}

/// Takes up the answer that begins with this head.
pub(super) fn follow<R>(parts: response::Parts, body: R, begun: Begun) -> Followed<R>
where
    R: Body,
{
    let Begun { desk, mut guard, .. } = begun;
    if desk.only_configures() {
        return Followed::Response(Response::from_parts(parts, ResponseBody::untouched(body)));
    }
    let mut answering = match Plan::of(&parts, desk) {
        Plan::Follow(answering) => answering,
        Plan::Fail(fault, desk) => {
            let panic = guard.drop(|| drop(body));
            desk.report(panic);
            return Followed::Response(answer_with(parts, desk, guard, &fault));
        }
    };
    if body.is_end_stream() {
        answering.end(End::Clean);
    }
    let watched = Box::new(Watched { answering, guard });
    if watched.answering.holds_head() {
        let body = Box::pin(body);
        return Followed::Holding { parts, body, watched };
    }
    Followed::Response(release(parts, Inner::Direct { body }, watched))
}

/// The response whose head may go out now.
pub(super) fn release<R>(
    mut parts: response::Parts,
    body: Inner<R>,
    mut watched: Box<Watched>,
) -> Response<ResponseBody<R>> {
    if let Some(answers) = watched.answering.take_replacement() {
        let panic = watched.guard.drop(|| drop(body));
        watched.answering.desk.report(panic);
        let body = write_head(&mut parts, &watched.answering.desk.exchange, &answers);
        watched.answering.set_whole(body);
        return Response::from_parts(parts, ResponseBody::ready(watched));
    }
    if watched.answering.is_ours() {
        parts.status = StatusCode::OK;
    }
    if watched.answering.may_change_length() {
        parts.headers.remove(CONTENT_LENGTH);
    }
    Response::from_parts(parts, ResponseBody::watched(body, watched))
}

/// The answer that tells of a fault, where there is no response at all.
pub(super) fn answer<R>(begun: Begun, fault: &Fault) -> Response<ResponseBody<R>> {
    let (parts, ()) = Response::new(()).into_parts();
    answer_with(parts, begun.desk, begun.guard, fault)
}

/// The same, with what the head of a response says that is none of its body's.
pub(super) fn answer_with<R>(
    mut parts: response::Parts,
    mut desk: Desk,
    guard: Guard,
    fault: &Fault,
) -> Response<ResponseBody<R>> {
    let answers = desk.fail(fault);
    let body = write_head(&mut parts, &desk.exchange, &answers);
    let answering = Answering::whole(desk, body);
    let watched = Watched { answering, guard };
    Response::from_parts(parts, ResponseBody::ready(Box::new(watched)))
}

pub(super) fn empty<R>() -> Response<ResponseBody<R>> {
    let (mut parts, ()) = Response::new(()).into_parts();
    write::empty_head(&mut parts);
    Response::from_parts(parts, ResponseBody::gone())
}

/// Makes a head that of these answers, and gives the body that goes with it.
fn write_head(parts: &mut response::Parts, exchange: &Exchange, answers: &[String]) -> Bytes {
    let Some(first) = answers.first() else {
        write::empty_head(parts);
        return Bytes::new();
    };
    let is_json = exchange.accepts_json;
    let body: Bytes = if !is_json {
        answers.iter().map(|answer| write::event(answer)).collect::<String>().into()
    } else if exchange.is_batch() {
        write::batch(answers).into()
    } else {
        first.clone().into()
    };
    write::answer_head(parts, &body, is_json);
    body
}
