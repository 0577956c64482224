//! The command line.

use std::{net::SocketAddr, time::Duration};

/// What `--help` prints, for a server made with this library.
pub(crate) fn help<M>(program: &str, library: &str, modes: &[(&str, M)]) -> String {
    let modes: Vec<_> = modes.iter().map(|(name, _)| *name).collect();
    let help = HELP.replace("MODES", &modes.join("|"));
    format!("{program}: an MCP server of {library} {help}")
}

const HELP: &str = "whose tools end in every way that a call can end

  --http ADDR                      serve /mcp on this address (default: stdio); port 0 takes a free
                                   one, and the log line \"listening\" says which
  --mode MODES
                                   how HTTP sessions and answers work (default: stateful)
  --layers none|typed|http|both    where tower-outcome is: nowhere, round the handler (the default),
                                   round the HTTP service, or round both
  --deadline MS                    answer a tool call that takes longer, where the layers are
  --panic-hook                     log where a panic happened, with a backtrace
  --help                           print this on stderr

Log lines are JSON on stderr; RUST_LOG sets their filter (default: info, so its library's own
lines are among them). Without --panic-hook the standard hook prints panics there too, as text.
";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args<M> {
    /// Where to listen for HTTP; `None` is stdio.
    pub(crate) http: Option<SocketAddr>,
    pub(crate) mode: M,
    pub(crate) layers: Layers,
    pub(crate) deadline: Option<Duration>,
    pub(crate) panic_hook: bool,
    pub(crate) help: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layers {
    None,
    Typed,
    /// Round the HTTP service.
    Http,
    Both,
}

impl Layers {
    pub(crate) fn round_handler(self) -> bool {
        matches!(self, Self::Typed | Self::Both)
    }

    pub(crate) fn round_http(self) -> bool {
        matches!(self, Self::Http | Self::Both)
    }
}

const LAYERS: &[(&str, Layers)] = &[
    ("none", Layers::None),
    ("typed", Layers::Typed),
    ("http", Layers::Http),
    ("both", Layers::Both),
];

impl<M: Copy> Args<M> {
    /// Reads the arguments after the program's name. An error is a sentence that says which flag,
    /// which value, and what to write instead. `mode` is the one where none is named.
    pub(crate) fn parse(
        words: impl IntoIterator<Item = String>,
        modes: &[(&str, M)],
        mode: M,
    ) -> Result<Self, String> {
        let mut args = Self {
            http: None,
            mode,
            layers: Layers::Typed,
            deadline: None,
            panic_hook: false,
            help: false,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (flag, inline) = split(&word);
            let mut value = || inline.clone().or_else(|| words.next());
            match flag {
                "--http" => args.http = Some(address(value())?),
                "--mode" => args.mode = one_of("--mode", modes, value())?,
                "--layers" => args.layers = one_of("--layers", LAYERS, value())?,
                "--deadline" => args.deadline = Some(milliseconds(value())?),
                "--panic-hook" => args.panic_hook = without_value(flag, inline)?,
                "--help" | "-h" => args.help = without_value(flag, inline)?,
                _ => {
                    return Err(format!(
                        "unknown argument '{flag}'; write one of --http, --mode, --layers, \
                         --deadline, --panic-hook, --help"
                    ));
                }
            }
        }
        match (args.http, args.layers) {
            (None, Layers::Http | Layers::Both) => {
                Err("--layers: there is no HTTP service without --http; write --http ADDR, or \
                 --layers typed"
                    .to_owned())
            }
            _ => Ok(args),
        }
    }
}

/// `--flag=value` in its two parts.
fn split(word: &str) -> (&str, Option<String>) {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
        _ => (word, None),
    }
}

fn address(value: Option<String>) -> Result<SocketAddr, String> {
    const FIX: &str = "write IP:PORT, such as 127.0.0.1:8080, or 127.0.0.1:0 for any free port";
    let value = value.ok_or_else(|| format!("--http needs an address; {FIX}"))?;
    value.parse().map_err(|_| format!("--http: '{value}' is not an address; {FIX}"))
}

fn milliseconds(value: Option<String>) -> Result<Duration, String> {
    const FIX: &str = "write whole milliseconds, such as 500";
    let value = value.ok_or_else(|| format!("--deadline needs a value; {FIX}"))?;
    let number = value.parse().map_err(|_| format!("--deadline: '{value}' is no number; {FIX}"))?;
    Ok(Duration::from_millis(number))
}

fn one_of<T: Copy>(flag: &str, known: &[(&str, T)], value: Option<String>) -> Result<T, String> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let fix = format!("write one of {}", names.join(", "));
    let value = value.ok_or_else(|| format!("{flag} needs a value; {fix}"))?;
    known
        .iter()
        .find(|(name, _)| *name == value)
        .map(|(_, known)| *known)
        .ok_or_else(|| format!("{flag}: '{value}' is not known; {fix}"))
}

fn without_value(flag: &str, inline: Option<String>) -> Result<bool, String> {
    match inline {
        None => Ok(true),
        Some(value) => Err(format!("{flag}: takes no value, found '{value}'; write {flag} alone")),
    }
}
