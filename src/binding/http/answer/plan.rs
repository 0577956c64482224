//! What the head of an answer says about how to read its body.

use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
    response::Parts,
};

use super::{
    Answering, Reader, Says, desk::Desk, events::EventsAnswer, faults::refusal, json::JsonAnswer,
};
use crate::{
    binding::http::{
        request::{Sort, head},
        scan::Config,
        sessions,
    },
    call::Verdict,
    contain::Fault,
};

/// What is to be done with an answer.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(in super::super) enum Plan {
    Follow(Answering),
    /// It is none, and another one can take its place.
    Fail(Box<Fault>, Desk),
}

impl Plan {
    pub(in super::super) fn of(parts: &Parts, mut desk: Desk) -> Self {
        // What has an answer had a request: nobody need read it.
        let is_asked = match desk.exchange.sort {
            Sort::Messages => {
                (desk.exchange.is_unread() && may_be_answer(parts))
                    || desk.exchange.messages().iter().any(|message| message.is_request())
            }
            // Or is able to.
            Sort::Encoded => may_be_answer(parts),
            Sort::Stream | Sort::End | Sort::Foreign => false,
        };
        if !is_asked {
            return Self::without_request(parts, desk);
        }
        if let Some(session) = head::session(&parts.headers) {
            desk.introduce_session(session);
        }
        let reader = match Self::reader(parts, &mut desk) {
            Ok(reader) => {
                if parts.status.is_success() && !desk.exchange.is_unread() {
                    desk.notified();
                }
                reader
            }
            Err(fault) if desk.contains => return Self::Fail(fault, desk),
            Err(fault) => {
                desk.fail(&fault);
                Reader::Opaque
            }
        };
        let mut answering = Answering::new(desk, reader);
        answering.expected =
            parts.headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
        Self::Follow(answering)
    }

    /// How to read the answer to a request.
    fn reader(parts: &Parts, desk: &mut Desk) -> Result<Reader, Box<Fault>> {
        let (status, headers) = (parts.status, &parts.headers);
        let (is_json, is_events) = match headers.get(CONTENT_TYPE) {
            Some(media_type) => (head::is_json(media_type), head::is_events(media_type)),
            None => (true, false),
        };
        let is_encoded = head::is_encoded(headers);
        if status == StatusCode::REQUEST_TIMEOUT {
            return Err(Box::new(Fault::status(status, headers)));
        }
        if status.is_server_error() {
            let fault = Box::new(Fault::status(status, headers));
            let may_answer = is_events || (is_json && headers.get(CONTENT_TYPE).is_some());
            if !may_answer || is_encoded {
                return Err(fault);
            }
            desk.is_refusal = true;
            if is_events {
                let events = Box::new(EventsAnswer::new(desk.config()));
                return Ok(Reader::Events { events, otherwise: Some(fault) });
            }
            let json = Box::new(JsonAnswer::new(desk.config(), true));
            return Ok(Reader::Json { json, otherwise: Some(fault) });
        }
        if !status.is_success() {
            let is_text = || headers.get(CONTENT_TYPE).is_some_and(head::is_text);
            let says = if is_encoded {
                Says::Nothing
            } else if is_json {
                Says::Json(Box::new(JsonAnswer::new(Config::answers(), false)))
            } else if is_events {
                Says::Events(Box::new(EventsAnswer::new(Config::answers())))
            } else if is_text() {
                Says::Text(Vec::new())
            } else {
                // The page of a server that knows nothing of MCP is nothing for a log line.
                Says::Nothing
            };
            return Ok(Reader::Refusal { status, says });
        }
        if is_encoded {
            return Ok(Reader::Unread);
        }
        if status == StatusCode::ACCEPTED {
            // The answer comes on another connection.
            desk.exchange.set_resumable();
            return Ok(Reader::Opaque);
        }
        if is_events {
            let events = Box::new(EventsAnswer::new(desk.config()));
            return Ok(Reader::Events { events, otherwise: None });
        }
        if is_json {
            let json = Box::new(JsonAnswer::new(desk.config(), false));
            return Ok(Reader::Json { json, otherwise: None });
        }
        let media_type = headers.get(CONTENT_TYPE).map(|it| String::from_utf8_lossy(it.as_bytes()));
        let what = format!("HTTP {status} with {}", media_type.unwrap_or_default());
        Err(Box::new(Fault::nonsense(what)))
    }

    /// The answer to notifications, or to what is no message at all.
    fn without_request(parts: &Parts, mut desk: Desk) -> Self {
        let (status, headers) = (parts.status, &parts.headers);
        let is_stream = desk.exchange.sort == Sort::Stream
            && status.is_success()
            && headers.get(CONTENT_TYPE).is_some_and(head::is_events);
        if is_stream && !head::is_encoded(headers) {
            let events = Box::new(EventsAnswer::new(desk.config()));
            return Self::Follow(Answering::new(desk, Reader::Events { events, otherwise: None }));
        }
        if let (Sort::End, true, Some(session)) =
            (desk.exchange.sort, status.is_success(), desk.exchange.session)
        {
            sessions::end_session(session);
        }
        let is_ours = desk.exchange.sort != Sort::Foreign;
        if status.is_server_error() && is_ours {
            desk.fail_untold(&Fault::status(status, headers));
        } else if status.is_client_error() {
            desk.decide_rest(|call| refusal(status, "", call));
        } else {
            desk.decide_rest(|_| Verdict::completed());
        }
        Self::Follow(Answering::new(desk, Reader::Opaque))
    }
}

/// Whether this is the head of an answer that is read.
fn may_be_answer(parts: &Parts) -> bool {
    let is_read = |it: &HeaderValue| head::is_json(it) || head::is_events(it);
    parts.status.is_success() && parts.headers.get(CONTENT_TYPE).is_some_and(is_read)
}
