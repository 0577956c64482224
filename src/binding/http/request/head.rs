//! What the head of a request says.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE},
    request::Parts,
};

/// See <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Required from 2026-07-28 on.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// How a name is encoded that is no header value. Some clients leave out the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What sort of HTTP request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Sort {
    /// It carries a message, or a batch of them, as JSON.
    Messages,
    /// The same, in an encoding that nobody here reads.
    Encoded,
    /// It opens a stream of what the server sends by itself, or takes one up again.
    Stream,
    /// It ends a session.
    End,
    /// It is none of MCP's.
    Foreign,
}

impl Sort {
    pub(in super::super) fn of(parts: &Parts) -> Self {
        let headers = &parts.headers;
        if parts.method == Method::POST {
            // Some servers take a message whatever it says it is.
            let is_message = headers.get(CONTENT_TYPE).is_some_and(is_json) || speaks_mcp(headers);
            return match is_message {
                true if is_encoded(headers) => Self::Encoded,
                true => Self::Messages,
                false => Self::Foreign,
            };
        }
        match parts.method {
            Method::GET if accepts_events(headers) => Self::Stream,
            Method::DELETE if headers.contains_key(SESSION) => Self::End,
            _ => Self::Foreign,
        }
    }
}

/// The id of the session that a head names.
pub(in super::super) fn session(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(SESSION)
}

/// The revision that a request is under.
pub(in super::super) fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION)?.to_str().ok()
}

pub(in super::super) fn method(headers: &HeaderMap) -> Option<&str> {
    headers.get(METHOD)?.to_str().ok()
}

/// What the request is about: a tool, a resource or a task.
pub(in super::super) fn name(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(NAME)?.to_str().ok()?;
    match name.strip_prefix("=?base64?").and_then(|name| name.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok(),
        None => Some(name.to_owned()),
    }
}

/// Whether a client that reads both, as it has to, was told by nobody to read events alone.
pub(in super::super) fn accepts_json(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().peekable();
    accepted.peek().is_none()
        || accepted.any(|value| contains(value, b"json") || contains(value, b"*/*"))
}

/// Whether a head says that it is a client or a server of MCP.
pub(in super::super) fn speaks_mcp(headers: &HeaderMap) -> bool {
    [VERSION, SESSION, METHOD].iter().any(|name| headers.contains_key(name))
        || (accepts_events(headers)
            && headers.get_all(ACCEPT).iter().any(|it| contains(it, b"json")))
}

/// A head that says no more than that.
pub(in super::super) fn of_mcp() -> HeaderMap {
    HeaderMap::from_iter([(VERSION, HeaderValue::from_static(""))])
}

/// Asks for answers that can be read. What the client itself accepts is for layers further out.
pub(in super::super) fn ask_for_identity(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Whether a body is encoded, so that it cannot be read.
pub(in super::super) fn is_encoded(headers: &HeaderMap) -> bool {
    let is_plain =
        |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    headers.get_all(CONTENT_ENCODING).iter().any(|value| !value.is_empty() && !is_plain(value))
}

/// Whether a media type is JSON.
pub(in super::super) fn is_json(media_type: &HeaderValue) -> bool {
    const JSON: &[u8] = b"application/json";
    if media_type.as_bytes() == JSON {
        return true;
    }
    let essence = essence(media_type);
    essence.eq_ignore_ascii_case(JSON)
        || essence
            .len()
            .checked_sub(5)
            .and_then(|at| essence.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(b"+json"))
}

/// Whether a media type is a stream of events.
pub(in super::super) fn is_events(media_type: &HeaderValue) -> bool {
    essence(media_type).eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether a media type is text to be read by people.
pub(in super::super) fn is_text(media_type: &HeaderValue) -> bool {
    essence(media_type).eq_ignore_ascii_case(b"text/plain")
}

/// A media type without its parameters.
fn essence(media_type: &HeaderValue) -> &[u8] {
    let end = media_type.as_bytes().split(|byte| *byte == b';').next();
    end.unwrap_or_default().trim_ascii()
}

fn accepts_events(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().any(|value| contains(value, b"text/event-stream"))
}

fn contains(value: &HeaderValue, part: &[u8]) -> bool {
    value.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn sort(method: &str, headers: &[(&str, &str)]) -> Sort {
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Sort::of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn what_is_not_mcp_is_told_by_its_head() {
        let both = ("accept", "application/json, text/event-stream");
        for (method, headers, expected) in [
            ("POST", vec![("content-type", "application/json")], Sort::Messages),
            ("POST", vec![("content-type", "Application/JSON; charset=utf-8")], Sort::Messages),
            ("POST", vec![both], Sort::Messages),
            ("POST", vec![("mcp-session-id", "s")], Sort::Messages),
            ("POST", vec![], Sort::Foreign),
            ("POST", vec![("content-type", "text/html"), both], Sort::Messages),
            ("POST", vec![("content-type", "text/html"), ("accept", "*/*")], Sort::Foreign),
            ("POST", vec![("content-type", "multipart/form-data; a=json")], Sort::Foreign),
            (
                "POST",
                vec![("content-type", "application/json"), ("content-encoding", "gzip")],
                Sort::Encoded,
            ),
            (
                "POST",
                vec![("content-type", "application/json"), ("content-encoding", "identity")],
                Sort::Messages,
            ),
            ("GET", vec![("accept", "text/event-stream")], Sort::Stream),
            ("GET", vec![("accept", "text/html")], Sort::Foreign),
            ("GET", vec![], Sort::Foreign),
            ("DELETE", vec![("mcp-session-id", "s")], Sort::End),
            ("DELETE", vec![], Sort::Foreign),
            ("PUT", vec![("content-type", "application/json")], Sort::Foreign),
        ] {
            assert_eq!(sort(method, &headers), expected, "{method} {headers:?}");
        }
    }

    #[test]
    fn a_name_may_be_encoded() {
        let name_of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(NAME, HeaderValue::from_str(value).unwrap());
            name(&headers)
        };
        assert_eq!(name_of("read_note").as_deref(), Some("read_note"));
        assert_eq!(name_of("=?base64?Z3LDtsOfZQ==?=").as_deref(), Some("größe"));
        assert_eq!(name_of("=?base64?Z3LDtsOfZQ?=").as_deref(), Some("größe"));
        assert_eq!(name_of("=?base64??=").as_deref(), Some(""));
        assert_eq!(name_of("=?base64?!?="), None);
        assert_eq!(name_of("=?base64?/w==?="), None);
    }

    #[test]
    fn json_is_what_a_client_gets_unless_it_takes_events_alone() {
        let accepts = |value: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(ACCEPT, HeaderValue::from_str(value).unwrap());
            }
            accepts_json(&headers)
        };
        assert!(accepts(None) && accepts(Some("*/*")));
        assert!(accepts(Some("text/event-stream, application/json")));
        assert!(!accepts(Some("text/event-stream")));
    }
}
