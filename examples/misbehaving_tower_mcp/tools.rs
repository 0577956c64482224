//! The tools: one for each way that a call can end.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::json;
use tower_mcp::{
    CallToolResult, Error, JsonRpcError, NoParams, Tool, ToolBuilder,
    extract::{Context, Json},
};
use tower_outcome::{ToolError, binding::tower_mcp::answering};

use crate::{
    declared::declared,
    notes::{Notes, unknown_note, version_conflict},
    params::{
        BigArgs, DeclaredArgs, EditArgs, OkArgs, PanicArgs, PayloadArgs, PayloadForm, ProgressArgs,
        ProtocolArgs, ReadArgs, SearchArgs, SlowArgs, TextArgs, Then,
    },
    trouble::{Broken, deep_error, panic_when},
};

/// All of them, with notes of their own.
pub(crate) fn all() -> Vec<Tool> {
    let mut tools = with_notes(Arc::default());
    tools.extend(failures());
    tools.extend(lengthy());
    tools
}

fn add(name: &str, description: &str) -> ToolBuilder {
    ToolBuilder::new(name).description(description)
}

fn with_notes(notes: Arc<Mutex<Notes>>) -> Vec<Tool> {
    let (searched, read) = (notes.clone(), notes.clone());
    vec![
        add("search_notes", "Finds notes. No match is an empty list.")
            .handler(move |SearchArgs { query }: SearchArgs| {
                let paths = lock(&searched).search(&query);
                async move { Ok(CallToolResult::json(json!({ "paths": paths }))) }
            })
            .build(),
        add("read_note", "Reads a note. An unknown path is rejected, with the nearest ones.")
            .handler(answering(move |args| {
                let result = read_note(&lock(&read), args);
                async move { result }
            }))
            .build(),
        add("edit_note", "Replaces a note's text if it still has the version in if_match.")
            .handler(answering(move |args| {
                let result = edit_note(&mut lock(&notes), args);
                async move { result }
            }))
            .build(),
    ]
}

fn lock(notes: &Mutex<Notes>) -> MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_note(notes: &Notes, ReadArgs { path }: ReadArgs) -> Result<CallToolResult, ToolError> {
    let Some(note) = notes.get(&path) else {
        return Err(unknown_note(path, notes));
    };
    Ok(CallToolResult::json(json!({ "text": note.text, "version": note.etag() })))
}

fn edit_note(notes: &mut Notes, args: EditArgs) -> Result<CallToolResult, ToolError> {
    let EditArgs { path, text, if_match } = args;
    let Some(version) = notes.edit(&path, text, &if_match) else {
        return Err(version_conflict(if_match));
    };
    Ok(CallToolResult::json(json!({ "version": version })))
}

fn failures() -> Vec<Tool> {
    let poisonable = Arc::<Mutex<u64>>::default();
    vec![
        add("fail_declared", "Fails exactly as declared.")
            .handler(answering(|args: DeclaredArgs| async move {
                Err::<CallToolResult, _>(declared(args)?)
            }))
            .build(),
        add("fail_unknown", "Fails with an error of an unknown type, its text three sources deep.")
            .handler(answering(|TextArgs { text }: TextArgs| async move {
                deep_error(text)?;
                Ok(CallToolResult::text(""))
            }))
            .build(),
        add("fail_internal", "Fails with tower-mcp's internal error, as so many servers do.")
            .handler(|TextArgs { text }: TextArgs| async move { Err(Error::internal(text)) })
            .build(),
        add("fail_protocol", "Fails with a JSON-RPC error, of which tower-mcp makes a text.")
            .handler(|ProtocolArgs { code, message, data }: ProtocolArgs| async move {
                Err(Error::JsonRpc(JsonRpcError { code, message, data }))
            })
            .build(),
        add("refuse", "Is answered with a JSON-RPC error, by a layer round the router.")
            .handler(|_: ProtocolArgs| async { unreachable!("a layer answers") })
            .build(),
        add("fail_is_error", "Returns an error result that does not say what it means.")
            .handler(|TextArgs { text }: TextArgs| async move { Ok(CallToolResult::error(text)) })
            .build(),
        add("fail_payload", "Returns the payload as an ordinary result, whatever it says.")
            .handler(|PayloadArgs { payload, form }: PayloadArgs| async move {
                Ok(match form {
                    PayloadForm::Structured => CallToolResult::json(payload),
                    PayloadForm::Text => CallToolResult::text(payload.to_string()),
                })
            })
            .build(),
        add("fail_timeout", "Fails because something took too long.")
            .handler(answering(|_: NoParams| timed_out()))
            .build(),
        add("fail_rate_limited", "Fails because there were too many requests.")
            .handler(answering(|_: NoParams| rate_limited()))
            .build(),
        add("panic", "Panics, at the time that `when` says.")
            .handler(answering(move |PanicArgs { text, when }: PanicArgs| {
                let poisonable = poisonable.clone();
                async move {
                    panic_when(when, text, &poisonable).await?;
                    Ok(CallToolResult::text(""))
                }
            }))
            .build(),
    ]
}

