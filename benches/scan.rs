//! What scanning an answer costs, beside what `serde_json` takes to skip it.
//!
//! Both run interleaved in one process, on the same bytes; the medians' ratio is what counts. At
//! 200 bytes `serde_json` fills a small struct, and the scanner is made anew for each answer; at
//! 64 KiB and 1 MiB `serde_json` skips all of it. Where members are on, the scanner looks for those
//! by which soft errors are known. `cargo bench --bench scan`.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

#[path = "../src/binding/http/scan/mod.rs"]
mod scan;

use std::{hint::black_box, sync::Arc, time::Instant};

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use self::scan::{Config, EventScanner, Members, Scanner, Seen};

const ROUNDS: usize = 101;
/// About what four rounds of one arm read.
const ROUND_BYTES: usize = 2 << 20;
/// As hyper reads a body.
const FRAME: usize = 16 << 10;

/// The facts without which no layer can judge an answer.
#[derive(serde::Deserialize)]
struct Message<'a> {
    id: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
    result: Option<CallResult>,
    #[serde(borrow)]
    error: Option<Error<'a>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    is_error: Option<bool>,
    #[serde(rename = "_meta")]
    meta: Option<IgnoredAny>,
}

#[derive(serde::Deserialize)]
struct Error<'a> {
    code: i64,
    message: &'a str,
}

/// What a classifier asks for that was not told anything.
fn members() -> Arc<Members> {
    let tops = ["status", "state", "ok", "success", "error", "message", "detail", "reason"];
    let texts = &tops[4..];
    let below = texts.iter().flat_map(|top| texts.iter().map(move |key| format!("{top}.{key}")));
    let below: Vec<String> = below.collect();
    Arc::new(Members::new(tops.into_iter().chain(below.iter().map(String::as_str))))
}

fn answer(text: &str) -> Vec<u8> {
    let content = json!([{"type": "text", "text": text}]);
    serde_json::to_vec(
        &json!({"jsonrpc": "2.0", "id": 7, "result": {"content": content, "isError": false}}),
    )
    .unwrap()
}

fn repeat(text: &str, bytes: usize) -> String {
    text.chars().cycle().take(bytes).collect()
}

fn rows(bytes: usize) -> Vec<u8> {
    let row = |id: usize| json!({"id": id, "name": format!("n{id}"), "score": id as f64 * 0.37, "ok": id.is_multiple_of(2), "tags": ["a", "b"]});
    let rows: Vec<Value> = (0..bytes / 66).map(row).collect();
    let result = json!({"content": [], "structuredContent": {"rows": rows}, "isError": false});
    serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": 7, "result": result})).unwrap()
}

/// An answer with only `structuredContent`.
fn structured(value: Value) -> Vec<u8> {
    let result = json!({"content": [], "structuredContent": value, "isError": false});
    serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": 7, "result": result})).unwrap()
}

/// Members of which none is asked for, but each of whose keys has to be looked at: short ones, and
/// some as long as a sentence.
fn flat(bytes: usize, value: &Value) -> Vec<u8> {
    let member = 9 + value.to_string().len();
    let members = (0..bytes / member).map(|id| (format!("k{id:04}"), value.clone()));
    structured(members.collect())
}

fn kinds(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let inner = |text: &str| repeat(text, bytes);
    let object = r#"{"id":12,"name":"ab","ok":true,"path":"C:\\x"},"#;
    let escaped = object.replace('\\', "\\\\").replace('"', "\\\"");
    vec![
        (
            "prose",
            answer(&inner(
                "The quick brown fox jumps over the lazy dog and runs through the forest. ",
            )),
        ),
        (
            "prose, newlines",
            answer(&inner("A line of about sixty characters, as prose wraps in a file.\n")),
        ),
        (
            "prose, quotes",
            answer(&inner(
                "He said \"no\", and she, who had heard him say that before, said \"fine\".\n",
            )),
        ),
        (
            "code",
            answer(&inner(
                "    if let Some(x) = self.map.get(\"key\") {\n        println!(\"{}\\n\", x);\n    }\n",
            )),
        ),
        ("base64", answer(&inner("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODkr"))),
        ("rows", rows(bytes)),
        ("JSON in a string", answer(&inner(object))),
        ("twice in a string", answer(&inner(&escaped))),
        ("all \\n", answer(&"\n".repeat(bytes / 2))),
        ("all \\\"", answer(&"\"".repeat(bytes / 2))),
        ("all \\\\", answer(&"\\".repeat(bytes / 2))),
        ("all \\u0001", answer(&"\u{1}".repeat(bytes / 6))),
        ("umlauts", answer(&inner("Ä heißer Brüller — größtenteils ünïcode. "))),
        ("member, not asked", structured(json!({"body": inner("A line of prose.\n"), "ok": true}))),
        ("member, asked", structured(json!({"message": inner("A line of prose.\n"), "ok": true}))),
        ("member, code", structured(json!({"error": {"x": inner(object)}, "ok": true}))),
        ("flat, sentences", flat(bytes, &json!("A sentence of some length that nobody asks for."))),
        ("flat, numbers", flat(bytes, &json!(12.5))),
    ]
}

fn scan(body: &[u8], frame: usize, config: Config) -> Scanner {
    let mut scanner = Scanner::new(config);
    for frame in body.chunks(frame) {
        let mut rest = frame;
        while !rest.is_empty() {
            let (read, _) = scanner.push(rest);
            rest = &rest[read..];
        }
    }
    assert!(scanner.facts().end.is_some());
    scanner
}

