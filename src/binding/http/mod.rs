//! What the layers round any HTTP service that speaks MCP will need.

#[allow(dead_code, unused_imports, reason = "the layers that use it are still to come")]
mod scan;
