//! Which values of a message matter: a tree of keys, written once.

use super::Config;

/// Where in a message a value stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// The whole text.
    #[default]
    Root,
    /// A batch: an array of messages.
    Batch,
    Message,
    Id,
    JsonRpc,
    Method,

    Result,
    IsError,
    ResultType,
    ResultMeta,
    ResultRecord,
    RelatedTask,
    RelatedTaskId,
    Content,
    Block,
    BlockType,
    BlockText,
    /// It is entered for the members that are asked for, which are [`Place::Member`].
    Structured,
    /// A member of `structuredContent`, at whatever depth: which one, the scanner keeps apart.
    Member,
    /// One that nobody asks for, beside such as are asked for.
    Unasked,
    ResultTaskId,
    ResultStatus,
    StatusMessage,
    ResultTtl,
    ResultCoreTtl,
    Task,
    TaskId,
    TaskStatus,
    TaskTtl,
    /// What a task ended in that is the `result`, or the `params`.
    ResultResult,
    ResultError,
    ParamsResult,
    ParamsError,

    Error,
    Code,
    ErrorMessage,
    Data,
    DataRecord,

    /// What follows stands in it: see [`Place::is_in_params`].
    Params,
    Name,
    Uri,
    Arguments,
    ParamsTaskId,
    ParamsStatus,
    ParamsStatusMessage,
    RequestId,
    Version,
    Client,
    ClientName,
    ClientVersion,
    ParamsMeta,
    TraceParent,
    MetaVersion,
    MetaClient,
    MetaClientName,
    MetaClientVersion,

    /// Nobody asks for it.
    Other,
}

/// Whose `result` and `error` are read: below them, each place is there once in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    /// The message's.
    #[default]
    Message,
    /// Those of the task that the message's `result` is.
    Result,
    /// Those of the task that the message's `params` are.
    Params,
}

/// What is to be done with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Passed by.
    None,
    /// Its members are looked at, if it is an object.
    Members,
    /// Its elements are looked at, if it is an array.
    Elements,
    /// It is kept, if it is a string, up to so many bytes of its JSON.
    Text(usize),
    /// It is kept as the JSON that it is, up to so many bytes.
    Json(usize),
    /// It is a literal or a number that means something.
    Scalar,
}

/// No key that matters is longer, with each of its characters escaped.
pub(super) const KEY_BYTES: usize = 6 * super::members::KEY_BYTES;
/// Versions and the like.
const SHORT_BYTES: usize = 1024;
/// Names and methods, of which a call keeps 1024 characters: one outside of the basic plane may be
/// two escapes.
const NAME_BYTES: usize = 12 * 1024;
/// An id, which an answer has to repeat.
const ID_BYTES: usize = 16 * 1024;
/// Words that a protocol defines.
const WORD_BYTES: usize = 64;
/// What an error says.
const MESSAGE_BYTES: usize = super::TEXT_BYTES;
/// A declaration of a failure.
const RECORD_BYTES: usize = 16 * 1024;

/// Where the shape of a value matters, whatever its [`Interest`].
pub(super) const SHAPES: u64 = Place::JsonRpc.bit()
    | Place::Method.bit()
    | Place::Result.bit()
    | Place::Error.bit()
    | Place::Params.bit()
    | Place::Arguments.bit()
    | Place::Code.bit()
    | Place::Structured.bit()
    | Place::ResultResult.bit()
    | Place::ResultError.bit()
    | Place::ParamsResult.bit()
    | Place::ParamsError.bit();

const RECORD: &[u8] = b"tower-outcome/failure";
const RELATED_TASK: &[u8] = b"io.modelcontextprotocol/related-task";
const VERSION: &[u8] = b"io.modelcontextprotocol/protocolVersion";
const CLIENT: &[u8] = b"io.modelcontextprotocol/clientInfo";

