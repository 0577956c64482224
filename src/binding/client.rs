//! Who the client is, by the request itself.

use crate::{call::Client, text};

/// A client that describes itself with each request, as from 2026-07-28 on.
#[derive(Clone, Debug)]
pub struct InlineClient {
    name: Option<Box<str>>,
    version: Option<Box<str>>,
}

impl InlineClient {
    /// A client of this name and version, of which as much is kept as is ever shown.
    #[must_use]
    pub fn new(name: Option<&str>, version: Option<&str>) -> Self {
        let kept = |text: &str| text::cut(text, text::RAW_NAME_CHARS).into();
        Self { name: name.map(kept), version: version.map(kept) }
    }
}

impl Client for InlineClient {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}
