//! HTTP/1.1 by hand, on both sides of the gateway.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::{GUARD, process::Gateway};

/// A server that says what a test tells it to.
pub(crate) struct Server(TcpListener);

impl Server {
    pub(crate) async fn bind() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    /// `IP:PORT`.
    pub(crate) fn address(&self) -> String {
        self.0.local_addr().expect("an address").to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address())
    }

    pub(crate) async fn accept(&self) -> Connection {
        let (stream, _) =
            timeout(GUARD, self.0.accept()).await.expect("a connection in time").expect("one");
        Connection::new(stream)
    }
}

/// One end of a connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A first line and the headers after it, their names in lower case.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) first: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(known, _)| known == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a header that stands there once.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() < 2, "{name} stands there {} times: {self:?}", all.len());
        all.first().copied()
    }

    pub(crate) fn status(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Self {
        let stream = timeout(GUARD, TcpStream::connect(address)).await.expect("in time");
        Self::new(stream.expect("a connection"))
    }

    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("no delay");
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let sent = timeout(GUARD, self.stream.write_all(bytes.as_ref())).await;
        sent.expect("room to write").expect("an open connection");
    }

    /// Reads more; `false` at the end.
    async fn more(&mut self) -> bool {
        let read = timeout(GUARD, self.stream.read_buf(&mut self.buffer)).await;
        match read.expect("something to read in time") {
            Ok(length) => length > 0,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}"),
        }
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return String::from_utf8(line[..end].to_vec()).expect("UTF-8");
            }
            assert!(self.more().await, "the end, after {:?}", self.so_far());
        }
    }

    pub(crate) async fn head(&mut self) -> Head {
        let first = self.line().await;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                return Head { first, headers };
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    pub(crate) async fn bytes(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.more().await, "the end after {} of {length}", self.buffer.len());
        }
        self.buffer.drain(..length).collect()
    }

    /// A head and the body whose length it tells.
    pub(crate) async fn message(&mut self) -> (Head, String) {
        let head = self.head().await;
        let body = if head.get("transfer-encoding") == Some("chunked") {
            self.chunks().await.0
        } else {
            let length = head.get("content-length").map_or(0, |length| length.parse().unwrap());
            String::from_utf8(self.bytes(length).await).expect("UTF-8")
        };
        (head, body)
    }

    /// Chunks until they contain this much.
    pub(crate) async fn chunks_to(&mut self, end: &str) -> String {
        let mut body = String::new();
        while !body.contains(end) {
            let chunk = self.chunk().await.unwrap_or_else(|| panic!("the end, after {body:?}"));
            body.push_str(&chunk);
        }
        body
    }

    /// All chunks to the last, and the trailers.
    pub(crate) async fn chunks(&mut self) -> (String, Vec<String>) {
        let mut body = String::new();
        while let Some(chunk) = self.chunk().await {
            body.push_str(&chunk);
        }
        let mut trailers = Vec::new();
        loop {
            match self.line().await {
                line if line.is_empty() => return (body, trailers),
                line => trailers.push(line),
            }
        }
    }

    async fn chunk(&mut self) -> Option<String> {
        let size = self.line().await;
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("no size: {size:?}"));
        if size == 0 {
            return None;
        }
        let chunk = String::from_utf8(self.bytes(size).await).expect("UTF-8");
        assert_eq!(self.line().await, "");
        Some(chunk)
    }

    /// What comes until the other side hangs up.
    pub(crate) async fn rest(&mut self) -> String {
        while self.more().await {}
        self.so_far()
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    /// Hangs up with a RST, as the kernel does where there is something that nobody has read.
    pub(crate) async fn reset(self) {
        self.stream.readable().await.expect("something unread");
    }
}

/// A request on its way: a client has sent it to a gateway, and a server has read it. Gives the
/// server, the gateway, and both ends.
pub(crate) async fn arrived(
    request: impl AsRef<[u8]>,
) -> (Server, Gateway, Connection, Connection) {
    let server = Server::bind().await;
    let gateway = Gateway::start(&server.url()).await;
    let mut client = gateway.connect().await;
    client.send(request).await;
    let mut at_server = server.accept().await;
    at_server.message().await;
    (server, gateway, client, at_server)
}

/// A request to `/mcp` with this body.
pub(crate) fn post(body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An answer with a body of this type.
pub(crate) fn ok(content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// One chunk of a chunked body.
pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

pub(crate) const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
pub(crate) const LISTED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
pub(crate) const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#;
pub(crate) const CALLED: &str =
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"2"}]}}"#;
