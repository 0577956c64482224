//! HTTP/1.1 as it is: nothing added to a request, nothing hidden of an answer.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;

use crate::corpus::Ends;

/// After which an answer that does not end is taken as it is.
const AT_MOST: Duration = Duration::from_secs(20);

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Bytes>,
    pub(crate) ends: Ends,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.response.body()).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }
}

/// Sends a request over a connection of its own. Leaves as soon as `enough` says so of the body.
/// `None` where not even a head came.
pub(crate) async fn exchange(
    address: &str,
    request: &Request<Bytes>,
    enough: impl Fn(&[u8]) -> bool,
) -> Option<Answer> {
    let stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
    let connection = tokio::spawn(connection);
    let (parts, body) = request.clone().into_parts();
    let request = Request::from_parts(parts, Full::new(body));
    let response = tokio::time::timeout(AT_MOST, sender.send_request(request)).await.ok()?.ok()?;
    let (parts, mut body) = response.into_parts();
    let mut bytes = BytesMut::new();
    let ends = loop {
        if enough(&bytes) {
            break Ends::Left;
        }
        match tokio::time::timeout(AT_MOST, body.frame()).await {
            Ok(None) => break Ends::Clean,
            Ok(Some(Ok(frame))) => {
                bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            }
            Ok(Some(Err(_))) => break Ends::Broken,
            Err(_) => break Ends::Left,
        }
    };
    connection.abort();
    Some(Answer { response: Response::from_parts(parts, bytes.freeze()), ends })
}
