//! Who the client is, by the handshake.

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
