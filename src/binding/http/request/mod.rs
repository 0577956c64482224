//! What a client sends.

mod body;
pub(super) mod head;
mod message;

pub use self::body::RequestBody;
pub(super) use self::{
    body::{Contents, Reading},
    head::Sort,
    message::{Id, MODERN, Message, Read},
};
