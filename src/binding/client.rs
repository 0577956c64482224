//! Who the client is, by the request itself.

use crate::call::Client;

/// A client that describes itself with each request, as from 2026-07-28 on.
#[derive(Debug)]
pub(crate) struct InlineClient {
    pub(crate) name: Option<Box<str>>,
    pub(crate) version: Option<Box<str>>,
}

impl Client for InlineClient {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}
