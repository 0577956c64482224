//! Layers between ours that rewrite what passes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::ServiceBuilder;
use tower_outcome::{
    ContainLayer, LogLayer,
    binding::http::{RequestBody, ResponseBody},
};

use crate::{
    kit::{
        self, Incoming, Script, answers, call, error, fake, is_error, json_response, lines, read,
        send, success, whole_call,
    },
    support::Logs,
};

const UNDECLARED: &str = "ERROR tool_call_failed undeclared undeclared_error";
const INVALID: &str = "INFO tool_call_failed protocol_error invalid_params";

/// A service that rewrites what passes between the layers.
#[tokio::test]
async fn a_layer_between_log_and_containment_may_rewrite_what_passes() {
    for (inner, answer, expected) in [
        (success(&7.into()), is_error(&7.into(), "no"), UNDECLARED),
        (success(&7.into()), error(&7.into(), -32602, "no"), INVALID),
        (is_error(&7.into(), "no"), success(&7.into()), UNDECLARED),
        (success(&7.into()), success(&7.into()), "INFO tool_call_completed completed -"),
    ] {
        let (logs, _guard) = Logs::capture();
        let other = answer.clone();
        let rewrite = tower::layer::layer_fn(move |inner| {
            let other = other.clone();
            tower::util::MapResponse::new(inner, move |response: Response<ResponseBody<Script>>| {
                // The one inside is read to its end, as a layer does that looks at it.
                drop(response);
                json_response(other.clone())
            })
        });
        let service = ServiceBuilder::new()
            .layer(LogLayer::new())
            .layer(rewrite)
            .layer(ContainLayer::new())
            .service(answers(move || json_response(inner.clone())));
        assert_eq!(send(service, call()).await.text(), answer);
        assert_eq!(lines(&logs), [expected], "{answer}");
    }
}

/// Whose new frame lies where the old one was, once that has been dropped.
#[tokio::test]
async fn a_rewritten_frame_at_the_same_address_is_read() {
    let (logs, _guard) = Logs::capture();
    let inner = success(&7.into()).replace("fine", &"x".repeat(2000));
    let mut answer = is_error(&7.into(), "no");
    answer.insert_str(0, &" ".repeat(inner.len() - answer.len()));
    let rewritten = answer.clone();
    let service = ServiceBuilder::new()
        .layer(LogLayer::new())
        .map_response(move |response: Response<ResponseBody<Script>>| {
            let answer = answer.clone();
            response.map(|body| {
                http_body_util::BodyExt::map_frame(body, move |frame| {
                    let Ok(old) = frame.into_data() else { unreachable!() };
                    assert_eq!(old.len(), answer.len());
                    drop(old);
                    http_body::Frame::data(Bytes::from(answer.clone().into_bytes()))
                })
            })
        })
        .layer(ContainLayer::new())
        .service(answers(move || json_response(inner.clone())));
    assert_eq!(send(service, call()).await.text(), rewritten);
    assert_eq!(lines(&logs), [UNDECLARED]);
}

#[tokio::test]
async fn a_request_body_may_be_replaced_between_the_layers() {
    let (logs, _guard) = Logs::capture();
    let is_seen = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_seen);
    let service = ServiceBuilder::new()
        .layer(LogLayer::new())
        .map_request(|request: Request<RequestBody<Full<Bytes>>>| {
            request.map(|_| Full::new(Bytes::from(kit::call_text(7, "other"))))
        })
        .layer(ContainLayer::new())
        .service(fake(move |request: Request<Incoming>| {
            let seen = Arc::clone(&seen);
            async move {
                let text = read(Response::new(request.into_body())).await.text();
                seen.store(text.contains("other"), Ordering::Relaxed);
                Ok(json_response(success(&7.into())))
            }
        }));
    assert_eq!(send(service, call()).await.message()["id"], 7);
    assert!(is_seen.load(Ordering::Relaxed));
    // The client's own words are what the log has.
    assert_eq!(whole_call(&logs).field("tool"), Some("ok"));
}
