//! A notes server and a real client in one process: what the model reads and what the log says,
//! for each way a call can end.
//!
//! `cargo run --example quickstart` shows it with the layers, `cargo run --example quickstart --
//! --bare` the same server without them.

#![allow(clippy::print_stdout, reason = "an example that shows something")]

mod log;
mod notes;

use std::time::Duration;

use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{
        CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, ContentBlock,
        Implementation, JsonObject, ServerResult,
    },
    service::{Peer, PeerRequestOptions, RunningService, ServiceError},
};
use tower_outcome::{OutcomeLayer, ServerHandlerExt as _};

use crate::notes::Notes;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a call may stay unanswered before it counts as one that hangs.
const HANG: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let bare = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--bare") => true,
        Some(other) => {
            return Err(format!("unknown argument {other:?}: there is only --bare").into());
        }
    };
    let log = log::capture(!bare);
    if !bare {
        tower_outcome::install_panic_hook();
    }

    let (client_io, server_io) = tokio::io::duplex(64 * 1024);
    let server = tokio::spawn(async move {
        // The two ways: with the layers, and as it is.
        if bare {
            Notes::new().serve(server_io).await?.waiting().await?;
        } else {
            Notes::new().layered(OutcomeLayer::new()).serve(server_io).await?.waiting().await?;
        }
        Ok::<_, Error>(())
    });
    let client = Client.serve(client_io).await?;

    if bare {
        println!("The same server without the layers\n");
    } else {
        println!("A notes server with tower-outcome. Left out of the log lines: the client, the");
        println!("session, and the text that is shown above them.\n");
    }
    for (number, step) in STEPS.iter().enumerate() {
        log.take();
        let heard = step.run(&client).await;
        println!("{}. {}", number + 1, step.what);
        println!("   call        {} {}", step.tool, step.arguments);
        println!("   model reads {heard}");
        // The line about a call is written before its answer goes out; that of a cancelled one
        // comes a moment after the client has turned away.
        let lines = log.wait(step.cancel && !bare).await;
        if lines.is_empty() {
            println!("   log         nothing");
        }
        for line in lines {
            println!("   log         {line}");
        }
        println!();
    }
    client.cancel().await?;
    server.abort();
    Ok(())
}

/// One call, and what it is here to show.
struct Step {
    what: &'static str,
    tool: &'static str,
    arguments: &'static str,
    cancel: bool,
}

const fn step(what: &'static str, tool: &'static str, arguments: &'static str) -> Step {
    Step { what, tool, arguments, cancel: false }
}

const STEPS: &[Step] = &[
    step("Completed: a search that ran and found nothing", "search_notes", r#"{"query":"zebra"}"#),
    step("Rejected: the request must change", "read_note", r#"{"path":"inbox/tofo.md"}"#),
    step(
        "Stale: what the request was based on has moved on",
        "edit_note",
        r#"{"path":"plan.md","text":"new","if_match":"a1"}"#,
    ),
    step("Fault: the server cannot deliver now, and says for how long", "tag_note", "{}"),
    step("A panic", "export_notes", "{}"),
    step("An unknown error, with a password in its text", "sync_notes", "{}"),
    step("An isError result that declares nothing", "import_notes", "{}"),
    Step {
        what: "A call that the client cancels",
        tool: "index_notes",
        arguments: "{}",
        cancel: true,
    },
];

impl Step {
    async fn run(&self, client: &RunningService<RoleClient, Client>) -> String {
        if self.cancel {
            return self.call_and_cancel(client).await.unwrap_or_else(|error| error.to_string());
        }
        let params = self.params();
        match tokio::time::timeout(HANG, client.call_tool(params)).await {
            Err(_) => format!("nothing: no answer within {HANG:?}, and none would ever come"),
            Ok(Ok(result)) => {
                let text = result.content.iter().find_map(ContentBlock::as_text);
                let text = text.map_or("", |text| &text.text);
                let flag = if result.is_error == Some(true) { "(error) " } else { "" };
                format!("{flag}{text}")
            }
            Ok(Err(ServiceError::McpError(error))) => {
                format!("(JSON-RPC error {}) {}", error.code.0, error.message)
            }
            Ok(Err(error)) => error.to_string(),
        }
    }

    async fn call_and_cancel(&self, client: &Peer<RoleClient>) -> Result<String, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.params()));
        let call =
            client.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        // A ping that is answered shows that the call before it has begun.
        let ping = ClientRequest::PingRequest(Default::default());
        let pong: ServerResult = client.send_request(ping).await?;
        drop(pong);
        call.cancel(Some("the user pressed Esc".into())).await?;
        Ok("nothing: it asked for the call to stop".into())
    }

    fn params(&self) -> CallToolRequestParams {
        let arguments: JsonObject = serde_json::from_str(self.arguments).unwrap_or_default();
        CallToolRequestParams::new(self.tool).with_arguments(arguments)
    }
}

struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("quickstart-client", "1.0");
        info
    }
}
