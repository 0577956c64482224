//! What a message says, as far as anybody asks.

use serde_json::{Map, Value};

use super::{
    capture::{Json, Text},
    members::{Found, Members},
};

/// What one message said. Of a key that is there twice the last counts, as with `serde_json` and
/// every other parser that builds an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Where its first byte stands, counted from the first byte that the scanner was given.
    pub(crate) begin: u64,
    /// Where it ends, the last byte not included; `None` while it goes on.
    pub(crate) end: Option<u64>,
    /// The id, as JSON.
    pub(crate) id: Json,
    /// What `jsonrpc` is: a string in every message of that protocol, whatever it says.
    pub(crate) version: Shape,
    pub(crate) method: MethodFacts,
    pub(crate) result: ResultFacts,
    pub(crate) error: ErrorFacts,
    /// What the task ended in that the `result` is, if that has a `result` or an `error` of its own.
    pub(crate) inner: Option<Box<Inner>>,
    /// What the `params` say, where the configuration asks for it. Apart, since answers have none.
    pub(crate) params: Option<Box<ParamsFacts>>,
}

/// What a `method` says. A message that has one is no answer; `null` is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MethodFacts {
    pub(crate) shape: Shape,
    pub(crate) name: Text,
}

/// What a `result` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResultFacts {
    pub(crate) shape: Shape,
    /// `isError`, where it is `true` or `false`.
    pub(crate) is_error: Option<bool>,
    pub(crate) result_type: Text,
    /// `_meta["tower-outcome/failure"]`, as JSON.
    pub(crate) record: Json,
    /// The `taskId` of `_meta["io.modelcontextprotocol/related-task"]`.
    pub(crate) related_task: Text,
    /// How many elements `content` has.
    pub(crate) blocks: Blocks,
    /// The text of the first of them that is of type `text`.
    pub(crate) text: Text,
    /// What `structuredContent` is.
    pub(crate) structured_shape: Shape,
    /// `structuredContent`, as JSON, where the configuration asks for it.
    pub(crate) structured: Json,
    /// What is kept of those of its members that the configuration asks for.
    pub(super) found: Found,
    /// The task that was created or asked about, in the form of SEP-2663; its TTL is `ttlMs`.
    pub(crate) flat_task: TaskFacts,
    /// The TTL of the task that was asked about, in the form of 2025-11-25: `ttl`.
    pub(crate) core_ttl: Option<u64>,
    /// What that task says of its status.
    pub(crate) status_message: Text,
    /// The task that was created, in the form of 2025-11-25: `task`; its TTL is `ttl`.
    pub(crate) task: TaskFacts,
}

/// What a task ended in: `result` and `error`, beside the task's id and status, as SEP-2663 tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inner {
    pub(crate) result: ResultFacts,
    pub(crate) error: ErrorFacts,
}

/// What a task says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskFacts {
    pub(crate) id: Text,
    pub(crate) status: Text,
    /// For how many milliseconds it is remembered; `None` also where it is `null`, for ever.
    pub(crate) ttl: Option<u64>,
}

/// What an `error` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorFacts {
    pub(crate) shape: Shape,
    pub(crate) code: Code,
    pub(crate) message: Text,
    /// `data["tower-outcome/failure"]`, as JSON.
    pub(crate) record: Json,
}

/// What the `params` of a request or notification say: all of it if the configuration asks for
/// requests, else what tells of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParamsFacts {
    pub(crate) shape: Shape,
    pub(crate) name: Text,
    pub(crate) uri: Text,
    /// What `arguments` is.
    pub(crate) arguments: Shape,
    pub(crate) task_id: Text,
    /// The status of a task, in a notification of one, and what the task ended in: where the
    /// configuration asks for answers.
    pub(crate) status: Text,
    pub(crate) status_message: Text,
    pub(crate) inner: Option<Box<Inner>>,
    /// Which request `notifications/cancelled` is about, as JSON.
    pub(crate) request_id: Json,
    pub(crate) traceparent: Text,
    /// `protocolVersion` and `clientInfo` of `initialize`.
    pub(crate) client: ClientFacts,
    /// The same of `_meta`, from 2026-07-28 on.
    pub(crate) meta_client: ClientFacts,
}

