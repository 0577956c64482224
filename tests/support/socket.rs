//! JSON-RPC, one message a frame, over a WebSocket.

use futures::{SinkExt as _, StreamExt as _, stream::SplitSink};
use tokio::{net::TcpStream, sync::Mutex};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};

use super::inbox::Inbox;

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The sending half.
pub(super) struct Socket(Mutex<SplitSink<Stream, Message>>);

impl Socket {
    /// Connects, and reads into `inbox` from now on.
    pub(super) async fn open(address: &str, inbox: Inbox) -> Self {
        let url = format!("ws://{address}/mcp");
        let (stream, _) = tokio_tungstenite::connect_async(url).await.expect("a WebSocket");
        let (sink, mut stream) = stream.split();
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if let Message::Text(text) = message {
                    inbox.keep_bytes(text.as_bytes());
                    inbox.take(None, text.as_str());
                }
            }
            inbox.close();
        });
        Self(Mutex::new(sink))
    }

    /// Sends a frame. A server that is gone is noticed by the answer that does not come.
    pub(super) async fn send(&self, text: &str) {
        let _ = self.0.lock().await.send(Message::text(text)).await;
    }

    /// Leaves.
    pub(super) async fn close(&self) {
        let _ = self.0.lock().await.close().await;
    }
}