async fn timed_out() -> Result<CallToolResult, ToolError> {
    let never = std::future::pending::<()>();
    tokio::time::timeout(Duration::from_millis(1), never)
        .await
        .map_err(|elapsed| Broken::because("the note store did not answer", elapsed))?;
    Ok(CallToolResult::text(""))
}

async fn rate_limited() -> Result<CallToolResult, ToolError> {
    let overloaded = tower::load_shed::error::Overloaded::new();
    Err(Broken::because("the note store is busy", overloaded))?
}

fn lengthy() -> Vec<Tool> {
    vec![
        add("ok", "Returns the text.")
            .handler(|OkArgs { text }: OkArgs| async move {
                Ok(CallToolResult::text(text.unwrap_or_else(|| "ok".to_owned())))
            })
            .build(),
        add("slow", "Sleeps. Ignores cancellation unless it is told to watch for it.")
            .extractor_handler((), |context: Context, Json(args): Json<SlowArgs>| async move {
                Ok(CallToolResult::text(slow(&context, args).await))
            })
            .build(),
        add("hang", "Never returns, and ignores cancellation.")
            .no_params_handler(std::future::pending)
            .build(),
        add("big", "Returns that much text.")
            .handler(|BigArgs { bytes, is_error }: BigArgs| async move {
                let text = "x".repeat(bytes);
                Ok(match is_error {
                    Some(true) => CallToolResult::error(text),
                    _ => CallToolResult::text(text),
                })
            })
            .build(),
        add("progress", "Sends progress notifications first, where the call has a progress token.")
            .extractor_handler((), |context: Context, Json(args): Json<ProgressArgs>| async move {
                Ok(progress(&context, args).await.unwrap_or_else(CallToolResult::from))
            })
            .build(),
    ]
}

async fn slow(context: &Context, SlowArgs { ms, watch_cancel }: SlowArgs) -> String {
    let sleep = tokio::time::sleep(Duration::from_millis(ms));
    if watch_cancel == Some(true) {
        tokio::select! {
            () = sleep => {}
            () = context.cancelled() => return "stopped early".to_owned(),
        }
    } else {
        sleep.await;
    }
    format!("slept {ms} ms")
}

async fn progress(
    context: &Context,
    ProgressArgs { n, then }: ProgressArgs,
) -> Result<CallToolResult, ToolError> {
    for done in 1..=n {
        context.report_progress(done.into(), Some(n.into()), None).await;
    }
    match then {
        Then::Ok => Ok(CallToolResult::text(format!("reported {n} times"))),
        Then::Panic => panic!("panic after progress"),
        Then::Error => {
            deep_error("error after progress".to_owned())?;
            Ok(CallToolResult::text(""))
        }
    }
}