impl Place {
    /// Where the value of `key` stands, in an object that stands here.
    #[inline]
    pub(super) fn member(self, key: &[u8]) -> Self {
        match self {
            Self::Message => match key {
                b"id" => Self::Id,
                b"jsonrpc" => Self::JsonRpc,
                b"method" => Self::Method,
                b"result" => Self::Result,
                b"error" => Self::Error,
                b"params" => Self::Params,
                _ => Self::Other,
            },
            Self::Result => match key {
                b"content" => Self::Content,
                b"isError" => Self::IsError,
                b"_meta" => Self::ResultMeta,
                b"structuredContent" => Self::Structured,
                b"resultType" => Self::ResultType,
                b"taskId" => Self::ResultTaskId,
                b"status" => Self::ResultStatus,
                b"statusMessage" => Self::StatusMessage,
                b"task" => Self::Task,
                b"ttlMs" => Self::ResultTtl,
                b"ttl" => Self::ResultCoreTtl,
                b"result" => Self::ResultResult,
                b"error" => Self::ResultError,
                _ => Self::Other,
            },
            Self::Block => match key {
                b"type" => Self::BlockType,
                b"text" => Self::BlockText,
                _ => Self::Other,
            },
            Self::ResultMeta => match key {
                RECORD => Self::ResultRecord,
                RELATED_TASK => Self::RelatedTask,
                _ => Self::Other,
            },
            Self::RelatedTask if key == b"taskId" => Self::RelatedTaskId,
            Self::Task => match key {
                b"taskId" => Self::TaskId,
                b"status" => Self::TaskStatus,
                b"ttl" => Self::TaskTtl,
                _ => Self::Other,
            },
            Self::Error => match key {
                b"code" => Self::Code,
                b"message" => Self::ErrorMessage,
                b"data" => Self::Data,
                _ => Self::Other,
            },
            Self::Data if key == RECORD => Self::DataRecord,
            Self::Params => match key {
                b"name" => Self::Name,
                b"arguments" => Self::Arguments,
                b"_meta" => Self::ParamsMeta,
                b"uri" => Self::Uri,
                b"taskId" => Self::ParamsTaskId,
                b"status" => Self::ParamsStatus,
                b"statusMessage" => Self::ParamsStatusMessage,
                b"result" => Self::ParamsResult,
                b"error" => Self::ParamsError,
                b"requestId" => Self::RequestId,
                b"protocolVersion" => Self::Version,
                b"clientInfo" => Self::Client,
                _ => Self::Other,
            },
            Self::ParamsMeta => match key {
                b"traceparent" => Self::TraceParent,
                VERSION => Self::MetaVersion,
                CLIENT => Self::MetaClient,
                _ => Self::Other,
            },
            Self::Client => match key {
                b"name" => Self::ClientName,
                b"version" => Self::ClientVersion,
                _ => Self::Other,
            },
            Self::MetaClient => match key {
                b"name" => Self::MetaClientName,
                b"version" => Self::MetaClientVersion,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }

    /// Where the array or object stands whose value this is; of those alone that are entered,
    /// and not of what a task ended in.
    pub(super) fn parent(self, is_batch: bool) -> Self {
        match self {
            Self::Message if is_batch => Self::Batch,
            Self::Result | Self::Error | Self::Params => Self::Message,
            Self::ResultMeta | Self::Content | Self::Structured | Self::Task => Self::Result,
            Self::Block => Self::Content,
            Self::RelatedTask => Self::ResultMeta,
            Self::Data => Self::Error,
            Self::Client | Self::ParamsMeta => Self::Params,
            Self::MetaClient => Self::ParamsMeta,
            _ => Self::Root,
        }
    }

    /// Whether it is an array whose elements are looked at.
    pub(super) fn is_array(self) -> bool {
        matches!(self, Self::Batch | Self::Content)
    }

    /// Where the elements of an array stand that stands here.
    pub(super) fn element(self) -> Self {
        match self {
            Self::Batch => Self::Message,
            Self::Content => Self::Block,
            _ => Self::Other,
        }
    }

    /// Where a value stands that is the `result` or the `error` of a task, as seen from there.
    #[inline]
    pub(super) fn inner(self) -> Option<(Scope, Self)> {
        Some(match self {
            Self::ResultResult => (Scope::Result, Self::Result),
            Self::ResultError => (Scope::Result, Self::Error),
            Self::ParamsResult => (Scope::Params, Self::Result),
            Self::ParamsError => (Scope::Params, Self::Error),
            _ => return None,
        })
    }

    /// Whether it stands in `params`, and in no result there.
    #[inline]
    pub(super) fn is_in_params(self) -> bool {
        // They are the last.
        self as u32 > Self::Params as u32
    }

    /// A bit of its own.
    #[inline]
    pub(super) const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// What is to be done with a value that stands here.
    #[inline]
    pub(super) fn interest(self, config: &Config) -> Interest {
        match self {
            Self::Message | Self::Block | Self::RelatedTask | Self::Task => Interest::Members,
            Self::Result
            | Self::ResultMeta
            | Self::ResultResult
            | Self::ResultError
            | Self::ParamsResult
            | Self::ParamsError
            | Self::Error
            | Self::Data
                if config.answers =>
            {
                Interest::Members
            }
            // A notification of a task says in them what a result says.
            Self::Params if config.answers || config.requests => Interest::Members,
            Self::Client | Self::ParamsMeta | Self::MetaClient if config.requests => {
                Interest::Members
            }
            Self::Batch | Self::Content => Interest::Elements,
            Self::IsError | Self::Code | Self::ResultTtl | Self::ResultCoreTtl | Self::TaskTtl => {
                Interest::Scalar
            }
            Self::Id => Interest::Json(ID_BYTES),
            Self::RequestId if config.requests => Interest::Json(ID_BYTES),
            Self::ResultRecord | Self::DataRecord => Interest::Json(RECORD_BYTES),
            Self::Structured if config.members.is_some() => Interest::Members,
            Self::Structured if config.structured_bytes > 0 => {
                Interest::Json(config.structured_bytes)
            }
            Self::BlockText => Interest::Text(config.text_bytes),
            Self::ErrorMessage | Self::StatusMessage => Interest::Text(MESSAGE_BYTES),
            Self::ParamsStatusMessage if config.answers => Interest::Text(MESSAGE_BYTES),
            Self::BlockType | Self::ResultType | Self::ResultStatus | Self::TaskStatus => {
                Interest::Text(WORD_BYTES)
            }
            Self::ParamsStatus if config.answers => Interest::Text(WORD_BYTES),
            Self::Method => Interest::Text(NAME_BYTES),
            Self::Name if config.requests => Interest::Text(NAME_BYTES),
            // As much of it as is kept of any.
            Self::ResultTaskId | Self::RelatedTaskId | Self::TaskId | Self::ParamsTaskId => {
                Interest::Text(NAME_BYTES)
            }
            Self::Uri | Self::Version if config.requests => Interest::Text(SHORT_BYTES),
            Self::ClientName
            | Self::ClientVersion
            | Self::TraceParent
            | Self::MetaVersion
            | Self::MetaClientName
            | Self::MetaClientVersion => Interest::Text(SHORT_BYTES),
            _ => Interest::None,
        }
    }

    /// How much of a message may be kept in all when what stands here is, of `total` bytes: what is
    /// long and only told to somebody leaves room for what is decided by, and that for ids.
    pub(super) fn share(self, total: usize) -> usize {
        match self {
            Self::BlockText
            | Self::ErrorMessage
            | Self::StatusMessage
            | Self::ParamsStatusMessage
            | Self::Member => total - (total >> 2),
            Self::Method | Self::Name | Self::ResultRecord | Self::DataRecord => {
                total - (total >> 4)
            }
            _ => total,
        }
    }
}
