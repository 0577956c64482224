//! What the tools of the server do, and every way in which that ends.

use std::{future::pending, io, time::Duration};

use serde_json::{Value, json};
use tower_outcome::ToolError;

/// What no client may read, where it was not sent on purpose.
pub(crate) const SECRET: &str = "cannot open /srv/private/notes.db";

/// A result, or a JSON-RPC error.
pub(crate) type Outcome = Result<Value, Value>;

/// A JSON-RPC error.
pub(crate) fn failure(code: i64, message: &str) -> Value {
    json!({ "code": code, "message": message })
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// Works for so many milliseconds, and ends as told.
pub(crate) fn run(ends: String, ms: u64) -> impl Future<Output = Result<Outcome, ToolError>> {
    assert!(ends != "panic_sync", "{SECRET}");
    async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        end(&ends).await
    }
}

async fn end(ends: &str) -> Result<Outcome, ToolError> {
    Ok(match ends {
        "ok" => Ok(json!({ "content": text("done") })),
        "is_error" => Ok(json!({ "content": text("no such table"), "isError": true })),
        "large" => Ok(json!({ "content": text(&"done ".repeat(50_000)) })),
        "large_is_error" => Ok(json!({ "content": text(&"no ".repeat(50_000)), "isError": true })),
        "secret_is_error" => Ok(json!({ "content": text(SECRET), "isError": true })),
        "soft" => {
            let payload = json!({ "status": "failed", "error": "quota" });
            Ok(json!({ "content": text(&payload.to_string()), "structuredContent": payload }))
        }
        "error" => Err(failure(-31000, "quota of 5 exceeded")),
        "invalid" => Err(failure(-32602, "path must be relative")),
        "leak" => Err(failure(-32603, SECRET)),
        "rejected" => return Err(ToolError::rejected("unknown_note", "No note at 'x'.")),
        "unknown" => return Err(io::Error::other(SECRET).into()),
        "panic" => panic!("{SECRET}"),
        "never" => pending().await,
        other => panic!("no ending {other}"),
    })
}
