//! Questions for a task that has failed with what no client may read, and answers to them, in every
//! form that a layer which has not read the request, or cannot, might take for something else.
#![allow(dead_code, reason = "two test binaries use a part each")]

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use tower::{Layer, Service};

use crate::{
    bench::{Carrier, Form, SECRET, ask, failed, fresh_id, question, result, state},
    kit::{
        Fake, Got, Script, call_text, data, error as error_of, event, fake, post, send, success,
    },
};

pub(crate) struct Row {
    pub(crate) what: &'static str,
    request: Asked,
    /// The messages of the answer.
    answers: Vec<String>,
    is_batch: bool,
    /// What of them must arrive as it was.
    unharmed: Option<String>,
    /// Whether what it must not say is where anybody would look for it.
    pub(crate) is_message: bool,
}

enum Asked {
    Text(String),
    InFrames(String),
}

/// Bytes of a request that the layers of these rows read.
pub(crate) const MAX_REQUEST_BYTES: usize = 1024;

impl Row {
    fn new(what: &'static str, text: impl Into<String>, answer: impl Into<String>) -> Self {
        let request = Asked::Text(text.into());
        let answers = vec![answer.into()];
        Self { what, request, answers, is_batch: false, unharmed: None, is_message: true }
    }

    fn request(&self) -> Request<Script> {
        let (parts, ()) = post("").map(|_: Full<Bytes>| ()).into_parts();
        let mut request = Request::from_parts(parts, Script::default());
        *request.body_mut() = match &self.request {
            Asked::Text(text) => Script::whole(text.clone()),
            Asked::InFrames(text) => {
                Script::of(text.as_bytes().chunks(512).map(|frame| data(frame.to_vec())))
            }
        };
        request
    }

    /// Whether HTTP can carry it so: JSON has room for one message.
    fn suits(&self, carrier: Carrier) -> bool {
        carrier.is_sse || self.is_batch || self.answers.len() == 1
    }

    /// What a client gets through this layer.
    pub(crate) async fn got<L, B>(&self, layer: &L, carrier: Carrier) -> Got
    where
        L: Layer<Fake>,
        L::Service: Service<Request<Script>, Response = Response<B>, Error: std::fmt::Debug>,
        B: http_body::Body<Data = Bytes, Error: std::fmt::Display>,
    {
        send(layer.layer(self.server(carrier)), self.request()).await
    }

    /// The same without any layer.
    pub(crate) async fn got_bare(&self, carrier: Carrier) -> Got {
        send(self.server(carrier), self.request()).await
    }

    fn server(&self, carrier: Carrier) -> Fake {
        let (answers, is_batch) = (self.answers.clone(), self.is_batch);
        fake(move |_| {
            let answers = answers.clone();
            async move {
                // No layer finds the answer ready at its first look.
                tokio::task::yield_now().await;
                Ok(answer(carrier, &answers, is_batch))
            }
        })
    }
}

/// The answer as it leaves the server.
fn answer(carrier: Carrier, messages: &[String], is_batch: bool) -> Response<Script> {
    match messages {
        _ if carrier.is_sse => {
            carrier.respond(messages.iter().map(|it| event(it)).collect::<String>())
        }
        [message] if !is_batch => carrier.respond(message.clone()),
        messages => carrier.respond(format!("[{}]", messages.join(","))),
    }
}

/// What of an answer may be wrong: nothing of the secret goes out, nothing breaks, and what is said
/// is to the request.
pub(crate) fn wrong_with(row: &Row, carrier: Carrier, got: &Got) -> Option<String> {
    let heads = format!("{:?}", got.headers);
    let text = got.text();
    let what = match () {
        () if text.contains(SECRET) || heads.contains(SECRET) => "the secret is out",
        () if got.status != 200 || got.error.is_some() => "it broke",
        () if row.unharmed.as_ref().is_some_and(|it| !text.contains(&**it)) => "harmed",
        () if !got.messages().iter().any(|it| it["id"] == 9) => "no answer",
        () => return None,
    };
    Some(format!("{}, {carrier:?}: {what}: {text}", row.what))
}

