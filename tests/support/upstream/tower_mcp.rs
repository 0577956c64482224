//! tower-mcp, in a thread and a runtime of its own, which end with it as a process would.

use std::{net::SocketAddr, sync::Arc, thread, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use tower_mcp::{
    CallToolResult, Error, HttpTransport, McpRouter, Tool, ToolBuilder,
    error::JsonRpcError,
    extract::{Context, Json},
};

use super::{Mode, Unavailable};

pub(super) struct TowerMcp {
    address: SocketAddr,
    end: Arc<Notify>,
    thread: Option<thread::JoinHandle<()>>,
}

impl TowerMcp {
    pub(super) fn start(mode: Mode) -> Result<Self, Unavailable> {
        let failed = |error: std::io::Error| {
            Unavailable::new(format!("tower-mcp cannot listen: {error}"), "free a port")
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let end = Arc::new(Notify::new());
        let ended = end.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let server = axum::serve(listener, app(mode, ended.clone()));
                tokio::select! {
                    _ = server => {}
                    () = ended.notified() => {}
                }
            });
            // Connections end where they are.
            runtime.shutdown_background();
        });
        Ok(Self { address, end, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn kill(&mut self) {
        self.end.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for TowerMcp {
    fn drop(&mut self) {
        self.kill();
    }
}

fn app(mode: Mode, end: Arc<Notify>) -> axum::Router {
    let router = tools(end)
        .into_iter()
        .fold(McpRouter::new().server_info("tower-mcp", "1"), |router, tool| router.tool(tool));
    let mut transport = HttpTransport::new(router).sse_responses(mode != Mode::Json);
    if mode == Mode::Stateful {
        transport = transport.require_sessions();
    }
    transport.into_router_at("/mcp")
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Protocol {
    code: i32,
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    count: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Big {
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Progress {
    n: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Declared {
    outcome: String,
    code: String,
    actor: Option<String>,
    level: Option<String>,
}

fn tools(end: Arc<Notify>) -> Vec<Tool> {
    let add = |name, description| ToolBuilder::new(name).description(description);
    vec![
        add("ok", "Returns the text.")
            .handler(|Text { text }: Text| async move {
                Ok(CallToolResult::text(text.unwrap_or_else(|| "ok".to_owned())))
            })
            .build(),
        add("fail_raise", "Fails, with a password in the error's text.")
            .handler(|Text { text }: Text| async move {
                let text = text.unwrap_or_default();
                Err(Error::tool(format!("cannot connect to postgres://svc:hunter2@db/prod{text}")))
            })
            .build(),
        add("fail_is_error", "Returns an error result that does not say what it means.")
            .handler(|Text { text }: Text| async move {
                Ok(CallToolResult::error(text.unwrap_or_default()))
            })
            .build(),
        add("fail_protocol", "Fails with a JSON-RPC error, where a tool can.")
            .handler(|Protocol { code, message }: Protocol| async move {
                Err(Error::JsonRpc(JsonRpcError { code, message, data: None }))
            })
            .build(),
        add("bad_arguments", "Takes an integer and nothing else.")
            .handler(
                |Count { count }: Count| async move { Ok(CallToolResult::text(count.to_string())) },
            )
            .build(),
        add("slow", "Sleeps.")
            .handler(|Slow { ms }: Slow| async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(CallToolResult::text(format!("slept {ms} ms")))
            })
            .build(),
        add("big", "Returns that much text.")
            .handler(
                |Big { bytes }: Big| async move { Ok(CallToolResult::text("x".repeat(bytes))) },
            )
            .build(),
        add("progress", "Sends progress notifications first.")
            .extractor_handler(
                (),
                |context: Context, Json(Progress { n }): Json<Progress>| async move {
                    for done in 1..=n {
                        context.report_progress(done.into(), Some(n.into()), None).await;
                    }
                    Ok(CallToolResult::text(format!("reported {n} times")))
                },
            )
            .build(),
        add("declared", "Returns an error result that declares what it means.")
            .handler(|args: Declared| async move { Ok(declared(args)) })
            .build(),
        add("exit", "Ends the server in the middle of the call.")
            .no_params_handler(move || {
                end.notify_one();
                std::future::pending()
            })
            .build(),
    ]
}

fn declared(Declared { outcome, code, actor, level }: Declared) -> CallToolResult {
    let mut record = json!({ "outcome": outcome, "code": code });
    for (key, value) in [("actor", actor), ("level", level)] {
        if let Some(value) = value {
            record[key] = value.into();
        }
    }
    let mut result = CallToolResult::error(format!("Declared as '{code}'."));
    result.meta = Some(json!({ "tower-outcome/failure": record }));
    result
}
