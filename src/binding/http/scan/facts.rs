//! What a message says, as far as anybody asks.

use super::{capture::Captured, place::Place};

/// What one message said. Of a key that is there twice the last counts, as with `serde_json` and
/// every other parser that builds an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Where its first byte stands, counted from the first byte that the scanner was given.
    pub(crate) begin: u64,
    /// Where it ends, the last byte not included; `None` while it goes on.
    pub(crate) end: Option<u64>,
    /// The id, as JSON.
    pub(crate) id: Captured,
    pub(crate) method: MethodFacts,
    pub(crate) result: ResultFacts,
    pub(crate) error: ErrorFacts,
    /// What the `params` say, where the configuration asks for it. Apart, since answers have none.
    pub(crate) params: Option<Box<ParamsFacts>>,
}

/// What a `method` says. A message that has one is no answer; `null` is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MethodFacts {
    pub(crate) shape: Shape,
    pub(crate) name: Captured,
}

/// What a `result` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResultFacts {
    pub(crate) shape: Shape,
    /// `isError`, where it is `true` or `false`.
    pub(crate) is_error: Option<bool>,
    pub(crate) result_type: Captured,
    /// `_meta["tower-outcome/failure"]`, as JSON.
    pub(crate) record: Captured,
    /// The `taskId` of `_meta["io.modelcontextprotocol/related-task"]`.
    pub(crate) related_task: Captured,
    /// How many elements `content` has.
    pub(crate) blocks: Blocks,
    /// The text of the first of them that is of type `text`.
    pub(crate) text: Captured,
    /// `structuredContent`, as JSON, where the configuration asks for it.
    pub(crate) structured: Captured,
    /// The task that was created or asked about, in the form of SEP-2663.
    pub(crate) flat_task: TaskFacts,
    /// The task that was created, in the form of 2025-11-25: `task`.
    pub(crate) task: TaskFacts,
}

/// What a task says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskFacts {
    pub(crate) id: Captured,
    pub(crate) status: Captured,
}

/// What an `error` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorFacts {
    pub(crate) shape: Shape,
    pub(crate) code: Code,
    pub(crate) message: Captured,
    /// `data["tower-outcome/failure"]`, as JSON.
    pub(crate) record: Captured,
}

/// What the `params` of a request or notification say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParamsFacts {
    pub(crate) shape: Shape,
    pub(crate) name: Captured,
    pub(crate) uri: Captured,
    /// What `arguments` is.
    pub(crate) arguments: Shape,
    pub(crate) task_id: Captured,
    /// Which request `notifications/cancelled` is about, as JSON.
    pub(crate) request_id: Captured,
    pub(crate) traceparent: Captured,
    /// `protocolVersion` and `clientInfo` of `initialize`.
    pub(crate) client: ClientFacts,
    /// The same of `_meta`, from 2026-07-28 on.
    pub(crate) meta_client: ClientFacts,
}

