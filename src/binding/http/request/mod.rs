//! What a client sends.

mod body;
pub(super) mod head;
mod id;
mod message;

pub use self::body::RequestBody;
pub(super) use self::{
    body::{Contents, Reading},
    head::Sort,
    id::Id,
    message::{MODERN, Message, Read},
};
