//! The server behind the gateway, and which of its paths are served.

use std::fmt;

use http::uri::{Authority, PathAndQuery, Scheme, Uri};

/// What clients look for outside of a server's own path: whom to ask for authorisation (RFC 9728,
/// RFC 8414).
const WELL_KNOWN: &str = "/.well-known/";

#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    authority: Authority,
    /// The path as it was given; `/` where it was none.
    path: String,
}

impl Upstream {
    /// Reads the URL. An error says what is wrong with it and what to write instead.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        const FIX: &str = "write http://HOST:PORT/PATH, such as http://127.0.0.1:9000/mcp";
        let uri: Uri = url.parse().map_err(|_| format!("is not a URL; {FIX}"))?;
        let parts = uri.into_parts();
        match parts.scheme.as_ref().map(Scheme::as_str) {
            Some("http") => {}
            Some("https") => {
                return Err(format!(
                    "needs TLS, which this gateway does not speak; put it beside the server, or a \
                     proxy that does between them, and {FIX}"
                ));
            }
            _ => return Err(format!("is not an http URL; {FIX}")),
        }
        let authority = parts.authority.ok_or_else(|| format!("has no host; {FIX}"))?;
        if authority.as_str().contains('@') {
            return Err(format!(
                "has a user or a password in it, which is never sent; leave them out: {FIX}"
            ));
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if path.query().is_some() {
            return Err(format!("has a query; leave it out, the clients send theirs: {FIX}"));
        }
        if climbs(path.path()) {
            return Err(format!("has '..' in its path; write the path that it leads to: {FIX}"));
        }
        Ok(Self { authority, path: path.path().to_owned() })
    }

    /// What to ask the server for, or `None` for a path that is not served.
    pub(crate) fn uri(&self, requested: &Uri) -> Option<Uri> {
        let path = requested.path();
        let target = if path == "/" && self.path != "/" {
            let query = requested.query().map_or_else(String::new, |query| format!("?{query}"));
            format!("{}{query}", self.path).parse().ok()?
        } else if self.serves(path) {
            requested.path_and_query()?.clone()
        } else {
            return None;
        };
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.authority.clone());
        uri.path_and_query(target).build().ok()
    }

    fn serves(&self, path: &str) -> bool {
        let base = self.path.trim_end_matches('/');
        let below = path.strip_prefix(base);
        let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // `*` and CONNECT's empty path are about the server as a whole.
        path.starts_with('/') && !climbs(path) && (is_below || path.starts_with(WELL_KNOWN))
    }

    /// A redirect to the server itself, as a client of the gateway can follow it: without the
    /// address that only the gateway knows.
    pub(crate) fn without_address<'a>(&self, location: &'a str) -> Option<&'a str> {
        let rest = location.strip_prefix("http://")?.strip_prefix(self.authority.as_str())?;
        // `//x` would be another host.
        (rest.starts_with('/') && !rest.starts_with("//")).then_some(rest)
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// Whether a path leads out of where it begins, once a server has decoded it.
fn climbs(path: &str) -> bool {
    let decoded = path.to_ascii_lowercase().replace("%2e", ".");
    let decoded = decoded.replace("%2f", "/").replace("%5c", "/").replace('\\', "/");
    decoded.split('/').any(|segment| segment == "..")
}