/// Who sent a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientFacts {
    pub(crate) protocol_version: Captured,
    pub(crate) name: Captured,
    pub(crate) version: Captured,
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

    /// The value that begins at `place` is of `shape`.
    pub(super) fn shape(&mut self, place: Place, shape: Shape) {
        match place {
            Place::Method => self.method.shape = shape,
            Place::Result => self.result.shape = shape,
            Place::Error => self.error.shape = shape,
            Place::Params => self.params.get_or_insert_default().shape = shape,
            Place::Arguments => self.params.get_or_insert_default().arguments = shape,
            Place::Code => self.error.code = Code::Invalid,
            _ => {}
        }
    }

    /// What was said at `place` counts no more.
    pub(super) fn forget(&mut self, place: Place) {
        let params = self.params.as_deref_mut();
        match (place, params) {
            (Place::Result, _) => self.result = ResultFacts::default(),
            (Place::IsError, _) => self.result.is_error = None,
            (Place::ResultMeta, _) => {
                self.result.record = Captured::Absent;
                self.result.related_task = Captured::Absent;
            }
            (Place::RelatedTask, _) => self.result.related_task = Captured::Absent,
            (Place::Content, _) => {
                self.result.blocks = Blocks::None;
                self.result.text = Captured::Absent;
            }
            (Place::Task, _) => self.result.task = TaskFacts::default(),
            (Place::Error, _) => self.error = ErrorFacts::default(),
            (Place::Data, _) => self.error.record = Captured::Absent,
            (Place::Params, _) => self.params = None,
            (Place::Client, Some(params)) => {
                params.client.name = Captured::Absent;
                params.client.version = Captured::Absent;
            }
            (Place::ParamsMeta, Some(params)) => {
                params.traceparent = Captured::Absent;
                params.meta_client = ClientFacts::default();
            }
            (Place::MetaClient, Some(params)) => {
                params.meta_client.name = Captured::Absent;
                params.meta_client.version = Captured::Absent;
            }
            (place, _) => self.keep(place, Captured::Absent),
        }
    }

    /// A string or a piece of JSON that was asked for.
    pub(super) fn keep(&mut self, place: Place, value: Captured) {
        if let Some(kept) = self.kept(place) {
            *kept = value;
        }
    }

    /// A literal or a number that was asked for.
    pub(super) fn scalar(&mut self, place: Place, token: &[u8]) {
        match place {
            Place::IsError => {
                self.result.is_error = match token {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    _ => None,
                }
            }
            Place::Code => self.error.code = Code::of(token),
            _ => {}
        }
    }

    fn kept(&mut self, place: Place) -> Option<&mut Captured> {
        let (result, error) = (&mut self.result, &mut self.error);
        Some(match place {
            Place::Id => &mut self.id,
            Place::Method => &mut self.method.name,
            Place::ResultType => &mut result.result_type,
            Place::ResultRecord => &mut result.record,
            Place::RelatedTaskId => &mut result.related_task,
            Place::Structured => &mut result.structured,
            Place::ResultTaskId => &mut result.flat_task.id,
            Place::ResultStatus => &mut result.flat_task.status,
            Place::TaskId => &mut result.task.id,
            Place::TaskStatus => &mut result.task.status,
            Place::ErrorMessage => &mut error.message,
            Place::DataRecord => &mut error.record,
            place => return self.params.as_deref_mut()?.kept(place),
        })
    }
}

impl ParamsFacts {
    fn kept(&mut self, place: Place) -> Option<&mut Captured> {
        Some(match place {
            Place::Name => &mut self.name,
            Place::Uri => &mut self.uri,
            Place::ParamsTaskId => &mut self.task_id,
            Place::RequestId => &mut self.request_id,
            Place::Version => &mut self.client.protocol_version,
            Place::ClientName => &mut self.client.name,
            Place::ClientVersion => &mut self.client.version,
            Place::TraceParent => &mut self.traceparent,
            Place::MetaVersion => &mut self.meta_client.protocol_version,
            Place::MetaClientName => &mut self.meta_client.name,
            Place::MetaClientVersion => &mut self.meta_client.version,
            _ => return None,
        })
    }
}

impl ResultFacts {
    /// Whether the server asks for input instead of answering.
    pub(crate) fn is_input_required(&self) -> bool {
        self.result_type.is("input_required")
    }

    /// Whether this is the creation of a task, and its id: `resultType` says so from 2026-07-28
    /// on, before it the object `task` with an id in it.
    pub(crate) fn created_task(&self) -> Option<&Captured> {
        if self.result_type.is("task") {
            return Some(&self.flat_task.id);
        }
        Some(&self.task.id).filter(|id| **id != Captured::Absent)
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

impl Code {
    fn of(token: &[u8]) -> Self {
        // `-0` is no integer to `serde_json` either.
        let text = std::str::from_utf8(token).ok().filter(|text| *text != "-0");
        text.and_then(|text| text.parse().ok()).map_or(Self::Invalid, Self::Number)
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
