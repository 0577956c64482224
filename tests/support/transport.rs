//! The ways to a server.

use super::messages::Revision;

/// A way to the server, and the revision spoken on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A pipe in this process.
    Duplex,
    /// A child process.
    Stdio,
    /// A child process, in the revision without `initialize`.
    Stdio2026,
    /// HTTP with sessions.
    Stateful,
    /// HTTP without sessions, answers as SSE.
    Stateless,
    /// HTTP without sessions, answers as JSON.
    Json,
    /// HTTP in the revision without sessions, answers as SSE.
    Http2026,
    /// HTTP in the revision without sessions, answers as JSON.
    Json2026,
    /// A WebSocket, which tower-mcp has and no specification.
    WebSocket,
}

impl Transport {
    /// Those that every library has.
    pub const ALL: [Self; 8] = [
        Self::Duplex,
        Self::Stdio,
        Self::Stdio2026,
        Self::Stateful,
        Self::Stateless,
        Self::Json,
        Self::Http2026,
        Self::Json2026,
    ];

    pub fn revision(self) -> Revision {
        match self {
            Self::Stdio2026 | Self::Http2026 | Self::Json2026 => Revision::V2026,
            _ => Revision::V2025,
        }
    }

    /// The server's `--mode`; `None` without HTTP.
    pub(super) fn mode(self) -> Option<&'static str> {
        match self {
            Self::Duplex | Self::Stdio | Self::Stdio2026 => None,
            // A server with sessions serves the newer revision without any.
            Self::Stateful | Self::Http2026 => Some("stateful"),
            Self::Stateless => Some("stateless"),
            Self::Json | Self::Json2026 => Some("json"),
            Self::WebSocket => Some("websocket"),
        }
    }
}

/// Whether the server has the layers of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    None,
    /// Round the handler.
    Typed,
    /// Round the HTTP service.
    Http,
    /// Round both.
    Both,
}
