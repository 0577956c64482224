//! Whether a tool's output schema admits a failure's record.

use serde_json::{Map, Value};

/// Keywords that say nothing about what may be in an object.
const HARMLESS: [&str; 8] =
    ["$id", "$schema", "$comment", "$defs", "definitions", "title", "description", "examples"];

/// Whether `record` is valid under `schema` for certain, so that it may stand in
/// `structuredContent`: a host that validates it must not hide the failure behind a complaint.
///
/// Only what a glance can tell: an object that may have further properties, none of which the
/// record sets, and requires none that the record lacks. Anything else is taken for a no.
pub(crate) fn admits(schema: &Map<String, Value>, record: &Value) -> bool {
    let Some(record) = record.as_object() else {
        return false;
    };
    schema.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
        ("type", Value::String(name)) => name == "object",
        ("properties", Value::Object(properties)) => {
            !properties.keys().any(|name| record.contains_key(name))
        }
        ("required", Value::Array(names)) => {
            names.iter().all(|name| name.as_str().is_some_and(|name| record.contains_key(name)))
        }
        ("additionalProperties", Value::Bool(allowed)) => *allowed,
        (keyword, _) => HARMLESS.contains(&keyword),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_open_object_admits_a_record() {
        let record = json!({"outcome": "rejected", "code": "unknown_note", "message": "No."});
        for (schema, expected) in [
            (json!({}), true),
            (json!({"type": "object"}), true),
            (json!({"type": "object", "properties": {"paths": {"type": "array"}}}), true),
            (json!({"type": "object", "title": "Found", "additionalProperties": true}), true),
            (json!({"type": "object", "required": ["code"]}), true),
            (json!({"type": "array"}), false),
            (json!({"type": ["object", "null"]}), false),
            (json!({"type": "object", "required": ["paths"]}), false),
            (json!({"type": "object", "additionalProperties": false}), false),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), false),
            (json!({"type": "object", "properties": {"code": {"type": "integer"}}}), false),
            (json!({"anyOf": [{"type": "object"}]}), false),
            (json!({"$ref": "#/$defs/Found"}), false),
            (json!({"maxProperties": 1}), false),
        ] {
            let schema = schema.as_object().cloned().unwrap_or_default();
            assert_eq!(admits(&schema, &record), expected, "{schema:?}");
        }
        assert!(!admits(&Map::new(), &json!("no record")));
    }
}
