//! The layers round any HTTP service that speaks MCP.

mod answer;
mod body;
mod duty;
mod exchange;
mod future;
mod guard;
mod request;
#[allow(dead_code, unused_imports, reason = "tasks and soft errors are still to come")]
mod scan;
mod seats;
mod service;
mod sessions;
mod upstream;
mod write;

use bytes::{Buf, Bytes};

pub use self::{
    body::ResponseBody,
    future::{Answering, Errors, HttpFuture, Passing},
    request::RequestBody,
    upstream::UpstreamError,
};

/// A piece of a body; without a copy where it is what nearly all bodies consist of.
fn bytes_of(mut data: impl Buf) -> Bytes {
    data.copy_to_bytes(data.remaining())
}
