//! The same ten failing calls under different stacks: what the client got, and what the log said at
//! INFO and above, as a table in Markdown.
//!
//! ```text
//! cargo run --all-features --example side_by_side             # the table of the README
//! cargo run --all-features --example side_by_side -- --all    # and two stacks more
//! ```
//!
//! Every stack is a real server on a port of this machine, with sessions, and has a thread, a log
//! and a client of its own. What Rust's panic hook writes to stderr, whatever the stack, is left
//! out; and so is what differs from run to run: references, session ids, durations.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "an example that shows something, panics on demand, and indexes JSON values only"
)]

mod calls;
mod client;
mod log;
mod servers;
mod stacks;

use std::time::Duration;

use crate::{
    calls::{Call, calls},
    client::{Client, Heard},
    log::Line,
    stacks::{STACKS, Stack},
};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How much of what the client got is shown.
const HEARD_CHARS: usize = 60;
/// The stacks that the README shows.
const SHOWN: usize = 4;

fn main() -> Result<(), Error> {
    let shown = match std::env::args().nth(1).as_deref() {
        None => SHOWN,
        Some("--all") => STACKS.len(),
        Some(other) => {
            return Err(format!("unknown argument {other:?}: there is only --all").into());
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    let calls = calls();
    let stacks = || STACKS.iter().take(shown);
    let columns = stacks().map(|stack| run(stack, &calls)).collect::<Result<Vec<_>, _>>()?;

    let names = stacks().map(|stack| stack.name).collect::<Vec<_>>();
    println!("| a call that ends in | {} |", names.join(" | "));
    println!("|---{}|", "|---".repeat(shown));
    for (number, call) in calls.iter().enumerate() {
        let cells = columns.iter().filter_map(|column| column.get(number));
        let cells = cells.map(String::as_str).collect::<Vec<_>>();
        println!("| {} | {} |", call.what, cells.join(" | "));
    }
    Ok(())
}

/// One stack's column. All of it runs on this thread, and so all it logs is collected.
fn run(stack: &Stack, calls: &[Call]) -> Result<Vec<String>, Error> {
    let (log, _guard) = log::capture(stack.filter);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let service = (stack.service)();
        tokio::spawn(async move { axum::serve(listener, service).await });

        let client = Client::connect(url).await?;
        settle().await;
        let mut cells = Vec::new();
        for (id, call) in (1..).zip(calls) {
            log.take();
            let heard = client.call(id, call.tool, &call.arguments).await;
            settle().await;
            cells.push(cell(heard, &log.take()));
        }
        Ok(cells)
    })
}

/// Lets all tasks come to rest, so that a line written after the answer counts for its call.
async fn settle() {
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What the client got, and below it what the log said.
fn cell(Heard { kind, text }: Heard, lines: &[Line]) -> String {
    let heard = text.map_or(kind.clone(), |mut text| {
        for reference in lines.iter().filter_map(Line::reference) {
            text = text.replace(reference, "…");
        }
        code(&format!("{kind}: {}", cut(&text, HEARD_CHARS)))
    });
    let mut said = lines.iter().map(|line| code(&line.abridged())).collect::<Vec<_>>();
    if said.is_empty() {
        said.push("nothing".to_owned());
    }
    format!("{heard}<br>log: {}", said.join("<br>"))
}

/// A text in a cell of a table, where it means nothing but itself.
fn code(text: &str) -> String {
    let text = text.replace('`', "'").replace('|', "\\|");
    format!("`{}`", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// No more than that many characters.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
