//! Which results that no flag calls failures are some all the same: for all tools, and for one.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use toml::{Spanned, de::DeValue};

use super::{ABOVE, Policy, SINGLE, entry::Entry, error::PolicyError};
use crate::classify::SoftErrors;

/// The keys of `[soft_errors]`.
pub(super) const KEYS: [&str; 6] =
    ["statuses", "extra_statuses", "status_keys", "flag_keys", "error_keys", "message_keys"];
/// The keys of one tool's table.
const TOOL_KEYS: [&str; 1] = ["soft_errors"];
/// What a file has in `tools`.
const TOOLS: &str =
    "a table for each tool, such as [tools.get_build] with the line soft_errors = false";

/// What the texts of a list are.
#[derive(Clone, Copy)]
enum Texts {
    /// What a status may say.
    Statuses,
    /// Where something may be: keys such as this one.
    Keys(&'static str),
}

impl Entry<'_, '_> {
    pub(super) fn soft_errors(&self, policy: Policy) -> Result<Policy, PolicyError> {
        Ok(match self.rules()? {
            Some(rules) => policy.soft_errors(rules),
            None => policy.no_soft_errors(),
        })
    }

    pub(super) fn tools(&self, policy: Policy) -> Result<Policy, PolicyError> {
        let tools = self.entries().ok_or_else(|| self.unfit(TOOLS))?;
        tools.iter().try_fold(policy, |policy, tool| tool.tool(policy))
    }

    fn tool(&self, mut policy: Policy) -> Result<Policy, PolicyError> {
        let tool = self.name();
        if tool.trim().is_empty() {
            let key = self.key();
            return Err(
                self.error_of_key(&format!("{key} is no tool's name; write one, as [tools.NAME]"))
            );
        }
        for entry in self.entries().ok_or_else(|| self.unfit(TOOLS))? {
            policy = match entry.name() {
                "soft_errors" => match entry.rules()? {
                    Some(rules) => policy.soft_errors_of(tool, rules),
                    None => policy.no_soft_errors_of(tool),
                },
                _ => return Err(self.not_of_a_tool(&entry)),
            };
        }
        Ok(policy)
    }

    /// That this tool's table has no such key.
    fn not_of_a_tool(&self, entry: &Entry<'_, '_>) -> PolicyError {
        let name = entry.name();
        if KEYS.contains(&name) {
            return entry.misplaced(&format!("in [{}.soft_errors]", self.path()));
        }
        if SINGLE.contains(&name) {
            return entry.misplaced(ABOVE);
        }
        // TOML takes the dot in a name that is not quoted for a table in a table.
        let dotted = match entry.value().is_table() {
            true => {
                format!(", or [tools.\"{}.{name}\"] where that is the tool's name", self.name())
            }
            false => String::new(),
        };
        entry.unknown_or(&TOOL_KEYS, &dotted)
    }

    /// What the value of a `soft_errors` says; `None` turns them off.
    fn rules(&self) -> Result<Option<SoftErrors>, PolicyError> {
        let (mut rules, mut extra) = (SoftErrors::new(), Vec::new());
        let entries = match (self.value(), self.entries()) {
            (DeValue::Boolean(is_on), _) => return Ok(is_on.then_some(rules)),
            (_, Some(entries)) => entries,
            (_, None) => {
                let path = self.path();
                return Err(self.unfit(&format!(
                    "true, false or the table [{path}], with lines such as extra_statuses = {}",
                    Texts::Statuses.example()
                )));
            }
        };
        for entry in entries {
            rules = match entry.name() {
                "statuses" => rules.statuses(entry.texts(Texts::Statuses)?),
                // In addition to those that may yet come.
                "extra_statuses" => {
                    extra = entry.texts(Texts::Statuses)?;
                    rules
                }
                "status_keys" => rules.status_keys(entry.texts(Texts::Keys("status"))?),
                "flag_keys" => rules.flag_keys(entry.texts(Texts::Keys("ok"))?),
                "error_keys" => rules.error_keys(entry.texts(Texts::Keys("error"))?),
                "message_keys" => rules.message_keys(entry.texts(Texts::Keys("message"))?),
                name if SINGLE.contains(&name) => return Err(entry.misplaced(ABOVE)),
                _ => return Err(entry.unknown(&KEYS)),
            };
        }
        Ok(Some(rules.extra_statuses(extra)))
    }

    /// A list, which may be empty. A text that is there twice is a slip: another was meant, or it is
    /// not known that the case of a status counts for nothing.
    fn texts(&self, kind: Texts) -> Result<Vec<String>, PolicyError> {
        let Some(items) = self.value().as_array() else { return Err(self.unfit(&kind.fix())) };
        let (mut texts, mut seen) = (Vec::new(), BTreeMap::new());
        for item in items.iter() {
            let Some(text) = item.get_ref().as_str().filter(|text| kind.takes(text)) else {
                let fix = kind.fix();
                return Err(self.wrong_item(item, &format!("which does not fit; write {fix}")));
            };
            if let Some(first) = seen.insert(kind.meaning(text), item.span()) {
                let first = self.quoted(&first);
                return Err(self.wrong_item(
                    item,
                    &format!("which is the same as {first} before it; remove one of them"),
                ));
            }
            texts.push(text.to_owned());
        }
        Ok(texts)
    }

    fn wrong_item(&self, item: &Spanned<DeValue<'_>>, problem: &str) -> PolicyError {
        let (key, found) = (self.key(), self.quoted(&item.span()));
        self.error(&item.span(), &format!("{key} has {found}, {problem}"))
    }
}

impl Texts {
    /// Whether anything can be meant by it. Between two dots there is a key.
    fn takes(self, text: &str) -> bool {
        match self {
            Self::Statuses => !text.trim().is_empty(),
            Self::Keys(_) => text.split('.').all(|key| !key.trim().is_empty()),
        }
    }

    /// What is the same of two texts that mean the same.
    fn meaning(self, text: &str) -> String {
        match self {
            Self::Statuses => text.to_lowercase(),
            Self::Keys(_) => text.to_owned(),
        }
    }

    fn fix(self) -> String {
        let what = match self {
            Self::Statuses => "words",
            Self::Keys(_) => "keys or dotted paths",
        };
        format!("an array of {what} in quotes, such as {}", self.example())
    }

    fn example(self) -> String {
        match self {
            Self::Statuses => "[\"crashed\", \"aborted\"]".to_owned(),
            Self::Keys(key) => format!("[\"{key}\", \"data.{key}\"]"),
        }
    }
}
