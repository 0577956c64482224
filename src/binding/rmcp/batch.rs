//! A batch's result as what a tool returns: `Json<Done>`.

use std::borrow::Cow;

use rmcp::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::batch::{BatchStatus, Done};

impl JsonSchema for Done {
    fn schema_name() -> Cow<'static, str> {
        "Done".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Every item of the batch took effect.",
            "properties": {
                "status": { "type": "string", "const": BatchStatus::Succeeded.as_str() },
                "confirmed": {
                    "type": "array",
                    "description": "The items that took effect; the first of them, where there are many.",
                    "items": { "type": "string" },
                    "minItems": 1,
                },
                "unresolved": {
                    "type": "array",
                    "description": "Always empty.",
                    "items": { "type": "string" },
                    "maxItems": 0,
                },
                "more_confirmed": {
                    "type": "integer",
                    "description": "How many more took effect than are listed.",
                    "minimum": 1,
                },
            },
            "required": ["status", "confirmed", "unresolved"],
        })
    }
}
