//! What the layers cost on a tool call that succeeds, beside tower-mcp's layers for the same job.
//!
//! All arms run interleaved in one process: a round runs each arm once, a round's costs over its
//! own bare handler are paired, and the median of the pairs is what counts. On a busy machine the
//! absolute figures move; the ratios hardly do. `cargo bench --bench typed`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

use std::{
    future::poll_fn,
    hint::black_box,
    sync::{Mutex, OnceLock},
    time::Instant,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject},
    schemars,
    service::RequestContext,
    tool, tool_handler, tool_router,
};
use tower::{Service, ServiceBuilder};
use tower_mcp::{
    McpRouter, RouterRequest, ToolBuilder,
    middleware::{AuditLayer, ToolCallLoggingLayer},
    protocol,
};
use tower_outcome::{ClassifyLayer, ContainLayer, LogLayer, OutcomeLayer, ServerHandlerExt as _};

const CALLS: usize = 20_000;
const ROUNDS: usize = 31;
const ARGUMENTS: &str = r#"{"path":"inbox/todo.md"}"#;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Read {
    path: String,
}

#[derive(Clone)]
struct Notes {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Notes {
    #[tool(description = "Reads a note.")]
    async fn read_note(&self, Parameters(read): Parameters<Read>) -> CallToolResult {
        black_box(read.path);
        CallToolResult::success(vec![ContentBlock::text("Water the plants.")])
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Notes {}

fn notes() -> Notes {
    Notes { tool_router: Notes::tool_router() }
}

/// A context as rmcp makes it: taken from a real call over a real connection.
async fn live_context() -> RequestContext<RoleServer> {
    static CONTEXT: OnceLock<Mutex<Option<RequestContext<RoleServer>>>> = OnceLock::new();
    struct Capture;
    impl ServerHandler for Capture {
        async fn call_tool(
            &self,
            _: CallToolRequestParams,
            context: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            *CONTEXT.get_or_init(Mutex::default).lock().unwrap() = Some(context);
            Ok(CallToolResult::success(vec![]).into())
        }
    }
    let (client, server) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let server = Capture.serve(server).await.unwrap();
        server.waiting().await.unwrap();
    });
    let client = ().serve(client).await.unwrap();
    client.call_tool(CallToolRequestParams::new("any")).await.unwrap();
    let context = CONTEXT.get().unwrap().lock().unwrap().take().unwrap();
    // Left open: the context's peer belongs to the connection.
    std::mem::forget(client);
    // The captured token has fired with its answer.
    let mut fresh = RequestContext::new(context.id.clone(), context.peer.clone());
    fresh.meta = context.meta.clone();
    fresh
}

async fn rmcp_arm<H: ServerHandler>(
    handler: &H,
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        // A name from the wire is an owned string.
        let params =
            CallToolRequestParams::new("read_note".to_owned()).with_arguments(arguments.clone());
        let response = handler.call_tool(params, context.clone()).await.unwrap();
        black_box(response);
    }
    nanoseconds(start)
}

async fn tower_mcp_arm<S>(service: &mut S, arguments: &serde_json::Value) -> f64
where
    S: Service<RouterRequest, Response = tower_mcp::RouterResponse>,
    S::Error: std::fmt::Debug,
{
    let start = Instant::now();
    for _ in 0..CALLS {
        let params = protocol::CallToolParams {
            name: "read_note".to_owned(),
            arguments: arguments.clone(),
            input_responses: None,
            request_state: None,
            meta: None,
            task: None,
        };
        let request = RouterRequest::new(
            protocol::RequestId::Number(1),
            protocol::McpRequest::CallTool(params),
        );
        poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
        black_box(service.call(request).await.unwrap());
    }
    nanoseconds(start)
}

#[allow(clippy::cast_precision_loss)]
fn nanoseconds(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / CALLS as f64
}

