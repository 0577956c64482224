//! The id of a request, which its answer has to repeat.

use std::sync::Arc;

use crate::{binding::http::scan::Json, call::RequestId};

/// The id of a request.
#[derive(Clone, Debug)]
pub(in super::super) struct Id {
    /// As the client wrote it.
    pub(in super::super) json: Arc<str>,
    /// What it means.
    pub(in super::super) key: RequestId,
}

impl Id {
    /// The id that this JSON is; `None` of what is not there, or too long to be kept.
    pub(in super::super) fn of(json: &Json) -> Option<Self> {
        let json: Arc<str> = json.get()?.into();
        Some(Self { key: key_of(&json), json })
    }

    /// The same; `None` also of `null`, which names no request.
    pub(in super::super) fn unless_null(json: &Json) -> Option<Self> {
        Self::of(json).filter(|id| &*id.json != "null")
    }

    /// Whether it is `other`. Some servers make a number of a text that looks like one, or the
    /// other way round, and have no other request to confuse it with.
    pub(in super::super) fn is(&self, other: &Self) -> bool {
        if self.key == other.key {
            return true;
        }
        let number = |text: &str| text.parse::<f64>().ok();
        let (own, other) = (self.key.to_string(), other.key.to_string());
        own == other || number(&own).is_some_and(|own| number(&other) == Some(own))
    }
}

/// What an id means, so that it is the same to a server's own library.
fn key_of(json: &Arc<str>) -> RequestId {
    if json.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(json)
    {
        return RequestId::String(text.into());
    }
    match json.parse() {
        // `-0` is no integer to `serde_json`.
        Ok(number) if number != 0 || &**json == "0" => RequestId::Number(number),
        _ => RequestId::Json(Arc::clone(json)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answers_id_may_be_of_another_type() {
        let id = |json: &str| Id { json: json.into(), key: key_of(&json.into()) };
        for (one, other, same) in [
            ("1", "1", true),
            ("1", "\"1\"", true),
            ("1", "1.0", true),
            ("\"a\"", "\"\\u0061\"", true),
            ("1", "2", false),
            ("\"a\"", "\"b\"", false),
            ("null", "1", false),
            ("\"nan\"", "\"NaN\"", false),
        ] {
            assert_eq!(id(one).is(&id(other)), same, "{one} {other}");
        }
    }
}
