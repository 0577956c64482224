//! JSON-RPC, one message a line: over an in-process pipe, and over stdio.

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
};

use super::inbox::Inbox;

/// The sending half; `None` once closed.
pub(super) struct Lines(Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>);

impl Lines {
    /// Reads into `inbox` from now on.
    pub(super) fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        inbox: Inbox,
    ) -> Self {
        tokio::spawn(read(reader, inbox));
        Self(Mutex::new(Some(Box::new(writer))))
    }

    /// Sends a line. A server that is gone is noticed by the answer that does not come.
    pub(super) async fn send(&self, text: &str) {
        if let Some(writer) = self.0.lock().await.as_mut() {
            let _ = writer.write_all(format!("{text}\n").as_bytes()).await;
            let _ = writer.flush().await;
        }
    }

    /// Tells the server that nothing more comes.
    pub(super) async fn close(&self) {
        if let Some(mut writer) = self.0.lock().await.take() {
            let _ = writer.shutdown().await;
        }
    }
}

async fn read(reader: impl AsyncRead + Unpin, inbox: Inbox) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while let Ok(1..) = reader.read_until(b'\n', &mut line).await {
        inbox.keep_bytes(&line);
        inbox.take(None, String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    inbox.close();
}
