//! H: error texts that tell too much, or too little.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use rmcp::ErrorData;
use serde_json::{Value, json};
use tower::{BoxError, Layer, Service, ServiceBuilder};
use tower_outcome::{
    McpRequest as _, OutcomeLayer, ResultExt as _, ServerHandlerExt as _, ToolError,
    binding::rmcp::{RmcpReply, RmcpRequest},
};

use crate::{
    child::{self, Server},
    kit::{LAYERS, Tools, assert_fixed, call, connect, connect_bare, end, line},
    support::{Client, Transport},
};

#[tokio::test]
async fn h1_an_unknown_errors_chain_is_for_the_log_alone() {
    fn query() -> anyhow::Result<String> {
        Err(anyhow::anyhow!("no such table: users").context("open /srv/a.db"))
    }
    let tools = Tools::new()
        .with("raised", |_| async { query().or_fault() })
        .with("sourced", |_| async { query().map_err(|error| ToolError::fault().source(error)) })
        .with("as_text", |_| async {
            query().map_err(|error| ErrorData::internal_error(format!("{error:#}"), None))
        });
    let client = connect(tools).await;
    for tool in ["raised", "sourced", "as_text"] {
        let (answer, event) = call(&client, tool, json!({})).await;
        assert_fixed(&answer, &event);
        assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error", "{tool}");
        assert_eq!(event.field("cause"), Some("open /srv/a.db: no such table: users"), "{tool}");
        let error = event.field("error").unwrap();
        assert!(!error.contains("users"), "what the client was told is something else: {error}");
    }
    let received = String::from_utf8_lossy(&client.bytes()).into_owned();
    for internal in ["users", "/srv", "a.db"] {
        assert!(!received.contains(internal), "{internal} in: {received}");
    }
}

/// Lets nobody through but `initialize` and notifications, and says why as such layers do.
#[derive(Clone, Copy)]
struct Door;

#[derive(Clone)]
struct Closed<S>(S);

impl<S> Layer<S> for Door {
    type Service = Closed<S>;

    fn layer(&self, inner: S) -> Closed<S> {
        Closed(inner)
    }
}

impl<S> Service<RmcpRequest> for Closed<S>
where
    S: Service<RmcpRequest, Response = RmcpReply>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = RmcpReply;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<RmcpReply, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: RmcpRequest) -> Self::Future {
        if request.method() == "initialize" || request.id().is_none() {
            let answer = self.0.call(request);
            return Box::pin(async move { answer.await.map_err(Into::into) });
        }
        Box::pin(async { Err("401: token expired\n   0: auth::verify at /srv/auth.rs:12".into()) })
    }
}

#[tokio::test]
async fn h3_what_a_layer_in_between_says_stays_on_the_server() {
    let stack = ServiceBuilder::new().layer(OutcomeLayer::new()).layer(Door);
    let client = connect_bare(Tools::new().layered(stack)).await;
    let (answer, event) = call(&client, "ok", json!({})).await;
    assert_fixed(&answer, &event);
    assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error");
    for method in ["tools/list", "prompts/list", "ping", "no/such"] {
        let id = client.start(method, json!({})).await;
        let answer = client.wait(&id).await;
        assert_eq!(answer.error_code(), Some(-32603), "{method}: {answer:?}");
        assert!(answer.text().starts_with("This request was fine, but the server"), "{answer:?}");
        let event = end(&client, &id).await;
        assert_eq!(line(&event), "ERROR request_failed fault internal_error", "{method}");
        assert!(event.field("cause").unwrap().contains("auth::verify"), "{event:?}");
    }
    let received = String::from_utf8_lossy(&client.bytes()).into_owned();
    assert!(!received.contains("auth"), "{received}");
}

/// Until contracts replace them, rmcp's words about arguments go out as they are.
#[tokio::test]
async fn h7_rmcps_words_about_arguments_are_not_changed() {
    let bare = Client::connect(Transport::Duplex, crate::support::Layers::None).await;
    let client = Client::connect(Transport::Duplex, LAYERS).await;
    for (arguments, expected) in [
        (json!("x"), "INFO tool_call_failed protocol_error invalid_params"),
        (json!([1]), "INFO tool_call_failed protocol_error invalid_params"),
        (json!({ "path": 5 }), "INFO tool_call_failed rejected invalid_arguments"),
        (json!({}), "INFO tool_call_failed rejected invalid_arguments"),
        (Value::Null, "INFO tool_call_failed rejected invalid_arguments"),
    ] {
        let (answer, event) = call(&client, "read_note", arguments.clone()).await;
        assert_eq!(line(&event), expected, "{arguments}");
        assert_eq!(answer, bare.call("read_note", arguments.clone()).await, "{arguments}");
        assert_eq!(event.field("tool"), Some("read_note"), "{arguments}");
    }
}

#[tokio::test]
async fn h9_the_text_alone_says_what_to_do() {
    let quota = || {
        ToolError::transient("E_QUOTA", "The mailbox takes 5 messages an hour.")
            .retry_after(std::time::Duration::from_secs(1200))
    };
    let tools = Tools::new().with("send", move |_| async move { Err::<String, _>(quota()) }).with(
        "read",
        |_| async {
            Err::<String, _>(
                ToolError::rejected("E_PATH", "There is no note at this path.")
                    .field("path")
                    .received("a.md")
                    .recover("Find the path with search_notes."),
            )
        },
    );
    let client = connect(tools).await;
    for (tool, code, parts) in [
        ("send", "e_quota", &["5 messages an hour", "Send the same call again in "][..]),
        ("read", "e_path", &["path", "a.md", "search_notes"]),
    ] {
        let (answer, event) = call(&client, tool, json!({})).await;
        let text = answer.text().to_lowercase();
        for part in parts {
            assert!(text.contains(&part.to_lowercase()), "no {part} in: {text}");
        }
        // A code that has to be looked up is none of the model's business.
        assert!(!text.contains(code), "{text}");
        assert_eq!(answer.structured(), None, "{answer:?}");
        assert_eq!(answer.content().len(), 1, "{answer:?}");
        assert_eq!(answer.record().unwrap()["code"], code);
        assert_eq!(event.field("code"), Some(code));
    }
}

#[tokio::test]
async fn h11_the_panic_hook_keeps_a_payload_off_stderr_and_is_opt_in() {
    const KEY: &str = "sk-live-4242";
    for (flags, is_printed) in [(&["--panic-hook"][..], false), (&[], true)] {
        let mut server = Server::start(flags, "info").await;
        for (id, when) in [(1, "first_poll"), (2, "after_await"), (3, "sync")] {
            let arguments = json!({ "text": format!("api_key={KEY} refused"), "when": when });
            let answer = server.call(id, "panic", arguments).await;
            assert!(!answer.to_string().contains(KEY), "{answer}");
        }
        let ended = server.finish().await;
        // The standard hook prints it raw, which is why there is another one.
        assert_eq!(ended.stderr.contains(KEY), is_printed, "{flags:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.contains("panicked at"), is_printed, "{flags:?}: {}", ended.stderr);
        for event in ended.events("tower_outcome") {
            assert_eq!(child::line(&event), "ERROR tool_call_failed fault panic");
            assert!(!event.to_string().contains(KEY), "{event}");
            let cause = event["fields"]["cause"].as_str().unwrap();
            assert!(cause.starts_with("api_key="), "{cause}");
            let location = event["fields"]["location"].as_str();
            assert_eq!(location.is_some_and(|at| at.contains("trouble.rs:")), !is_printed);
        }
    }
}
