//! Notifications of tasks that have failed with what no client may read, as JSON that not everybody
//! reads alike, or as none at all.
#![allow(dead_code, reason = "two test binaries use a part each")]

use bytes::Bytes;

use crate::bench::{Carrier, Form, SECRET, failed, fresh_id};

pub(crate) struct Notice {
    pub(crate) what: &'static str,
    pub(crate) id: String,
    /// The event.
    pub(crate) text: Bytes,
}

/// All that can be read to their end, in all ways, each about a task of its own.
pub(crate) fn all() -> Vec<(Notice, Carrier)> {
    in_all_ways(notices)
}

/// The same of those that cannot.
pub(crate) fn broken() -> Vec<(Notice, Carrier)> {
    in_all_ways(broken_notices)
}

fn in_all_ways(notices: fn() -> Vec<Notice>) -> Vec<(Notice, Carrier)> {
    let all = Carrier::SSE.map(|carrier| notices().into_iter().map(move |it| (it, carrier)));
    all.into_iter().flatten().collect()
}

/// The message about a task with more members, with more members before and after.
fn told(before: &str, id: &str, more: &str, after: &str) -> Vec<u8> {
    let error = format!(r#""error":{{"code":-32603,"message":"{SECRET}"}}"#);
    let method = r#""method":"notifications/tasks""#;
    let params = format!(r#""params":{{"taskId":"{id}","status":"failed",{more}{error}}}"#);
    format!(r#"{{"jsonrpc":"2.0",{before}{method},{params}{after}}}"#).into_bytes()
}

fn notice(what: &'static str, message: impl Fn(&str) -> Vec<u8>) -> Notice {
    let id = fresh_id();
    let text = [b"event: message\ndata: ".to_vec(), message(&id), b"\n\n".to_vec()].concat();
    Notice { what, id, text: text.into() }
}

/// Python writes such numbers, and reads them.
fn broken_notices() -> Vec<Notice> {
    vec![
        notice("a number that is none", |id| told("", id, r#""progress":NaN,"#, "")),
        notice("a number that is none, behind", |id| told("", id, "", r#","x":Infinity"#)),
        notice("a number that is none, in the error", |id| {
            let text = String::from_utf8(told("", id, "", "")).unwrap();
            text.replace("\"}}}", r#"","data":NaN}}}"#).into_bytes()
        }),
        notice("it does not end", |id| {
            let mut text = told("", id, "", "");
            text.truncate(text.len() - 2);
            text
        }),
    ]
}

fn notices() -> Vec<Notice> {
    vec![
        notice("as usual", |id| Form::Extension.notification(&failed(id)).into_bytes()),
        notice("a number that is none, further in", |id| {
            told("", id, r#""_meta":{"x":[NaN]},"#, "")
        }),
        notice("a text that is none", |id| {
            let mut text = told("", id, r#""x":"??","#, "");
            let at = text.windows(2).position(|it| it == b"??").unwrap();
            text[at..at + 2].copy_from_slice(&[0xff, 0xfe]);
            text
        }),
        notice("parameters twice, the first ones none", |id| told(r#""params":7,"#, id, "", "")),
        notice("parameters twice, the first ones empty", |id| told(r#""params":{},"#, id, "", "")),
        notice("the method at the end", |id| {
            let params = failed(id);
            let method = r#""method":"notifications/tasks""#;
            format!(r#"{{"jsonrpc":"2.0","params":{params},{method}}}"#).into_bytes()
        }),
        notice("the method is escaped", |id| {
            let params = failed(id);
            let method = r#""method":"notifications\/t\u0061sks""#;
            format!(r#"{{"jsonrpc":"2.0",{method},"params":{params}}}"#).into_bytes()
        }),
        notice("names of members are escaped", |id| {
            let text = String::from_utf8(told("", id, "", "")).unwrap();
            text.replace("params", r"p\u0061rams").replace("error", r"\u0065rror").into_bytes()
        }),
        notice("a result beside it", |id| told(r#""id":99,"result":{},"#, id, "", "")),
    ]
}
