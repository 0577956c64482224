//! The table.

use serde_json::json;

use crate::row::{Row, Wire, call, request};

/// The one row whose end depends on what came before it.
pub(crate) const EDIT: &str = "an edit of the version that is there";

pub(crate) fn all() -> Vec<Row> {
    [
        successes(),
        declared_failures(),
        undeclared_failures(),
        protocol_errors(),
        panics(),
        what_rmcp_refuses(),
        beside_tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn successes() -> Vec<Row> {
    vec![
        call("ok", "ok", json!({ "text": "hello" })).says("hello"),
        call("ok without arguments", "ok", json!({})).says("ok"),
        call("a search without matches", "search_notes", json!({ "query": "zzz" }))
            .holds("/structuredContent", json!({ "paths": [] })),
        call("a search with matches", "search_notes", json!({ "query": "japan" }))
            .says("travel/japan.md"),
        call("a note that is there", "read_note", json!({ "path": "work/plan.md" }))
            .holds("/structuredContent/version", json!("v1")),
        call(
            EDIT,
            "edit_note",
            json!({ "path": "work/plan.md", "text": "Shipped.", "if_match": "v1" }),
        )
        .holds("/structuredContent/version", json!("v2")),
        call("slow", "slow", json!({ "ms": 10 })).says("slept 10 ms"),
        call("big", "big", json!({ "bytes": 300_000 })).says(long_text()),
        call("progress, then ok", "progress", json!({ "n": 3, "then": "ok" }))
            .after_progress(3)
            .says("reported 3 times"),
    ]
}

fn long_text() -> &'static str {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "x".repeat(300_000));
    &TEXT
}

fn declared_failures() -> Vec<Row> {
    let declare = |name, arguments| call(name, "fail_declared", arguments);
    vec![
        call("a note that is not there", "read_note", json!({ "path": "travel/japn.md" }))
            .rejected("unknown_note")
            .says("path")
            .says("travel/japn.md")
            .says("travel/japan.md")
            .says("search_notes"),
        call(
            "an edit of an old version",
            "edit_note",
            json!({ "path": "travel/japan.md", "text": "x", "if_match": "v0" }),
        )
        .stale("version_conflict")
        .says("if_match")
        .says("v0")
        .says("read_note"),
        declare("rejected", json!({ "outcome": "rejected", "code": "empty_query" }))
            .rejected("empty_query"),
        declare(
            "rejected with a level of its own",
            json!({ "outcome": "rejected", "code": "probing", "level": "debug" }),
        )
        .rejected("probing")
        .level("DEBUG"),
        declare(
            "rejected with an actor that cannot be",
            json!({ "outcome": "rejected", "code": "odd_actor", "actor": "operator" }),
        )
        .rejected("odd_actor"),
        declare("stale", json!({ "outcome": "stale", "code": "etag_changed" }))
            .stale("etag_changed"),
        declare(
            "a declared fault",
            json!({ "outcome": "fault", "code": "index_corrupt", "message": "The index is damaged." }),
        )
        .fault("index_corrupt")
        .says("The index is damaged."),
        declare(
            "a declared fault with a level of its own",
            json!({ "outcome": "fault", "code": "disk_nearly_full", "level": "warn" }),
        )
        .fault("disk_nearly_full")
        .level("WARN"),
        declare(
            "a declared fault that heals itself",
            json!({ "outcome": "fault", "code": "index_rebuild", "actor": "time", "retry_after": 7 }),
        )
        .heals("index_rebuild")
        .says("7")
        .holds("/_meta/tower-outcome~1failure/retry_after_seconds", json!(7)),
        declare(
            "a declared fault for the user",
            json!({ "outcome": "fault", "code": "not_connected", "actor": "user" }),
        )
        .fails("fault", "not_connected", "INFO", Some("user"), Some("never"))
        .holds("/_meta/tower-outcome~1failure/user_action_required", json!(true)),
        declare("an outcome that is none", json!({ "outcome": "exploded", "code": "x" }))
            .rejected("unknown_outcome")
            .says("exploded")
            .says("stale"),
        call("a timeout", "fail_timeout", json!({})).heals("timeout").hides("note store"),
        call("a rate limit", "fail_rate_limited", json!({}))
            .heals("rate_limited")
            .hides("note store"),
    ]
}

fn undeclared_failures() -> Vec<Row> {
    vec![
        call("an unknown error", "fail_unknown", json!({ "text": "SECRET-unknown" }))
            .fault("internal_error")
            .logs_only("SECRET-unknown"),
        call("rmcp's internal error", "fail_internal", json!({ "text": "SECRET-internal" }))
            .fault("internal_error")
            .logs_only("SECRET-internal"),
        call("an undeclared isError", "fail_is_error", json!({ "text": "it did not work" }))
            .undeclared()
            .says("it did not work"),
        call("a big undeclared isError", "big", json!({ "bytes": 300_000, "is_error": true }))
            .undeclared()
            .says(long_text()),
        call(
            "a structured payload that says it failed",
            "fail_payload",
            json!({ "payload": { "status": "failed" }, "as": "structured" }),
        )
        .soft_error()
        .holds("/structuredContent", json!({ "status": "failed" })),
        call(
            "a text payload that says it failed",
            "fail_payload",
            json!({ "payload": { "ok": false }, "as": "text" }),
        )
        .soft_error()
        .says(r#"{"ok":false}"#),
        call("progress, then an error", "progress", json!({ "n": 2, "then": "error" }))
            .after_progress(2)
            .fault("internal_error")
            .logs_only("error after progress"),
    ]
}

fn protocol_errors() -> Vec<Row> {
    let raise = |name, code: i64, secret: &str| {
        let data = json!({ "why": secret });
        call(name, "fail_protocol", json!({ "code": code, "message": secret, "data": data }))
    };
    let listed = [
        ("parse error", -32700, "parse_error"),
        ("invalid request", -32600, "invalid_request"),
        ("method not found", -32601, "method_not_found"),
        ("invalid params", -32602, "invalid_params"),
        ("resource not found", -32002, "resource_not_found"),
        ("header mismatch", -32020, "header_mismatch"),
        ("missing capability", -32021, "missing_capability"),
        ("unsupported version", -32022, "unsupported_version"),
    ];
    let hidden = [
        ("JSON-RPC internal error", -32603, "SECRET-32603"),
        ("server error -32000", -32000, "SECRET-32000"),
        ("server error -32050", -32050, "SECRET-32050"),
        ("server error -32099", -32099, "SECRET-32099"),
    ];
    let mut rows = Vec::new();
    for (name, code, known_as) in listed {
        let row = raise(name, code, "as it is").protocol_error(code, known_as);
        rows.push(row.says("as it is").holds("/data", json!({ "why": "as it is" })));
    }
    for (name, code, secret) in hidden {
        rows.push(raise(name, code, secret).fault("internal_error").logs_only(secret));
    }
    let elicitation = json!({ "elicitations": [{ "url": "https://example.org/consent" }] });
    let mut asks = call(
        "a request for input",
        "fail_protocol",
        json!({ "code": -32042, "message": "go there", "data": elicitation }),
    )
    .wire(Wire::Error(-32042))
    .holds("/data", elicitation);
    asks.ends.outcome = "input_required";
    rows.push(asks);
    rows.push(
        raise("a code of the author's own", 1234, "mine")
            .undeclared()
            .wire(Wire::Error(1234))
            .says("mine"),
    );
    rows
}

fn panics() -> Vec<Row> {
    let panic = |name, when: &str, secret| {
        let arguments = json!({ "when": when, "text": secret });
        call(name, "panic", arguments).fault("panic").hides(secret)
    };
    vec![
        panic("a panic before the future", "sync", "SECRET-sync"),
        panic("a panic in the first poll", "first_poll", "SECRET-first"),
        panic("a panic after an await", "after_await", "SECRET-after"),
        panic("a panic with a lock held", "locked", "SECRET-locked"),
        panic("a panic because of the poisoned lock", "locked", "SECRET-again"),
        panic("a panic in a spawned task", "spawned", "SECRET-spawned"),
        panic("a payload that panics in its drop", "payload_drop", "SECRET-payload"),
        panic("a local that panics when it is cut short", "local_drop", "SECRET-local")
            .heals("timeout"),
        call("progress, then a panic", "progress", json!({ "n": 1, "then": "panic" }))
            .after_progress(1)
            .fault("panic")
            .hides("panic after progress"),
    ]
}

fn what_rmcp_refuses() -> Vec<Row> {
    vec![
        call("an unknown tool", "no_such_tool", json!({})).protocol_error(-32602, "unknown_tool"),
        call("arguments of the wrong type", "read_note", json!({ "path": 5 }))
            .rejected("invalid_arguments"),
        call("arguments that are missing", "edit_note", json!({ "path": "a" }))
            .rejected("invalid_arguments"),
        call("arguments that are no object", "ok", json!("x"))
            .protocol_error(-32601, "invalid_params"),
    ]
}

fn beside_tools() -> Vec<Row> {
    const SECRET: &str = "secret-of-misbehave";
    let prompt = |name, how: &str| {
        let params = json!({ "name": "misbehave", "arguments": { "how": how } });
        request(name, "prompts/get", params)
    };
    let resource = |name, uri: &str| request(name, "resources/read", json!({ "uri": uri }));
    vec![
        request("tools/list", "tools/list", json!({})),
        request("prompts/list", "prompts/list", json!({})),
        request("resources/list", "resources/list", json!({})),
        prompt("a prompt", "ok"),
        prompt("a prompt that panics", "panic").fault("panic").hides(SECRET),
        prompt("a prompt that fails", "error").fault("internal_error").logs_only(SECRET),
        prompt("a prompt that rejects", "rejected").rejected("asked_to_reject").says("how"),
        resource("a resource", "test://ok"),
        resource("a resource that panics", "test://panic").fault("panic").hides(SECRET),
        resource("a resource that fails", "test://error").fault("internal_error").logs_only(SECRET),
        resource("a resource that is not there", "test://nowhere")
            .protocol_error(-32002, "resource_not_found"),
        request("a custom request", "misbehave/ok", json!({})),
        request("a custom request that panics", "misbehave/panic", json!({}))
            .fault("panic")
            .hides(SECRET),
        request("a custom request that fails", "misbehave/error", json!({}))
            .fault("internal_error")
            .logs_only(SECRET),
        request("a method that is not there", "no/such", json!({}))
            .protocol_error(-32601, "method_not_found"),
    ]
}
