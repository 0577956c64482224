//! Which headers pass, and which are about one connection only (RFC 9110, section 7.6).

use std::net::IpAddr;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Version,
    header::{
        ACCEPT_ENCODING, CONNECTION, HOST, LOCATION, MAX_FORWARDS, PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
    },
};

use crate::upstream::Upstream;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What is about one connection even where `Connection` does not name it. `Trailer` is not among
/// them: it tells of fields that pass, and hyper sends no trailers that it has not announced.
const OF_ONE_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// How a request came in.
pub(crate) struct Arrival<'a> {
    pub(crate) client: Option<IpAddr>,
    pub(crate) version: Version,
    /// The host of a request target that has one: then it counts, not the header.
    pub(crate) host: Option<&'a str>,
}

/// Whether the request may go on: OPTIONS and TRACE may say after how many hops they end, and each
/// hop counts (RFC 9110, section 7.6.2).
pub(crate) fn may_go_on(method: &Method, headers: &mut HeaderMap) -> bool {
    if ![Method::OPTIONS, Method::TRACE].contains(method) {
        return true;
    }
    let left = headers.get(MAX_FORWARDS).and_then(|left| left.to_str().ok()?.parse::<u64>().ok());
    match left.map(|left| left.checked_sub(1)) {
        None => true,
        Some(None) => false,
        Some(Some(left)) => {
            headers.insert(MAX_FORWARDS, left.into());
            true
        }
    }
}

/// A request's headers, from what the client sent to what the server gets.
pub(crate) fn to_upstream(headers: &mut HeaderMap, arrival: &Arrival<'_>) {
    let takes_trailers = mentions(headers, &TE, "trailers");
    // The client writes it anew, from the server's URL.
    let host = headers.remove(HOST);
    drop_those_of_one_connection(headers);
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    // Without the header a server may use any encoding that it likes.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let host = arrival.host.and_then(|host| HeaderValue::from_str(host).ok()).or(host);
    if let Some(client) = arrival.client {
        append(headers, FORWARDED_FOR, &client.to_string());
    }
    // A proxy in front knows better: it is what the client has spoken to.
    if let (Some(host), false) = (host, headers.contains_key(FORWARDED_HOST)) {
        headers.insert(FORWARDED_HOST, host);
    }
    if !headers.contains_key(FORWARDED_PROTO) {
        headers.insert(FORWARDED_PROTO, HeaderValue::from_static("http"));
    }
    let version = if arrival.version == Version::HTTP_10 { "1.0" } else { "1.1" };
    append(headers, VIA, &format!("{version} tower-outcome-gateway"));
}

/// A response's headers, from what the server sent to what the client gets.
pub(crate) fn to_client(headers: &mut HeaderMap, upstream: &Upstream) {
    drop_those_of_one_connection(headers);
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let path = location.and_then(|location| upstream.without_address(location));
    if let Some(Ok(path)) = path.map(HeaderValue::from_str) {
        headers.insert(LOCATION, path);
    }
}

fn drop_those_of_one_connection(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = members(headers, &CONNECTION)
        .filter_map(|member| HeaderName::from_bytes(member.as_bytes()).ok())
        .collect();
    for name in named.iter().chain(&OF_ONE_CONNECTION) {
        headers.remove(name);
    }
}

/// The members of a list that may stand in several lines.
fn members<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

fn mentions(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    members(headers, name).any(|member| member.eq_ignore_ascii_case(wanted))
}

/// Adds to a list as a line of its own, which means the same as a member at the end of the last.
fn append(headers: &mut HeaderMap, name: HeaderName, member: &str) {
    if let Ok(member) = HeaderValue::from_str(member) {
        headers.append(name, member);
    }
}
