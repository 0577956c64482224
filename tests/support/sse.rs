//! Server-sent events, cut out of chunks that may end anywhere.

/// Collects lines and hands out the data of each finished event.
#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<String>,
    after_cr: bool,
}

impl Events {
    /// The data of the events that `chunk` completes. Events without data, such as the one that
    /// primes a stream, are not among them.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for &byte in chunk {
            match byte {
                b'\n' if self.after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            self.after_cr = byte == b'\r';
        }
        events
    }

    /// A blank line ends an event.
    fn end_line(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if line.is_empty() {
            let data = std::mem::take(&mut self.data).join("\n");
            return Some(data).filter(|data| !data.is_empty());
        }
        if let Some(data) = line.strip_prefix("data:") {
            self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        }
        None
    }
}
