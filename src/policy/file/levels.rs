//! The table `[levels]`.

use std::collections::BTreeMap;

use super::{ABOVE, Policy, SINGLE, entry::Entry, error::PolicyError};
use crate::outcome::Code;

impl Entry<'_, '_> {
    pub(super) fn levels(&self, mut policy: Policy) -> Result<Policy, PolicyError> {
        let Some(entries) = self.entries() else {
            return Err(
                self.unfit("the table [levels], with lines such as unknown_note = \"debug\"")
            );
        };
        let mut seen = BTreeMap::new();
        for entry in &entries {
            let level = entry.level().map_err(|error| match entry.name() {
                name if name == "soft_errors" || SINGLE.contains(&name) => entry.misplaced(ABOVE),
                _ => error,
            })?;
            let Some(code) = Code::coerce(entry.name().to_owned().into()) else {
                return Err(entry.no_code());
            };
            if let Some(first) = seen.insert(code.clone(), entry) {
                return Err(entry.twice(&code, first));
            }
            policy = policy.level(&code, level);
        }
        Ok(policy)
    }

    fn no_code(&self) -> PolicyError {
        let key = self.key();
        self.error_of_key(&format!(
            "{key} cannot be a code; write snake_case, such as unknown_note = \"debug\""
        ))
    }

    fn twice(&self, code: &Code, first: &Entry<'_, '_>) -> PolicyError {
        let (key, first) = (self.key(), first.key());
        self.error_of_key(&format!(
            "{key} is the code {code}, as {first} is already; remove one of them"
        ))
    }
}
