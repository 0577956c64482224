//! The log, kept in memory so that it can be shown beside the answers.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tracing_subscriber::{
    EnvFilter,
    fmt::{MakeWriter, format::debug_fn},
};

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

/// Sends what a server would log at INFO to memory; `abridged`, without the fields that take most
/// of the room.
pub(crate) fn capture(abridged: bool) -> Log {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("info,rmcp=warn"))
        .with_ansi(false)
        .without_time()
        .fmt_fields(debug_fn(move |writer, field, value| match field.name() {
            "message" => write!(writer, "{value:?} "),
            name if abridged && LEFT_OUT.contains(&name) => Ok(()),
            name => write!(writer, "{name}={value:?} "),
        }))
        .with_writer(log.clone())
        .init();
    log
}

/// Fields that are the same for all calls here, long, or shown beside the line anyway.
const LEFT_OUT: [&str; 7] = [
    "backtrace",
    "client_name",
    "client_version",
    "error",
    "protocol_version",
    "request_id",
    "session",
];

impl Log {
    /// The lines since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).lines().map(|line| line.trim().to_owned()).collect()
    }

    /// The lines since the last time; where one `must_come`, once it is there, at most a second.
    pub(crate) async fn wait(&self, must_come: bool) -> Vec<String> {
        let mut lines = self.take();
        for _ in 0..100 {
            if !must_come || !lines.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            lines = self.take();
        }
        lines
    }
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
