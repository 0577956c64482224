//! Members of a message that is held, as the JSON that they are.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::text;

/// How the member of `message` at this path begins: as much of it as a cause keeps. Nothing else
/// of the message is kept meanwhile, whatever is in it.
pub(in super::super) fn member(message: &[u8], path: &[&str]) -> Option<String> {
    let mut json = serde_json::Deserializer::from_slice(message);
    let found = Find(path).deserialize(&mut json).ok()??;
    Some(text::cut_bytes(found.get(), text::CAUSE_BYTES).into_owned())
}

/// The members of an object, in their order.
pub(in super::super) fn members(object: &[u8]) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    let mut json = serde_json::Deserializer::from_slice(object);
    let members = json.deserialize_map(Members).ok()?;
    json.end().ok().map(|()| members)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(member) = members.next_entry::<Cow<'_, str>, _>()? {
            found.push(member);
        }
        Ok(found)
    }
}

struct Find<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = members.next_key::<Cow<'_, str>>()? {
            match self.0 {
                [only] if *only == key => found = Some(members.next_value()?),
                [first, rest @ ..] if *first == key => {
                    found = members.next_value_seed(Find(rest))?;
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_and_cut() {
        let path = ["error", "data"];
        let long = format!(r#"{{"error":{{"data":"{}"}}}}"#, "x".repeat(9000));
        for (message, expected) in [
            (r#"{"id":1,"error":{"code":1,"data":{"a":[1, 2]}}}"#, Some(r#"{"a":[1, 2]}"#)),
            (r#"{"error":{"data":1},"error":{"d\u0061ta":2}}"#, Some("2")),
            (r#"{"error":{"data":null}}"#, Some("null")),
            (r#"{"error":{}}"#, None),
            (r#"{"error":7}"#, None),
            (r#"{"data":1}"#, None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(member(message.as_bytes(), &path).as_deref(), expected, "{message}");
        }
        assert_eq!(
            member(long.as_bytes(), &path).map(|it| it.len() <= text::CAUSE_BYTES),
            Some(true)
        );
    }
}
