//! Who the client is, by the handshake or by the request itself.

use rmcp::model::InitializeRequestParams;

use crate::call::Client;

impl Client for InitializeRequestParams {
    fn name(&self) -> Option<&str> {
        Some(&self.client_info.name)
    }

    fn version(&self) -> Option<&str> {
        Some(&self.client_info.version)
    }
}

/// A client that describes itself with each request, as from 2026-07-28 on.
#[derive(Debug)]
pub(super) struct InlineClient {
    pub(super) name: Option<Box<str>>,
    pub(super) version: Option<Box<str>>,
}

impl Client for InlineClient {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}
