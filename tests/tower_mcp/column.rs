//! The second column: what comes out otherwise than over rmcp, and why.

use serde_json::{Value, json};

use crate::{
    row::{Row, Wire},
    rows,
    support::{Layers, Transport},
};

/// A difference: the rows that have it, the reason, and what becomes of them.
struct Difference {
    has: fn(&Row) -> bool,
    reason: &'static str,
    makes: fn(Row) -> Row,
}

const NONE: &[Difference] = &[];

/// Whichever layers there are.
const ALWAYS: &[Difference] = &[
    Difference {
        has: |row| ["fail_internal", "fail_protocol"].contains(&tool(row)),
        reason: "tower-mcp makes an isError text of a handler's Err before any layer sees it, data \
                 included; what a ToolError says instead, it says through `answering`",
        makes: told,
    },
    Difference {
        has: |row| row.name == "arguments that are no object",
        reason: "tower-mcp takes them for the arguments of a call, and the tool answers with its \
                 own words for arguments that do not fit",
        makes: |row| row.wire(Wire::ToolError).says("Invalid input: "),
    },
    Difference {
        has: |row| row.name == "a resource that is not there",
        reason: "tower-mcp says so with the code of 2026-07-28 in every revision, which is that of \
                 invalid parameters",
        makes: |row| row.protocol_error(-32602, "invalid_params"),
    },
];

/// Where the layers stand round the HTTP service alone.
const ROUND_HTTP: &[Difference] = &[Difference {
    has: |row| row.name == "a local that panics when it is cut short",
    reason: "it panics while the timeout's error is on its way out, and a panic is all that \
                 comes out of tower-mcp",
    makes: |row| row.fault("panic"),
}];

/// The same where each call has a stream of its own.
const ON_ITS_OWN_STREAM: &[Difference] = &[Difference {
    has: |row| row.name == "progress, then a panic",
    reason: "tower-mcp sends on the progress of a call once it has polled the tool, and a panic takes \
             along what has not gone out",
    makes: |row| Row { progress: 0, ..row },
}];

/// The same over a WebSocket.
const OVER_A_WEB_SOCKET: &[Difference] = &[Difference {
    has: |row| row.progress > 0,
    reason: "tower-mcp sends no notifications there",
    makes: |row| Row { progress: 0, ..row },
}];

/// The table, as it comes out over this transport and with these layers.
pub(crate) fn rows(transport: Transport, layers: Layers) -> Vec<Row> {
    let (round_http, of_transport) = match (layers, transport) {
        (_, Transport::WebSocket) => (NONE, OVER_A_WEB_SOCKET),
        (Layers::Http, Transport::Http2026 | Transport::Json2026) => {
            (ROUND_HTTP, ON_ITS_OWN_STREAM)
        }
        (Layers::Http, _) => (ROUND_HTTP, NONE),
        _ => (NONE, NONE),
    };
    let mut rows: Vec<Row> = rows::all();
    rows.extend(rows::all().into_iter().filter(|row| tool(row) == "fail_protocol").map(refused));
    for difference in ALWAYS.iter().chain(round_http).chain(of_transport) {
        assert!(rows.iter().any(difference.has), "no row has it: {}", difference.reason);
        rows = rows.into_iter().map(|row| difference.apply(row)).collect();
    }
    rows
}

impl Difference {
    fn apply(&self, row: Row) -> Row {
        if (self.has)(&row) { (self.makes)(row) } else { row }
    }
}

fn tool(row: &Row) -> &str {
    let is_call = row.method == "tools/call";
    row.params["name"].as_str().filter(|_| is_call).unwrap_or_default()
}

/// What a handler's own error becomes. It is no secret any more.
fn told(mut row: Row) -> Row {
    let arguments = &mut row.params["arguments"];
    for argument in ["text", "message"] {
        if let Some(text @ Value::String(_)) = arguments.get_mut(argument) {
            *text = json!("for all to read");
        }
    }
    if let Some(data @ Value::Object(_)) = arguments.get_mut("data") {
        *data = json!({ "why": "with all of it" });
        row = row.says("with all of it");
    }
    row.holds.clear();
    row.says.retain(|text| *text == "with all of it");
    row.secret = None;
    row.cause_is_logged = false;
    row.undeclared().says("for all to read")
}

/// The same error as the answer of a layer round the router, which comes out as it does over rmcp.
fn refused(mut row: Row) -> Row {
    row.params["name"] = json!("refuse");
    row
}
