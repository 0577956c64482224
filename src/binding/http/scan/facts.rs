//! What a message says, as far as anybody asks.

use super::{
    capture::{Json, Kept, Text},
    place::Place,
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
    /// `structuredContent`, as JSON, where the configuration asks for it.
    pub(crate) structured: Json,
    /// The task that was created or asked about, in the form of SEP-2663.
    pub(crate) flat_task: TaskFacts,
    /// The task that was created, in the form of 2025-11-25: `task`.
    pub(crate) task: TaskFacts,
}

/// What a task says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskFacts {
    pub(crate) id: Text,
    pub(crate) status: Text,
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

/// What the `params` of a request or notification say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParamsFacts {
    pub(crate) shape: Shape,
    pub(crate) name: Text,
    pub(crate) uri: Text,
    /// What `arguments` is.
    pub(crate) arguments: Shape,
    pub(crate) task_id: Text,
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
                self.result.record = Json::default();
                self.result.related_task = Text::default();
            }
            (Place::RelatedTask, _) => self.result.related_task = Text::default(),
            (Place::Content, _) => {
                self.result.blocks = Blocks::None;
                self.result.text = Text::default();
            }
            (Place::Task, _) => self.result.task = TaskFacts::default(),
            (Place::Error, _) => self.error = ErrorFacts::default(),
            (Place::Data, _) => self.error.record = Json::default(),
            (Place::Params, _) => self.params = None,
            (Place::Client, Some(params)) => {
                params.client.name = Text::default();
                params.client.version = Text::default();
            }
            (Place::ParamsMeta, Some(params)) => {
                params.traceparent = Text::default();
                params.meta_client = ClientFacts::default();
            }
            (Place::MetaClient, Some(params)) => {
                params.meta_client.name = Text::default();
                params.meta_client.version = Text::default();
            }
            (place, _) => self.keep(place, Kept::Absent),
        }
    }

    /// A string or a piece of JSON that was asked for.
    pub(super) fn keep(&mut self, place: Place, value: Kept) {
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

    fn kept(&mut self, place: Place) -> Option<&mut Kept> {
        let (result, error) = (&mut self.result, &mut self.error);
        Some(match place {
            Place::Id => &mut self.id.0,
            Place::Method => &mut self.method.name.0,
            Place::ResultType => &mut result.result_type.0,
            Place::ResultRecord => &mut result.record.0,
            Place::RelatedTaskId => &mut result.related_task.0,
            Place::Structured => &mut result.structured.0,
            Place::ResultTaskId => &mut result.flat_task.id.0,
            Place::ResultStatus => &mut result.flat_task.status.0,
            Place::TaskId => &mut result.task.id.0,
            Place::TaskStatus => &mut result.task.status.0,
            Place::ErrorMessage => &mut error.message.0,
            Place::DataRecord => &mut error.record.0,
            place => return self.params.as_deref_mut()?.kept(place),
        })
    }
}

impl ParamsFacts {
    fn kept(&mut self, place: Place) -> Option<&mut Kept> {
        Some(match place {
            Place::Name => &mut self.name.0,
            Place::Uri => &mut self.uri.0,
            Place::ParamsTaskId => &mut self.task_id.0,
            Place::RequestId => &mut self.request_id.0,
            Place::Version => &mut self.client.protocol_version.0,
            Place::ClientName => &mut self.client.name.0,
            Place::ClientVersion => &mut self.client.version.0,
            Place::TraceParent => &mut self.traceparent.0,
            Place::MetaVersion => &mut self.meta_client.protocol_version.0,
            Place::MetaClientName => &mut self.meta_client.name.0,
            Place::MetaClientVersion => &mut self.meta_client.version.0,
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
    pub(crate) fn created_task(&self) -> Option<&Text> {
        if self.result_type.is("task") {
            return Some(&self.flat_task.id);
        }
        Some(&self.task.id).filter(|id| !id.is_absent())
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
        let (digits, sign) = match token {
            [b'-', digits @ ..] => (digits, -1),
            digits => (digits, 1),
        };
        // Towards the sign's side, where there is one number more. `-0` is no integer to
        // `serde_json` either.
        let code = digits.iter().try_fold(0_i64, |code, digit| {
            let digit = i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            code.checked_mul(10)?.checked_add(sign * digit)
        });
        code.filter(|code| *code != 0 || token == b"0").map_or(Self::Invalid, Self::Number)
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
