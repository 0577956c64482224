//! The log of one stack, in memory.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// What tells something of a call, in this order. The rest is the same for all calls, or another
/// each time.
const TELLING: [&str; 8] =
    ["tool", "outcome", "code", "status", "error_code", "panic", "cause", "error"];
/// How much of a field is shown.
const FIELD_CHARS: usize = 56;

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

/// Collects what is logged on this thread, for as long as the guard lives.
pub(crate) fn capture(filter: &str) -> (Log, DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(log.clone())
        .finish();
    (log, tracing::subscriber::set_default(subscriber))
}

impl Log {
    /// The lines since the last time, the gravest first: two tasks may come to theirs in any order.
    pub(crate) fn take(&self) -> Vec<Line> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let lines = serde_json::Deserializer::from_slice(&bytes).into_iter();
        let mut lines = lines.filter_map(Result::ok).map(Line).collect::<Vec<_>>();
        lines.sort_by_key(|Line(line)| line["level"].as_str()?.parse::<tracing::Level>().ok());
        lines
    }
}

/// One line, as JSON.
pub(crate) struct Line(Value);

impl Line {
    /// The reference in a fault's text, which is another each time.
    pub(crate) fn reference(&self) -> Option<&str> {
        self.0["fields"]["call_id"].as_str()
    }

    /// Its level, its message, and the fields that tell something.
    pub(crate) fn abridged(&self) -> String {
        let fields = &self.0["fields"];
        let mut line = [&self.0["level"], &fields["message"]].map(plain).join(" ");
        for name in TELLING {
            // Where this is what the client was told, it is shown beside the line.
            if name == "error" && self.0["target"] == tower_outcome::TARGET {
                continue;
            }
            if let Some(value) = fields.get(name) {
                line.push_str(&format!(" {name}={}", crate::cut(&plain(value), FIELD_CHARS)));
            }
        }
        line
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