async fn tower_mcp_router() -> McpRouter {
    let tool = ToolBuilder::new("read_note")
        .handler(|read: Read| async move {
            black_box(read.path);
            Ok(tower_mcp::CallToolResult::text("Water the plants."))
        })
        .build();
    let mut router = McpRouter::new().server_info("bench", "0").tool(tool);
    let initialize = protocol::InitializeParams {
        protocol_version: "2025-11-25".to_owned(),
        capabilities: Default::default(),
        client_info: protocol::Implementation {
            name: "bench".to_owned(),
            version: "1".to_owned(),
            ..Default::default()
        },
        meta: None,
    };
    let request = RouterRequest::new(
        protocol::RequestId::Number(0),
        protocol::McpRequest::Initialize(initialize),
    );
    router.call(request).await.unwrap().inner.unwrap();
    router.handle_notification(protocol::McpNotification::Initialized);
    router
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn round_of_all(what: &str, limit: f64) {
    let context = live_context().await;
    let arguments: JsonObject = serde_json::from_str(ARGUMENTS).unwrap();
    let arguments_value = serde_json::Value::Object(arguments.clone());

    let bare = notes();
    let binding = notes().layered_uncontained(tower::layer::util::Identity::new());
    let contain = notes().layered(ContainLayer::new());
    let log = notes().layered(
        ServiceBuilder::new().layer(LogLayer::new()).layer(ContainLayer::new()).into_inner(),
    );
    let classify = notes().layered(
        ServiceBuilder::new().layer(ClassifyLayer::new()).layer(ContainLayer::new()).into_inner(),
    );
    let full = notes().layered(OutcomeLayer::new());
    let mut peer_bare = tower_mcp_router().await;
    let mut peer_logging =
        ServiceBuilder::new().layer(ToolCallLoggingLayer::new()).service(peer_bare.clone());
    let mut peer_full = ServiceBuilder::new()
        .layer(AuditLayer::new())
        .layer(ToolCallLoggingLayer::new())
        .service(peer_bare.clone());

    let names = [
        "rmcp handler, bare",
        "  + binding alone",
        "  + contain",
        "  + classify, contain",
        "  + log, contain",
        "  + log, classify, contain",
        "tower-mcp router, bare",
        "  + ToolCallLogging",
        "  + Audit, ToolCallLogging",
    ];
    let base = [0, 0, 0, 0, 0, 0, 6, 6, 6];
    let mut rounds: Vec<[f64; 9]> = Vec::with_capacity(ROUNDS);
    // The first round warms up.
    for round in 0..=ROUNDS {
        let costs = [
            rmcp_arm(&bare, &context, &arguments).await,
            rmcp_arm(&binding, &context, &arguments).await,
            rmcp_arm(&contain, &context, &arguments).await,
            rmcp_arm(&classify, &context, &arguments).await,
            rmcp_arm(&log, &context, &arguments).await,
            rmcp_arm(&full, &context, &arguments).await,
            tower_mcp_arm(&mut peer_bare, &arguments_value).await,
            tower_mcp_arm(&mut peer_logging, &arguments_value).await,
            tower_mcp_arm(&mut peer_full, &arguments_value).await,
        ];
        if round > 0 {
            rounds.push(costs);
        }
    }

    println!("\n{what}: ns per call, median of {ROUNDS} rounds of {CALLS}");
    for (arm, name) in names.iter().enumerate() {
        let cost = median(rounds.iter().map(|round| round[arm]).collect());
        let over = median(rounds.iter().map(|round| round[arm] - round[base[arm]]).collect());
        println!("{name:<28} {cost:>8.0}   over bare {over:>7.0}");
    }
    let ratio =
        median(rounds.iter().map(|round| (round[5] - round[0]) / (round[8] - round[6])).collect());
    println!("ours / tower-mcp's: {ratio:.2} (at most {limit})");
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        round_of_all("no subscriber", 0.5).await;
        tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::INFO)
            .with_writer(std::io::sink)
            .init();
        round_of_all("JSON to a sink at INFO", 0.6).await;
    });
}