/// All of them in all ways, each about a task of its own.
pub(crate) fn all() -> Vec<(Row, Carrier)> {
    let mut rows = Vec::new();
    for carrier in Carrier::ALL {
        let all = odd_requests().into_iter().chain(odd_answers()).chain(several());
        rows.extend(all.filter(|row| row.suits(carrier)).map(|row| (row, carrier)));
    }
    rows
}

/// Questions that are not read, or not as what they are.
fn odd_requests() -> Vec<Row> {
    let text = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{params}}}"#)
    };
    let answer = |id: &str| result(&json!(9), &failed(id));
    let row = |what, method: &str, params: &str| {
        let id = fresh_id();
        Row::new(what, text(method, &params.replace("ID", &id)), answer(&id))
    };
    let padded = |order: [&str; 2]| {
        let (id, pad) = (fresh_id(), "x".repeat(5000));
        let params = format!(r#""params":{{"pad":"{pad}","taskId":"{id}"}}"#);
        let parts = order.map(|part| match part {
            "params" => params.clone(),
            part => format!(r#""id":9,"method":"{part}""#),
        });
        (format!(r#"{{"jsonrpc":"2.0",{}}}"#, parts.join(",")), answer(&id))
    };
    let mut rows = vec![
        row("as usual", "tasks/get", r#"{"taskId":"ID"}"#),
        row("a letter of the method is escaped", r"t\u0061sks/get", r#"{"taskId":"ID"}"#),
        row("the slash is escaped", r"tasks\/get", r#"{"taskId":"ID"}"#),
        row("all of it is", r"\u0074\u0061\u0073\u006b\u0073/get", r#"{"taskId":"ID"}"#),
        row("the id of the task is a number", "tasks/get", r#"{"taskId":7}"#),
        row("it is an object", "tasks/get", r#"{"taskId":{"taskId":"ID"}}"#),
        row("it is null", "tasks/get", r#"{"taskId":null}"#),
        row("there is none", "tasks/get", "{}"),
        row("the parameters are a list", "tasks/get", r#"["ID"]"#),
        Row::new(
            "a member's name is escaped",
            r#"{"json\u0072pc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"a"}}"#,
            answer(&fresh_id()),
        ),
    ];
    for order in [["tasks/get", "params"], ["params", "tasks/get"]] {
        let (text, answer) = padded(order);
        rows.push(Row::new("longer than is read", text, answer));
        let (text, answer) = padded(order);
        let mut row = Row::new("longer than is read, in frames", "", answer);
        row.request = Asked::InFrames(text);
        rows.push(row);
    }
    rows
}

/// Answers that are no tasks as they ought to be, or of the other form.
fn odd_answers() -> Vec<Row> {
    let error = json!({ "code": -32603, "message": SECRET });
    let id = fresh_id;
    [
        ("no status", json!({ "taskId": id(), "error": error })),
        ("no id", json!({ "status": "failed", "error": error })),
        ("a status that is a number", json!({ "taskId": id(), "status": 5, "error": error })),
        ("a status of its own", json!({ "taskId": id(), "status": "stuck", "error": error })),
        (
            "it says that it asks for input",
            json!({
                "resultType": "input_required",
                "taskId": id(),
                "status": "failed",
                "error": error,
            }),
        ),
        (
            "a fine result beside the error",
            json!({
                "taskId": id(),
                "status": "failed",
                "result": { "content": [] },
                "error": error,
            }),
        ),
        ("a flag beside the error", json!({ "taskId": id(), "isError": true, "error": error })),
        ("an error that is a text", json!({ "taskId": id(), "status": "failed", "error": SECRET })),
        (
            "the error far behind",
            json!({
                "taskId": id(),
                "status": "failed",
                "createdAt": "x".repeat(2000),
                "error": error,
            }),
        ),
    ]
    .into_iter()
    .map(|(what, task)| {
        let id = task["taskId"].as_str().map_or_else(fresh_id, str::to_owned);
        let asked = question(9, "tasks/get", &json!({ "taskId": id }));
        let is_message = task["error"].is_object();
        Row { is_message, ..Row::new(what, asked, result(&json!(9), &task)) }
    })
    .chain([
        Row::new(
            "what a call would have been answered with",
            question(9, "tasks/result", &json!({ "taskId": id() })),
            error_of(&json!(9), -32603, SECRET),
        ),
        Row::new(
            "the result before the id",
            question(9, "tasks/get", &json!({ "taskId": id() })),
            format!(r#"{{"result":{},"id":9,"jsonrpc":"2.0"}}"#, failed(&id())),
        ),
    ])
    .collect()
}

/// Answers that are no JSON to everybody: Python writes such numbers, and reads them.
pub(crate) fn broken() -> Vec<(Row, Carrier)> {
    let rows = |carrier| {
        [r#""progress":NaN"#, r#""_meta":{"progress":NaN}"#].map(|number| {
            let id = fresh_id();
            let answer = result(&json!(9), &failed(&id));
            let answer = answer.replace(r#""status":"#, &format!(r#"{number},"status":"#));
            let asked = question(9, "tasks/get", &json!({ "taskId": id }));
            (Row::new("a number that is none", asked, answer), carrier)
        })
    };
    Carrier::ALL.into_iter().flat_map(rows).collect()
}

/// More than one answer.
fn several() -> Vec<Row> {
    let row = |what, is_batch, answers: &dyn Fn(String, String, String) -> Vec<String>| {
        let id = fresh_id();
        let of_task = result(&json!(9), &failed(&id));
        let notification = Form::Extension.notification(&failed(&id));
        let fine = success(&json!(8));
        let asked = question(9, "tasks/get", &json!({ "taskId": id }));
        let text = if is_batch { format!("[{},{asked}]", call_text(8, "ok")) } else { asked };
        let unharmed = is_batch.then(|| fine.clone());
        let answers = answers(of_task, notification, fine);
        Row { answers, is_batch, unharmed, ..Row::new(what, text, "") }
    };
    vec![
        row("the second of a batch", true, &|task, _, fine| vec![fine, task]),
        row("the first of a batch", true, &|task, _, fine| vec![task, fine]),
        row("a notification in a batch", true, &|task, told, fine| vec![told, fine, task]),
        row("the answer twice", false, &|task, _, _| vec![task.clone(), task]),
        row("a notification before the answer", false, &|task, told, _| vec![told, task]),
    ]
}

/// A task that goes on: nothing of it is to be changed.
pub(crate) fn harmless() -> Vec<(Request<Full<Bytes>>, Value)> {
    let id = fresh_id();
    ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list", "tools/call"]
        .into_iter()
        .map(|method| {
            let params = json!({ "taskId": id, "name": "ok", "arguments": {} });
            let status = if method == "tasks/cancel" { "cancelled" } else { "working" };
            let state = state(&id, status, json!({ "statusMessage": "on its way" }));
            (ask(9, method, &params), state)
        })
        .collect()
}

/// A test for each layer that holds what must not go out, by a macro that checks these rows with it.
macro_rules! in_every_layer {
    () => {
        #[tokio::test]
        async fn all_in_one_layer() {
            check!(OutcomeLayer::new().max_request_bytes(MAX_REQUEST_BYTES), rows::all());
        }

        #[tokio::test]
        async fn in_layers_of_their_own() {
            let log = LogLayer::new().max_request_bytes(MAX_REQUEST_BYTES);
            let layers = ServiceBuilder::new().layer(log).layer(ContainLayer::new());
            check!(layers.into_inner(), rows::all());
        }

        #[tokio::test]
        async fn by_a_layer_that_does_not_log() {
            check!(ContainLayer::new().max_request_bytes(MAX_REQUEST_BYTES), rows::all());
        }
    };
}
pub(crate) use in_every_layer;
