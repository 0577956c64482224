//! The tools: one for each way that a call can end.

use std::{
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    handler::server::wrapper::{Json, Parameters},
    model::{CallToolResult, ContentBlock, ErrorCode, ProgressNotificationParam},
    service::RequestContext,
    tool, tool_router,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tower_outcome::ToolError;

use super::{
    Misbehaving,
    declared::declared,
    notes::{Notes, unknown_note, version_conflict},
    params::{
        BigArgs, DeclaredArgs, EditArgs, OkArgs, PanicArgs, PayloadArgs, PayloadForm, ProgressArgs,
        ProtocolArgs, ReadArgs, SearchArgs, SlowArgs, TextArgs, Then,
    },
    trouble::{Broken, deep_error, panic_when},
};

#[derive(Serialize, JsonSchema)]
struct Found {
    /// Paths for read_note.
    paths: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ReadNote {
    text: String,
    /// To pass to edit_note as if_match.
    version: String,
}

#[derive(Serialize, JsonSchema)]
struct Edited {
    /// The new version.
    version: String,
}

#[tool_router(vis = "pub(super)")]
impl Misbehaving {
    /// Returns the text.
    #[tool]
    async fn ok(&self, Parameters(args): Parameters<OkArgs>) -> String {
        args.text.unwrap_or_else(|| "ok".to_owned())
    }

    /// Finds notes. No match is an empty list.
    #[tool]
    async fn search_notes(&self, Parameters(args): Parameters<SearchArgs>) -> Json<Found> {
        Json(Found { paths: self.notes().search(&args.query) })
    }

    /// Reads a note. An unknown path is rejected, with the nearest paths that there are.
    #[tool]
    async fn read_note(
        &self,
        Parameters(ReadArgs { path }): Parameters<ReadArgs>,
    ) -> Result<Json<ReadNote>, ToolError> {
        let notes = self.notes();
        let Some(note) = notes.get(&path) else {
            return Err(unknown_note(path, &notes));
        };
        Ok(Json(ReadNote { text: note.text.clone(), version: note.etag() }))
    }

    /// Replaces a note's text if it still has the version that if_match names.
    #[tool]
    async fn edit_note(
        &self,
        Parameters(EditArgs { path, text, if_match }): Parameters<EditArgs>,
    ) -> Result<Json<Edited>, ToolError> {
        let Some(version) = self.notes().edit(&path, text, &if_match) else {
            return Err(version_conflict(if_match));
        };
        Ok(Json(Edited { version }))
    }

    /// Fails exactly as declared.
    #[tool]
    async fn fail_declared(
        &self,
        Parameters(args): Parameters<DeclaredArgs>,
    ) -> Result<String, ToolError> {
        Err(declared(args)?)
    }

    /// Fails with an error of an unknown type, its text three sources deep.
    #[tool]
    async fn fail_unknown(
        &self,
        Parameters(TextArgs { text }): Parameters<TextArgs>,
    ) -> Result<String, ToolError> {
        deep_error(text)?;
        Ok(String::new())
    }

    /// Fails with rmcp's internal error, as so many servers do.
    #[tool]
    async fn fail_internal(
        &self,
        Parameters(TextArgs { text }): Parameters<TextArgs>,
    ) -> Result<String, ErrorData> {
        let data = json!({ "detail": text });
        Err(ErrorData::internal_error(text, Some(data)))
    }

    /// Fails with a JSON-RPC error.
    #[tool]
    async fn fail_protocol(
        &self,
        Parameters(ProtocolArgs { code, message, data }): Parameters<ProtocolArgs>,
    ) -> Result<String, ErrorData> {
        Err(ErrorData::new(ErrorCode(code), message, data))
    }

    /// Returns an error result that does not say what it means.
    #[tool]
    async fn fail_is_error(
        &self,
        Parameters(TextArgs { text }): Parameters<TextArgs>,
    ) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(text)])
    }

    /// Returns the payload as an ordinary result, whatever it says.
    #[tool]
    async fn fail_payload(&self, Parameters(args): Parameters<PayloadArgs>) -> CallToolResult {
        match args.form {
            PayloadForm::Structured => CallToolResult::structured(args.payload),
            PayloadForm::Text => {
                CallToolResult::success(vec![ContentBlock::text(args.payload.to_string())])
            }
        }
    }

    /// Fails because something took too long.
    #[tool]
    async fn fail_timeout(&self) -> Result<String, ToolError> {
        let never = std::future::pending::<()>();
        tokio::time::timeout(Duration::from_millis(1), never)
            .await
            .map_err(|elapsed| Broken::because("the note store did not answer", elapsed))?;
        Ok(String::new())
    }

    /// Fails because there were too many requests.
    #[tool]
    async fn fail_rate_limited(&self) -> Result<String, ToolError> {
        let overloaded = tower::load_shed::error::Overloaded::new();
        Err(Broken::because("the note store is busy", overloaded))?
    }

    /// Panics, at the time that `when` says.
    #[tool]
    async fn panic(
        &self,
        Parameters(PanicArgs { text, when }): Parameters<PanicArgs>,
    ) -> Result<String, ToolError> {
        panic_when(when, text, &self.poisonable).await?;
        Ok(String::new())
    }

    /// Sleeps. Ignores cancellation unless it is told to watch for it.
    #[tool]
    async fn slow(
        &self,
        Parameters(SlowArgs { ms, watch_cancel }): Parameters<SlowArgs>,
        cancelled: CancellationToken,
    ) -> String {
        let sleep = tokio::time::sleep(Duration::from_millis(ms));
        if watch_cancel == Some(true) {
            tokio::select! {
                () = sleep => {}
                () = cancelled.cancelled() => return "stopped early".to_owned(),
            }
        } else {
            sleep.await;
        }
        format!("slept {ms} ms")
    }

    /// Never returns, and ignores cancellation.
    #[tool]
    async fn hang(&self) -> String {
        std::future::pending().await
    }

    /// Returns that much text.
    #[tool]
    async fn big(
        &self,
        Parameters(BigArgs { bytes, is_error }): Parameters<BigArgs>,
    ) -> CallToolResult {
        let text = vec![ContentBlock::text("x".repeat(bytes))];
        if is_error == Some(true) {
            CallToolResult::error(text)
        } else {
            CallToolResult::success(text)
        }
    }

    /// Sends progress notifications first, where the call has a progress token.
    #[tool]
    async fn progress(
        &self,
        Parameters(ProgressArgs { n, then }): Parameters<ProgressArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ToolError> {
        if let Some(token) = context.meta.get_progress_token() {
            for done in 1..=n {
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(done));
                context.peer.notify_progress(progress.with_total(f64::from(n))).await?;
            }
        }
        match then {
            Then::Ok => Ok(format!("reported {n} times")),
            Then::Panic => panic!("panic after progress"),
            Then::Error => {
                deep_error("error after progress".to_owned())?;
                Ok(String::new())
            }
        }
    }
}

impl Misbehaving {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