fn scan_events(body: &[u8]) -> EventScanner {
    let mut scanner = EventScanner::new(Config::answers());
    for frame in body.chunks(FRAME) {
        let mut rest = frame;
        while !rest.is_empty() {
            let (read, _) = scanner.push(rest);
            rest = &rest[read..];
        }
    }
    assert!(scanner.facts().end.is_some());
    scanner
}

fn time(times: usize, mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        run();
    }
    start.elapsed().as_secs_f64() * 1e9 / times as f64
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Runs all arms in each round. The first arm's median, in nanoseconds, then of each other arm the
/// median of its rounds' ratios to the first.
fn measure(arms: &mut [&mut dyn FnMut()], times: usize) -> (f64, Vec<f64>) {
    let mut firsts = Vec::new();
    let mut ratios = vec![Vec::new(); arms.len() - 1];
    for _ in 0..ROUNDS {
        let round: Vec<f64> = arms.iter_mut().map(|arm| time(times, &mut **arm)).collect();
        firsts.push(round[0]);
        for (ratios, ns) in ratios.iter_mut().zip(&round[1..]) {
            ratios.push(ns / round[0]);
        }
    }
    (median(firsts), ratios.into_iter().map(median).collect())
}

fn small() {
    println!("200 bytes: serde_json into a small struct / a new scanner");
    println!(
        "{:<20} {:>6} {:>9} {:>13} {:>9}",
        "kind", "bytes", "serde ns", "ours / serde", "members"
    );
    let texts = [
        ("success", answer("The note was saved. Version b2. It is at inbox/todo.md and is linked from two others now, as asked.")),
        ("quotes, newlines", answer("Saved \"inbox/todo.md\".\nLinked from:\n- \"plans.md\"\n- \"garden.md\"\nVersion \"b2\" is now current.")),
        ("rmcp's order", br#"{"jsonrpc":"2.0","id":12345,"result":{"resultType":"complete","content":[{"type":"text","text":"The note was saved. It is at inbox/todo.md."}],"structuredContent":{"version":"b2","ok":true},"isError":false}}"#.to_vec()),
        ("soft error", br#"{"jsonrpc":"2.0","id":12345,"result":{"resultType":"complete","content":[],"structuredContent":{"status":"failed","error":{"code":17,"message":"No such table: notes"},"took_ms":12},"isError":false}}"#.to_vec()),
        ("error", br#"{"jsonrpc":"2.0","id":"0c7d3d40-1b1d-4d43","error":{"code":-32602,"message":"The parameters are not those of the tool, see the schema, and send the call again","data":{"field":"path","at":17}}}"#.to_vec()),
    ];
    let members = members();
    for (kind, body) in &texts {
        let mut theirs = || {
            black_box(serde_json::from_slice::<Message<'_>>(black_box(body)).unwrap());
        };
        let mut ours = || {
            black_box(scan(black_box(body), usize::MAX, Config::answers()));
        };
        let mut asked = || {
            let config = Config::answers().members(Arc::clone(&members));
            black_box(scan(black_box(body), usize::MAX, config));
        };
        let mut arms: [&mut dyn FnMut(); 3] = [&mut theirs, &mut ours, &mut asked];
        let (ns, ratios) = measure(&mut arms, ROUND_BYTES / 8 / body.len());
        println!("{kind:<20} {:>6} {ns:>9.0} {:>13.2} {:>9.2}", body.len(), ratios[0], ratios[1]);
    }
}

fn large(bytes: usize) {
    println!("\n{} KiB: ours / serde_json skipping it", bytes >> 10);
    println!(
        "{:<20} {:>10} {:>8} {:>12} {:>14} {:>9} {:>10}",
        "kind", "serde GB/s", "whole", "16 KiB frames", "server-sent", "members", "in frames"
    );
    let asked = Config::answers().members(members());
    for (kind, body) in kinds(bytes) {
        let event = [b"event: message\ndata: ".as_slice(), &body, b"\n\n"].concat();
        let mut theirs = || {
            black_box(serde_json::from_slice::<IgnoredAny>(black_box(&body)).unwrap());
        };
        let mut ours = || {
            black_box(scan(black_box(&body), usize::MAX, Config::answers()));
        };
        let mut frames = || {
            black_box(scan(black_box(&body), FRAME, Config::answers()));
        };
        let mut members = || {
            black_box(scan(black_box(&body), usize::MAX, asked.clone()));
        };
        let mut member_frames = || {
            black_box(scan(black_box(&body), FRAME, asked.clone()));
        };
        let mut events = || {
            black_box(scan_events(black_box(&event)));
        };
        let mut arms: [&mut dyn FnMut(); 6] =
            [&mut theirs, &mut ours, &mut frames, &mut events, &mut members, &mut member_frames];
        let (ns, ratios) = measure(&mut arms, (ROUND_BYTES / 4 / body.len()).max(1));
        let speed = body.len() as f64 / ns;
        println!(
            "{kind:<20} {speed:>10.2} {:>8.3} {:>13.3} {:>14.3} {:>9.3} {:>10.3}",
            ratios[0], ratios[1], ratios[2], ratios[3], ratios[4]
        );
    }
}

fn main() {
    small();
    large(64 << 10);
    large(1 << 20);
}
