//! The command line.

use std::{net::SocketAddr, time::Duration};

use tower_outcome::Policy;

use crate::upstream::Upstream;

pub(crate) const HELP: &str = "\
gateway: tower-outcome in front of an MCP server that speaks Streamable HTTP

  --listen ADDR     serve on this address; port 0 takes a free one, and the log line \"listening\"
                    says which
  --upstream URL    the server, such as http://127.0.0.1:9000/mcp
  --policy FILE     levels, masking, the deadline of tool calls, and which results are failures
                    though they do not say isError, from a TOML file (with the feature 'toml');
                    without a deadline there it is five minutes
  --help            print this on stderr

The gateway has the paths of the server: with the URL above it serves /mcp and what is below it,
and /.well-known/ for the documents that clients look for there. / stands for the URL's own path;
anything else is 404. With a URL that has no path, every path passes. Queries pass.

The upstream gets X-Forwarded-For with the client's address added, X-Forwarded-Host and
X-Forwarded-Proto unless a proxy in front has set them, and Via. It is asked for answers that are
not compressed, since those could not be read.

A result such as {\"status\": \"failed\"} counts as a failure. For a tool that tells of something
that may have failed, such as a build, write in the policy file:

  [tools.get_build]
  soft_errors = false

All that it can say is in the documentation of Policy::from_toml.

Log lines are JSON on stderr; RUST_LOG sets their filter (default: info).
";

/// After how long a tool call is answered whose server stalls, unless the policy says. Long, since
/// some tools work for minutes, but not for ever: the client's model waits meanwhile.
const DEADLINE: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: Upstream,
    /// It has a deadline.
    pub(crate) policy: Policy,
}

impl Args {
    /// Reads the arguments after the program's name; `None` where help is all that is asked for. An
    /// error is a sentence that says which flag, which value, and what to write instead.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Option<Self>, String> {
        let (mut listen, mut upstream, mut policy) = (None, None, Policy::new());
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (flag, inline) = split(&word);
            let mut value = || inline.clone().or_else(|| words.next());
            match flag {
                "--listen" => listen = Some(address(value())?),
                "--upstream" => upstream = Some(url(value())?),
                "--policy" => policy = read_policy(value())?,
                "--help" | "-h" if inline.is_none() => return Ok(None),
                _ => {
                    return Err(format!(
                        "unknown argument '{word}'; write one of --listen, --upstream, --policy, \
                         --help"
                    ));
                }
            }
        }
        let listen = listen.ok_or_else(|| format!("--listen is missing; {LISTEN}"))?;
        let upstream = upstream.ok_or_else(|| format!("--upstream is missing; {UPSTREAM}"))?;
        let deadline = policy.deadline_after().unwrap_or(DEADLINE);
        Ok(Some(Self { listen, upstream, policy: policy.deadline(deadline) }))
    }
}

const LISTEN: &str = "write --listen IP:PORT, such as 127.0.0.1:8080, or 127.0.0.1:0 for any free \
                      port";
const UPSTREAM: &str = "write --upstream URL, such as http://127.0.0.1:9000/mcp";
const POLICY: &str = "write --policy FILE, the path of a TOML file";

/// `--flag=value` in its two parts.
fn split(word: &str) -> (&str, Option<String>) {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
        _ => (word, None),
    }
}

fn address(value: Option<String>) -> Result<SocketAddr, String> {
    let value = value.ok_or_else(|| format!("--listen needs an address; {LISTEN}"))?;
    value.parse().map_err(|_| format!("--listen: '{value}' is not an address; {LISTEN}"))
}

fn url(value: Option<String>) -> Result<Upstream, String> {
    let value = value.ok_or_else(|| format!("--upstream needs a URL; {UPSTREAM}"))?;
    Upstream::parse(&value).map_err(|problem| format!("--upstream: '{value}' {problem}"))
}

fn read_policy(value: Option<String>) -> Result<Policy, String> {
    let path = value.ok_or_else(|| format!("--policy needs a file; {POLICY}"))?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("--policy: cannot read '{path}' ({error}); {POLICY}"))?;
    policy(&text).map_err(|problem| format!("--policy: '{path}', {problem}"))
}

#[cfg(feature = "toml")]
fn policy(text: &str) -> Result<Policy, String> {
    Policy::from_toml(text).map_err(|error| error.to_string())
}

#[cfg(not(feature = "toml"))]
fn policy(_: &str) -> Result<Policy, String> {
    Err("cannot be used: the gateway was built without it; build with --features toml".to_owned())
}
