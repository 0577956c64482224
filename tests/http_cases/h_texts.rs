//! H: error texts that leak.

use std::fmt;

use serde_json::json;
use tower::Layer as _;
use tower_outcome::{OutcomeLayer, Policy, Undeclared};

use crate::{
    kit::{
        Script, answers, assert_fixed, call, data, error, event, fake, is_error, json_response,
        line, lines, send, sse_response, status, success, whole_call,
    },
    support::Logs,
};

const INTERNAL: &str = "ERROR tool_call_failed fault internal_error";

/// An error with a cause, as those of drivers and of `anyhow` are.
#[derive(Debug)]
struct Chain(&'static str, Option<Box<Chain>>);

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Chain {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.1.as_deref()? as _)
    }
}

#[tokio::test]
async fn h1_unknown_errors_are_a_fixed_text_and_their_chain_is_in_the_log() {
    let chain = || Chain("open /srv/a.db", Some(Box::new(Chain("no such table: users", None))));
    let text = "open /srv/a.db: no such table: users";
    let services = [
        fake(move |_| std::future::ready(Err(Box::new(chain()) as tower::BoxError))),
        answers(move || json_response(error(&7.into(), -32603, text))),
        answers(move || json_response(error(&7.into(), -32050, text))),
        answers(move || sse_response(Script::of([data(event(&error(&7.into(), -32603, text)))]))),
        answers(move || {
            // The message first, and what it belongs to last.
            json_response(format!(r#"{{"error":{{"message":"{text}","code":-32603}},"id":7}}"#))
        }),
        answers(move || {
            let data = json!({ "trace": text, "path": "/srv/a.db" });
            let error = json!({ "code": -32603, "message": "failed", "data": data });
            json_response(json!({ "jsonrpc": "2.0", "id": 7, "error": error }).to_string())
        }),
    ];
    for (at, service) in services.into_iter().enumerate() {
        let (logs, _guard) = Logs::capture();
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        let end = whole_call(&logs);
        assert_fixed(&got, &end);
        assert_eq!(line(&end), INTERNAL, "{at}");
        for secret in ["/srv", "users"] {
            assert!(!got.text().contains(secret), "{at}: {got:?}");
        }
        let cause = end.field("cause").unwrap();
        assert!(cause.contains("/srv/a.db") || at == 5, "{at}: {cause}");
    }
}

#[tokio::test]
async fn h1_other_requests_get_an_error_and_their_pages_stay_inside() {
    let (logs, _guard) = Logs::capture();
    let service = answers(|| status(500, "Traceback: /srv/a.py line 7"));
    let request = crate::kit::post(r#"{"jsonrpc":"2.0","id":"x","method":"resources/read"}"#);
    let got = send(OutcomeLayer::new().layer(service), request).await;
    assert_eq!((got.status, &got.message()["error"]["code"]), (200, &json!(-32603)));
    assert_eq!(got.message()["id"], "x");
    assert!(!got.text().contains("/srv"), "{got:?}");
    assert_eq!(lines(&logs), ["ERROR request_failed fault upstream_error"]);
}

/// A 401 means something to the client's transport: all of it passes, and what its author wrote
/// there is the author's own.
#[tokio::test]
async fn h3_a_401_passes_untouched_whatever_it_says() {
    const TRACE: &str = "unauthorized\n  0: app::auth::check\n     at /srv/src/auth.rs:7\n";
    for (code, actor) in
        [(401, "user"), (403, "user"), (404, "model"), (405, "model"), (409, "model")]
    {
        let (logs, _guard) = Logs::capture();
        let service = answers(move || {
            let mut response = status(code, TRACE);
            let challenge = "Bearer resource_metadata=\"https://example.org/meta\"";
            response.headers_mut().insert("www-authenticate", challenge.parse().unwrap());
            response
        });
        let got = send(OutcomeLayer::new().layer(service), call()).await;
        assert_eq!((got.status, got.text().as_str()), (code, TRACE));
        assert!(got.header("www-authenticate").starts_with("Bearer "));
        let end = whole_call(&logs);
        assert_eq!(line(&end), format!("INFO tool_call_failed protocol_error http_{code}"));
        assert_eq!(end.field("actor"), Some(actor));
    }
}

#[tokio::test]
async fn h9_a_masked_failure_says_in_its_text_what_to_do() {
    let mask = Policy::new().undeclared(Undeclared::Mask);
    for service in [
        answers(|| json_response(is_error(&7.into(), "E_QUOTA at /srv/x"))),
        answers(|| {
            sse_response(Script::of([data(event(&is_error(&7.into(), "E_QUOTA at /srv/x")))]))
        }),
    ] {
        let (logs, _guard) = Logs::capture();
        let got = send(OutcomeLayer::new().policy(mask.clone()).layer(service), call()).await;
        let end = whole_call(&logs);
        assert_fixed(&got, &end);
        assert!(!got.text().contains("/srv"), "{got:?}");
        assert_eq!(line(&end), "ERROR tool_call_failed undeclared undeclared_error");
        assert!(end.field("cause").unwrap().contains("E_QUOTA"), "{end:?}");
    }
    // And what did not fail is what it was.
    let (_logs, _guard) = Logs::capture();
    let service = answers(|| json_response(success(&7.into())));
    let got = send(OutcomeLayer::new().policy(mask).layer(service), call()).await;
    assert_eq!(got.text(), success(&7.into()));
}
