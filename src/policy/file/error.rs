//! Why a text is no policy.

use std::{error::Error, fmt, ops::Range};

use crate::text::clean;

/// Characters of the text that an error quotes.
pub(super) const QUOTED: usize = 60;

/// Why a text is no [`Policy`](crate::Policy): the line, what stands there, and what to write
/// instead.
///
/// ```
/// # use tower_outcome::Policy;
/// let error = Policy::from_toml("undeclared = 'hide'").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"line 1: undeclared = 'hide' does not fit; write "pass" or "mask""#
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    line: usize,
    problem: String,
}

impl PolicyError {
    pub(super) fn new(text: &str, at: &Range<usize>, problem: String) -> Self {
        Self { line: line_of(text, at.start), problem }
    }

    /// What TOML itself objects to.
    pub(super) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().unwrap_or(0..0);
        let line = line_of(text, at.start);
        let found = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
        let (found, message) = (clean(found, QUOTED), clean(error.message(), 4 * QUOTED));
        Self { line, problem: format!("'{found}' is not TOML: {message}") }
    }

    /// The line that is wrong; the first one is 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl Error for PolicyError {}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
