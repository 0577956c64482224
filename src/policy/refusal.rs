//! How servers turn a tool call down that they cannot run, each SDK in a text of its own.

use crate::text;

/// Why a tool was not even run: what a recognised text says. See
/// [`Policy::recognise_refusal`](crate::Policy::recognise_refusal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such tool: a `protocol_error` with the code `unknown_tool`.
    UnknownTool,
    /// The arguments do not fit the tool's input schema: `rejected`, with the code
    /// `invalid_arguments`.
    InvalidArguments,
}

impl Refusal {
    /// What `text` says of a call of `tool`, in the words of one of the SDKs.
    pub(super) fn of(text: &str, tool: &str) -> Option<Self> {
        if is_bad_arguments(text, tool) {
            return Some(Self::InvalidArguments);
        }
        is_unknown_tool(text, tool).then_some(Self::UnknownTool)
    }
}

/// Whether `text` is how an SDK says that the arguments do not fit. A validation that failed inside
/// of the tool reads nearly the same, and is none: only what names this very call is taken for it.
fn is_bad_arguments(text: &str, tool: &str) -> bool {
    // rmcp 3.11, `handler/server/router/tool.rs`.
    if text.starts_with("failed to deserialize parameters:") {
        return true;
    }
    // The TypeScript SDK, with its prefix up to version 1; the Python SDK's low-level server.
    let plain = text.strip_prefix("MCP error -32602: ").unwrap_or(text);
    if plain.starts_with("Input validation error: ") {
        return true;
    }
    // tower-mcp 0.25: serde's words, which are nobody else's.
    if let Some(reason) = text.strip_prefix("Invalid input: ") {
        return ["invalid type: ", "invalid value: ", "invalid length ", "missing field `"]
            .iter()
            .chain(&["unknown field `", "unknown variant `"])
            .any(|start| reason.starts_with(start));
    }
    // FastMCP 3 and 4: `2 validation errors for call[read_note]`; the Python SDK:
    // `Error executing tool read_note: 1 validation error for read_noteArguments`.
    let by_fastmcp = validated(text).is_some_and(|rest| {
        let named = rest.strip_prefix("call[").and_then(|rest| rest.strip_prefix(tool));
        named.is_some_and(|rest| rest.starts_with(']'))
    });
    let by_sdk = || {
        let rest = text.strip_prefix("Error executing tool ")?.strip_prefix(tool)?;
        let rest = validated(rest.strip_prefix(": ")?)?;
        rest.strip_prefix(tool)?.strip_prefix("Arguments")
    };
    by_fastmcp || by_sdk().is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
}

/// What follows `3 validation errors for `, pydantic's words.
fn validated(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == text.len() {
        return None;
    }
    rest.strip_prefix(" validation error for ").or(rest.strip_prefix(" validation errors for "))
}

/// Whether `text` is how an SDK says that it has no such tool: rmcp's `tool not found`, the Python
/// SDK's `Unknown tool: x`, the TypeScript SDK's `Tool x not found`, with or without its
/// `MCP error -32602: `. The whole text has to be that, so that no tool's own words are taken for
/// it.
fn is_unknown_tool(text: &str, tool: &str) -> bool {
    let text = text.strip_prefix("MCP error -32602: ").unwrap_or(text);
    let text = text.trim_end_matches('.');
    if text.eq_ignore_ascii_case("tool not found") || text.eq_ignore_ascii_case("unknown tool") {
        return true;
    }
    // The call keeps the start of a name.
    let named = |rest: &str| {
        let name = rest.trim().trim_matches(['\'', '"', '`']);
        text::prefix(name, text::NAME_CHARS) == tool
    };
    strip_word(text, "unknown tool:").is_some_and(named)
        || strip_word(text, "unknown tool ").is_some_and(named)
        || strip_word(text, "tool not found:").is_some_and(named)
        || strip_word(text, "tool ")
            .and_then(|rest| rest.strip_suffix(" not found"))
            .is_some_and(named)
}

/// `text` without `word` at its start, in any case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sdks_own_words_are_known() {
        for text in [
            "failed to deserialize parameters: invalid type: string \"many\", expected u64",
            "1 validation error for call[count]\nn\n  Input should be a valid integer",
            "2 validation errors for call[count]\nn\n  Missing required argument",
            "Error executing tool count: 1 validation error for countArguments\nn\n  Field required",
            "MCP error -32602: Input validation error: Invalid arguments for tool count: n",
            "Input validation error: Invalid arguments for tool count: n: Invalid input",
            "Input validation error: 'n' is a required property",
            "Invalid input: invalid type: string \"many\", expected i64",
            "Invalid input: missing field `n`",
        ] {
            assert_eq!(Refusal::of(text, "count"), Some(Refusal::InvalidArguments), "{text}");
        }
        for text in [
            "tool not found",
            "Unknown tool: count",
            "Unknown tool: 'count'",
            "MCP error -32602: Tool count not found",
            "Tool count not found",
        ] {
            assert_eq!(Refusal::of(text, "count"), Some(Refusal::UnknownTool), "{text}");
        }
    }

    #[test]
    fn an_unknown_tool_has_to_be_the_one_that_was_called() {
        let name = "größe/tool";
        for text in [
            "tool not found",
            "Tool not found",
            "Unknown tool: größe/tool",
            "unknown tool 'größe/tool'",
            "Tool größe/tool not found",
            "MCP error -32602: Tool größe/tool not found",
            "Tool 'größe/tool' not found.",
        ] {
            assert!(is_unknown_tool(text, name), "{text}");
        }
        for text in
            ["", "unknown", "Unknown tool: other", "the tool not found it", "Tool x not found"]
        {
            assert!(!is_unknown_tool(text, name), "{text}");
        }
    }

    #[test]
    fn a_tools_own_words_are_not_taken_for_them() {
        for text in [
            // What a tool validates itself.
            "1 validation error for int\n  Input should be a valid integer",
            "Error executing tool count: 1 validation error for int",
            "Error calling tool 'count': 1 validation error for int",
            "1 validation error for call[other]",
            "validation error for call[count]",
            "MCP error -32602: Output validation error: no",
            "MCP error -32602: not like this",
            "Invalid input: the path is absolute",
            "Unknown tool: hammer",
            "Tool count not found in the shed",
            "",
        ] {
            assert_eq!(Refusal::of(text, "count"), None, "{text}");
        }
    }
}
