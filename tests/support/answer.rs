//! What a request was answered with.

use serde_json::Value;

/// The key of the record, in a result's `_meta` and in an error's `data`.
const RECORD: &str = "tower-outcome/failure";

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Nothing, within the guard or before the connection ended.
    None,
    /// A JSON-RPC result.
    Result { status: Option<u16>, result: Value },
    /// A JSON-RPC error.
    Error { status: Option<u16>, error: Value },
    /// An HTTP answer that is no JSON-RPC.
    Http { status: u16, body: String },
}

impl Answer {
    /// The answer that a JSON-RPC message is; `None` if it is a request or a notification.
    pub(super) fn from_message(status: Option<u16>, message: &Value) -> Option<Self> {
        if message.get("method").is_some() {
            return None;
        }
        if let Some(error) = message.get("error") {
            return Some(Self::Error { status, error: error.clone() });
        }
        let result = message.get("result")?.clone();
        Some(Self::Result { status, result })
    }

    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The HTTP status; `None` on other transports.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::None => None,
            Self::Result { status, .. } | Self::Error { status, .. } => *status,
            Self::Http { status, .. } => Some(*status),
        }
    }

    pub fn result(&self) -> Option<&Value> {
        match self {
            Self::Result { result, .. } => Some(result),
            _ => None,
        }
    }

    pub fn error(&self) -> Option<&Value> {
        match self {
            Self::Error { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The code of a JSON-RPC error.
    pub fn error_code(&self) -> Option<i64> {
        self.error()?.get("code")?.as_i64()
    }

    /// Whether it is a result with the flag.
    pub fn is_error(&self) -> bool {
        self.result().and_then(|result| result.get("isError")) == Some(&Value::Bool(true))
    }

    /// The blocks of a tool's result.
    pub fn content(&self) -> &[Value] {
        let content = self.result().and_then(|result| result.get("content"));
        content.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The text blocks of a tool's result, or the message of an error.
    pub fn text(&self) -> String {
        if let Some(error) = self.error() {
            return error["message"].as_str().unwrap_or_default().to_owned();
        }
        let texts = self.content().iter().filter_map(|block| block.get("text")?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn structured(&self) -> Option<&Value> {
        self.result()?.get("structuredContent")
    }

    pub fn meta(&self) -> Option<&Value> {
        self.result()?.get("_meta")
    }

    /// The record of a declared failure, in a result's `_meta` or in an error's `data`.
    pub fn record(&self) -> Option<&Value> {
        match self {
            Self::Result { result, .. } => result.get("_meta")?.get(RECORD),
            Self::Error { error, .. } => error.get("data")?.get(RECORD),
            _ => None,
        }
    }
}
