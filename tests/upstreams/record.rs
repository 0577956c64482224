//! Writes what the servers say into `tests/corpus/`.
//!
//! What an exchange means is kept where its file exists: only what is on the wire is written anew.

use std::fs;

use bytes::Bytes;
use http::{HeaderMap, Request};
use serde_json::json;

use crate::{
    cases::{self, Session},
    corpus::{self, Client, Ends, Expected},
    expect,
    upstream::{Kind, Mode, Unavailable, Upstream},
    wire::{self, Answer},
};

/// Records a server in all its modes and revisions.
pub(crate) async fn record(kind: Kind) -> Result<(), Unavailable> {
    for (mode, revision) in [
        (Mode::Stateful, "2025-11-25"),
        (Mode::Json, "2025-11-25"),
        (Mode::Stateful, "2025-03-26"),
        (Mode::Json, "2025-03-26"),
        (Mode::Stateful, "2026-07-28"),
    ] {
        let takes_batches = matches!(kind, Kind::TypeScript1 | Kind::TypeScript2);
        let makes_no_difference = match (mode, revision) {
            (_, "2026-07-28") => !kind.speaks_2026(),
            (Mode::Json, "2025-03-26") => !takes_batches,
            _ => false,
        };
        if makes_no_difference {
            continue;
        }
        let upstream = Upstream::start(kind, mode).await?;
        let session = Session::open(upstream.address(), revision).await;
        let name = |case: &str| match (mode, revision) {
            (_, "2026-07-28") => format!("{}/2026-07-28-{case}", kind.name()),
            (Mode::Json, _) => format!("{}/{revision}-json-{case}", kind.name()),
            _ => format!("{}/{revision}-{case}", kind.name()),
        };
        let all = cases::all(kind, mode, &session);
        // The one that ends the server is the last.
        let (exit, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|(case, _)| *case == "exit");
        for (case, request) in &all {
            one(&session, &name(case), request, None).await;
        }
        if mode == Mode::Stateful && revision == "2025-11-25" {
            resumed(kind, &session, &name).await;
            one(&session, &name("delete"), &cases::delete(&session), None).await;
            let session = Session::open(upstream.address(), revision).await;
            for (case, request) in exit.iter().filter(|_| kind != Kind::Rmcp) {
                let request = renewed(request, &session);
                one(&session, &name(case), &request, None).await;
            }
        }
    }
    Ok(())
}

/// The answer that comes in another exchange: because the server closes the stream of the first,
/// or, where it cannot, because the client leaves.
async fn resumed(kind: Kind, session: &Session, name: &impl Fn(&str) -> String) {
    if kind == Kind::TowerMcp {
        return;
    }
    let (tool, arguments) = match kind {
        Kind::Rmcp => ("slow", json!({ "ms": 400 })),
        _ => ("answer_later", json!({ "ms": 400 })),
    };
    let request = session.post(&session.tool(tool, arguments));
    let primed = |body: &[u8]| kind == Kind::Rmcp && !body.is_empty();
    let Some(answer) = wire::exchange(&session.address, &request, primed).await else { return };
    let first = name("answer-later");
    write(&first, &request, &answer, None, session);
    let text = answer.text();
    let last = text.lines().filter_map(|line| line.strip_prefix("id:")).next_back();
    let Some(last) = last else { return };
    let request = session.resume(last.trim());
    let complete = |body: &[u8]| {
        let text = String::from_utf8_lossy(body);
        let text = text.replace("\r\n", "\n");
        text.contains("\"result\"") && text.ends_with("\n\n")
    };
    if let Some(answer) = wire::exchange(&session.address, &request, complete).await {
        write(&name("answer-later-resumed"), &request, &answer, Some(&first), session);
    }
}

/// The same request in another session.
fn renewed(request: &Request<Bytes>, session: &Session) -> Request<Bytes> {
    let mut request = request.clone();
    if let Some(id) = &session.id {
        request.headers_mut().insert("mcp-session-id", id.parse().expect("ASCII"));
    }
    request
}

async fn one(session: &Session, name: &str, request: &Request<Bytes>, follows: Option<&str>) {
    match wire::exchange(&session.address, request, |_| false).await {
        Some(answer) => write(name, request, &answer, follows, session),
        None => eprintln!("{name}: no head"),
    }
}

fn write(
    name: &str,
    request: &Request<Bytes>,
    answer: &Answer,
    follows: Option<&str>,
    session: &Session,
) {
    let file = corpus::folder().join(format!("{name}.http"));
    let known = fs::read(&file).ok();
    let known = known.as_deref().and_then(|bytes| corpus::expected(bytes).ok());
    let expected = match known {
        Some((expected, _)) => Expected { ends: answer.ends, ..expected },
        None => Expected {
            follows: follows.map(str::to_owned),
            revision: Some(session.revision.to_owned()),
            ..expect::of(name, request, answer)
        },
    };
    let mut bytes = block(&expected).into_bytes();
    bytes.extend(format!("{} {} HTTP/1.1\n", request.method(), request.uri()).bytes());
    head(&mut bytes, request.headers());
    bytes.extend_from_slice(request.body());
    bytes.extend_from_slice(b"\n--- response\n");
    bytes.extend(format!("HTTP/1.1 {}\n", answer.response.status()).bytes());
    head(&mut bytes, answer.response.headers());
    bytes.extend_from_slice(answer.response.body());
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, bytes).expect("a file");
}

fn head(bytes: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
}

/// The lines that `corpus::expected` reads.
fn block(expected: &Expected) -> String {
    let known = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
    let mut block = String::new();
    for event in &expected.events {
        let (outcome, code, id) = (known(&event.outcome), known(&event.code), known(&event.id));
        block += &format!("# event: {} {outcome} {code} {} {id}\n", event.name, event.level);
    }
    block += match expected.client {
        Client::Unchanged => "# client: unchanged\n",
        Client::Replaced => "# client: replaced\n",
        Client::Appended => "# client: appended\n",
    };
    block += match expected.ends {
        Ends::Clean => "",
        Ends::Broken => "# ends: broken\n",
        Ends::Left => "# ends: left\n",
    };
    for pending in &expected.pending {
        block += &format!("# pending: {pending}\n");
    }
    for (key, value) in [("follows", &expected.follows), ("revision", &expected.revision)] {
        if let Some(value) = value {
            block += &format!("# {key}: {value}\n");
        }
    }
    for note in &expected.notes {
        block += &format!("# note: {note}\n");
    }
    block
}
