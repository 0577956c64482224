//! What an answer means.
//!
//! [`ClassifyLayer`] says which rules apply to the answers that pass it. The rules of the protocol
//! itself need no configuration and hold without it: see [`judge`].

mod layer;
mod service;
mod soft;
mod table;
mod task;

pub(crate) use self::soft::Members;
pub(crate) use self::table::{Judgement, fault, judge, judge_error_of};
pub use self::{
    layer::ClassifyLayer,
    service::{Classify, ClassifyFuture},
    soft::{ResultClassifier, SoftErrors},
};
