//! The same tools four times: written for rmcp and for tower-mcp, without this crate and with it.

pub(crate) mod rmcp_ours;
pub(crate) mod rmcp_plain;
pub(crate) mod tower_mcp_ours;
pub(crate) mod tower_mcp_plain;
mod work;