/// Who sent a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientFacts {
    pub(crate) protocol_version: Text,
    pub(crate) name: Text,
    pub(crate) version: Text,
}

/// What sort of JSON a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It is not there.
    #[default]
    Absent,
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// The code of a JSON-RPC error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Code {
    #[default]
    Absent,
    /// It is no integer, or none that 64 bits hold.
    Invalid,
    Number(i64),
}

/// How many elements `content` has, as far as it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Blocks {
    #[default]
    None,
    One,
    Many,
}

/// What sort of message it is, as far as is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Envelope {
    /// Neither is there yet, or only as `null`: some peers write both, one of them as `null`.
    #[default]
    Undecided,
    Result,
    /// It has an `error`: whatever `result` it has beside it is none.
    Error,
    /// It has a `method`: whatever else it has, it is a request or a notification.
    NotAnAnswer,
}

impl Facts {
    /// What sort of message it is. Later keys may still turn a result into an error, and anything
    /// into what is not an answer; no message of a sane peer has both.
    pub(crate) fn envelope(&self) -> Envelope {
        if !self.method.shape.is_nothing() {
            Envelope::NotAnAnswer
        } else if !self.error.shape.is_nothing() {
            Envelope::Error
        } else if !self.result.shape.is_nothing()
            || self.end.is_some() && self.result.shape == Shape::Null
        {
            Envelope::Result
        } else {
            Envelope::Undecided
        }
    }
}

impl ResultFacts {
    /// Of `structuredContent` the members that are asked for, nested as they were: `asked` is what
    /// the scanner was configured with. `None` if it is no object, for which see
    /// [`structured_shape`](Self::structured_shape).
    ///
    /// Of a long text there is the beginning; of an array or object that is asked for, an empty one
    /// with what is asked for below it.
    pub(crate) fn members(&self, asked: &Members) -> Option<Map<String, Value>> {
        (self.structured_shape == Shape::Object).then(|| asked.object(&self.found))
    }

    /// Whether there was more that is asked for than is kept: [`members`](Self::members) lack a
    /// value, or have one that a later one of the same key replaces.
    pub(crate) fn members_are_cut(&self) -> bool {
        self.found.is_cut()
    }

    /// The text of `content` if it has one block alone, of type `text`. It may be cut.
    pub(crate) fn lone_text(&self) -> Option<&Text> {
        (self.blocks == Blocks::One && !self.text.is_absent()).then_some(&self.text)
    }

    /// Whether the server asks for input instead of answering.
    pub(crate) fn is_input_required(&self) -> bool {
        self.result_type.is("input_required")
    }

    /// Whether a task was created in the form of SEP-2663.
    pub(crate) fn is_task(&self) -> bool {
        self.result_type.is("task")
    }

    /// The task that was created, if one was: with that form `resultType` says so, before it the
    /// object `task` with an id in it.
    pub(crate) fn created_task(&self) -> Option<&TaskFacts> {
        if self.is_task() {
            return Some(&self.flat_task);
        }
        Some(&self.task).filter(|task| !task.id.is_absent())
    }
}

impl Shape {
    /// The shape of the value that begins with `byte`; absent if none does.
    #[inline]
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            b'"' => Self::String,
            b'{' => Self::Object,
            b'[' => Self::Array,
            b'-' | b'0'..=b'9' => Self::Number,
            b't' | b'f' => Self::Bool,
            b'n' => Self::Null,
            _ => Self::Absent,
        }
    }

    /// Whether there is nothing, as far as JSON-RPC goes.
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, Self::Absent | Self::Null)
    }
}

impl Blocks {
    /// One more.
    pub(super) fn more(self) -> Self {
        match self {
            Self::None => Self::One,
            Self::One | Self::Many => Self::Many,
        }
    }
}
