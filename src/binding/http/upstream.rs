//! How a proxy says that it was not itself that failed.

use std::{error::Error, fmt};

use tower::BoxError;

/// The error of a service that hands requests on to another server, where that one is to blame: it
/// cannot be reached, or breaks off before it answers.
///
/// A failure with it in its source chain has the code `upstream_error` instead of `internal_error`.
/// Where the chain tells that it heals itself, as a timeout does, that says more.
///
/// ```
/// use tower_outcome::binding::http::UpstreamError;
///
/// # async fn connect() -> std::io::Result<()> { Ok(()) }
/// # async fn call() -> Result<(), tower::BoxError> {
/// connect().await.map_err(|error| UpstreamError::new("the notes server", error))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UpstreamError {
    name: String,
    source: BoxError,
}

impl UpstreamError {
    /// The server that is named so, for the log, failed with this.
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self { name: name.into(), source: source.into() }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer from {}", self.name)
    }
}

impl Error for UpstreamError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
