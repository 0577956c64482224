//! What there is of a result for a classifier to look at.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::binding::ResultView;

/// Bytes of a text that are read for a classifier that wants all of it.
const MAX_TEXT: usize = 64 * 1024;

/// What a classifier is asked about.
pub(crate) enum Payload<'a> {
    /// Nothing that could say anything.
    None,
    Object(Cow<'a, Value>),
    /// It is too long for anybody to know.
    Unread,
}

/// The members of an object that somebody asks for, to read a text by that is all there. The HTTP
/// binding's scanner has such a tree of its own: it sees the bytes once, in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members {
    children: Vec<(String, Self)>,
}

impl Members {
    /// The members at these dotted paths.
    pub(crate) fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut root = Self::default();
        for path in paths {
            root.insert(path);
        }
        root
    }

    fn insert(&mut self, path: &str) {
        let (key, rest) =
            path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let known = self.children.iter_mut().find(|(known, _)| known == key);
        let child = match known {
            Some((_, child)) => child,
            None => {
                let mut child = Self::default();
                if let Some(rest) = rest {
                    child.insert(rest);
                }
                return self.children.push((key.to_owned(), child));
            }
        };
        if let Some(rest) = rest {
            child.insert(rest);
        }
    }

    fn get(&self, key: &str) -> Option<&Self> {
        self.children.iter().find(|(known, _)| known == key).map(|(_, child)| child)
    }
}

/// What there is of `result` to look at, for a classifier that asks for these members, or for all.
pub(crate) fn payload_of<'a>(result: &ResultView<'a>, members: Option<&Members>) -> Payload<'a> {
    if let Some(structured) = result.structured.filter(|structured| structured.is_object()) {
        return match result.is_cut {
            true => Payload::Unread,
            false => Payload::Object(Cow::Borrowed(structured)),
        };
    }
    let Some(text) = result.text.filter(|_| result.is_text_alone) else { return Payload::None };
    if !text.trim_start().starts_with('{') {
        return Payload::None;
    }
    if result.is_cut {
        return Payload::Unread;
    }
    let parsed = match members {
        Some(members) => {
            let mut json = serde_json::Deserializer::from_str(text);
            // Text behind the object makes it none.
            members.deserialize(&mut json).and_then(|value| json.end().map(|()| value))
        }
        None if text.len() > MAX_TEXT => return Payload::Unread,
        None => serde_json::from_str(text),
    };
    match parsed {
        Ok(value) => Payload::Object(Cow::Owned(value)),
        Err(_) => Payload::None,
    }
}

/// Reads the members that are asked for, and nothing else.
impl<'de> DeserializeSeed<'de> for &Members {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Members {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<Cow<'_, str>>()? {
            match self.get(&key) {
                Some(child) => {
                    let value = members.next_value_seed(child)?;
                    object.insert(key.into_owned(), value);
                }
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_text(text: &str, members: Option<&Members>) -> Option<Value> {
        let view = ResultView { text: Some(text), is_text_alone: true, ..ResultView::default() };
        match payload_of(&view, members) {
            Payload::Object(value) => Some(value.into_owned()),
            Payload::None | Payload::Unread => None,
        }
    }

    #[test]
    fn of_a_text_those_members_are_read_that_are_asked_for() {
        let members = Members::new(["status", "error.message", "a.b.c", "list"]);
        let text = r#" {"status": "failed", "other": {"status": 1e999}, "error": {"message": null,
            "code": 7}, "a": {"b": 1}, "list": [1, {"x": 2}], "st\u0061tus": true} "#;
        assert_eq!(
            of_text(text, Some(&members)),
            Some(json!({"status": true, "error": {"message": null}, "a": {"b": 1}, "list": []}))
        );
        assert_eq!(of_text(r#"{"a": 1}"#, None), Some(json!({"a": 1})));
        for text in ["", "plain", "[1]", "{", r#"{"status": }"#, r#"{"status": 1} and more"#] {
            assert_eq!(of_text(text, Some(&members)), None, "{text}");
            assert_eq!(of_text(text, None), None, "{text}");
        }
    }

    #[test]
    fn a_structured_object_comes_first_and_one_text_alone_next() {
        let (object, array) = (json!({"a": 1}), json!([1]));
        let view = |structured, is_text_alone, is_cut| ResultView {
            structured,
            text: Some(r#"{"b": 2}"#),
            is_text_alone,
            is_cut,
            ..ResultView::default()
        };
        let seen = |view: &ResultView<'_>| match payload_of(view, None) {
            Payload::None => json!("none"),
            Payload::Unread => json!("unread"),
            Payload::Object(value) => value.into_owned(),
        };
        assert_eq!(seen(&view(Some(&object), true, false)), json!({"a": 1}));
        assert_eq!(seen(&view(Some(&array), true, false)), json!({"b": 2}));
        assert_eq!(seen(&view(None, true, false)), json!({"b": 2}));
        assert_eq!(seen(&view(None, false, false)), json!("none"));
        assert_eq!(seen(&view(None, true, true)), json!("unread"));
        assert_eq!(seen(&view(Some(&object), true, true)), json!("unread"));
    }
}
