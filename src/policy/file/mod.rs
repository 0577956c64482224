//! A policy read from a TOML text.

mod entry;
mod error;
mod levels;
mod soft;
#[cfg(test)]
mod tests;
mod value;

use toml::de::DeTable;

use self::entry::Entry;
pub use self::error::PolicyError;
use super::Policy;

const KEYS: [&str; 7] = [
    "undeclared",
    "undeclared_level",
    "trust_declared_levels",
    "deadline",
    "levels",
    "soft_errors",
    "tools",
];
/// Those that are no tables. TOML takes what stands behind the header of a table for a part of it.
const SINGLE: [&str; 4] = ["undeclared", "undeclared_level", "trust_declared_levels", "deadline"];
/// Where they belong.
const ABOVE: &str = "above the first table";

impl Policy {
    /// Reads a policy from a TOML text. What it leaves out is as in [`Policy::new`], and what only
    /// code can say (see [`recognise`](Policy::recognise)) can be added to the policy that this
    /// returns.
    ///
    /// ```
    /// use tower_outcome::{OutcomeLayer, Policy};
    ///
    /// let policy = Policy::from_toml(
    ///     r#"
    ///     undeclared = "mask"            # or "pass", the default
    ///     undeclared_level = "warn"      # or "trace", "debug", "info"; "error" by default
    ///     trust_declared_levels = false  # true by default
    ///     deadline = "30s"               # ms, s or m; a number is seconds; none by default
    ///
    ///     [levels]                       # of failures with these codes
    ///     unknown_note = "debug"
    ///
    ///     [soft_errors]                  # or soft_errors = false, above, for none
    ///     extra_statuses = ["crashed"]   # besides the default ones; statuses replaces them
    ///     status_keys = ["status", "data.state"] # and flag_keys, error_keys, message_keys
    ///
    ///     [tools.get_build]              # the build may have failed, and the call worked
    ///     soft_errors = false            # or true, for the default rules
    ///
    ///     [tools."jobs.run".soft_errors] # or rules of its own
    ///     flag_keys = ["ok", "finished"]
    ///     "#,
    /// )?;
    /// let layer = OutcomeLayer::new().policy(policy);
    /// # let _ = layer;
    /// # Ok::<(), tower_outcome::PolicyError>(())
    /// ```
    ///
    /// The keys do what the methods of the same names do, and `[levels]` what
    /// [`level`](Policy::level) does. Those of a `soft_errors` table are methods of
    /// [`SoftErrors`](crate::SoftErrors), in whichever order; that of a tool starts from the
    /// default rules too, not from `[soft_errors]`. Names of tools match exactly, and take quotes
    /// where they have a dot.
    ///
    /// # Errors
    ///
    /// The text is no TOML, has a key that is not known, or a value that does not fit; a key of
    /// `[levels]` cannot be a code, or is one that another key has given a level; a list of
    /// `soft_errors` has the same text twice; or a tool has no name. The error says where, what
    /// stands there, and what to write instead.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let table = DeTable::parse(text).map_err(|error| PolicyError::syntax(text, &error))?;
        let mut policy = Self::new();
        for entry in Entry::all(text, table.get_ref()) {
            policy = match entry.name() {
                "undeclared" => policy.undeclared(entry.undeclared()?),
                "undeclared_level" => policy.undeclared_level(entry.level()?),
                "trust_declared_levels" => policy.trust_declared_levels(entry.boolean()?),
                "deadline" => policy.deadline(entry.deadline()?),
                "levels" => entry.levels(policy)?,
                "soft_errors" => entry.soft_errors(policy)?,
                "tools" => entry.tools(policy)?,
                name if soft::KEYS.contains(&name) => {
                    return Err(entry.misplaced("in [soft_errors]"));
                }
                _ => return Err(entry.unknown(&KEYS)),
            };
        }
        Ok(policy)
    }
}
