//! The layers round any HTTP service that speaks MCP.

mod scan;
