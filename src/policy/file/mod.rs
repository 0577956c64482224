//! A policy read from a TOML text.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, error::Error, fmt, ops::Range, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Policy, Undeclared};
use crate::{
    outcome::{Code, Level},
    text::clean,
};

const KEYS: [&str; 5] =
    ["undeclared", "undeclared_level", "trust_declared_levels", "deadline", "levels"];
const LEVELS: [Level; 5] = [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error];
/// Characters of the text that an error quotes.
const QUOTED: usize = 60;
/// No known key is meant by one that is further away than this.
const MAX_DISTANCE: usize = 3;

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
    ///     "#,
    /// )?;
    /// let layer = OutcomeLayer::new().policy(policy);
    /// # let _ = layer;
    /// # Ok::<(), tower_outcome::PolicyError>(())
    /// ```
    ///
    /// The keys do what the methods of the same names do, and `[levels]` what
    /// [`level`](Policy::level) does.
    ///
    /// # Errors
    ///
    /// The text is no TOML, has a key that is not known, or a value that does not fit; or a key of
    /// `[levels]` cannot be a code, or is one that another key has given a level. The error says
    /// where, what stands there, and what to write instead.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let table = DeTable::parse(text).map_err(|error| PolicyError::syntax(text, &error))?;
        let mut policy = Self::new();
        for (key, value) in in_order(table.get_ref()) {
            let entry = Entry { text, table: None, key, value };
            policy = match &**key.get_ref() {
                "undeclared" => policy.undeclared(entry.undeclared()?),
                "undeclared_level" => policy.undeclared_level(entry.level()?),
                "trust_declared_levels" => policy.trust_declared_levels(entry.boolean()?),
                "deadline" => policy.deadline(entry.deadline()?),
                "levels" => entry.levels(policy)?,
                unknown => return Err(entry.unknown(unknown)),
            };
        }
        Ok(policy)
    }
}

/// Why a text is no [`Policy`]: the line, what stands there, and what to write instead.
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
    fn new(text: &str, at: &Range<usize>, problem: String) -> Self {
        Self { line: line_of(text, at.start), problem }
    }

    /// What TOML itself objects to.
    fn syntax(text: &str, error: &toml::de::Error) -> Self {
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

type Key<'t> = Spanned<std::borrow::Cow<'t, str>>;
type Value<'t> = Spanned<DeValue<'t>>;

/// A table's entries as the text has them, so that the first mistake is told first.
fn in_order<'a, 't>(table: &'a DeTable<'t>) -> Vec<(&'a Key<'t>, &'a Value<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A key and its value.
struct Entry<'a, 't> {
    text: &'a str,
    table: Option<&'static str>,
    key: &'a Key<'t>,
    value: &'a Value<'t>,
}

impl Entry<'_, '_> {
    fn undeclared(&self) -> Result<Undeclared, PolicyError> {
        match self.value.get_ref().as_str() {
            Some("pass") => Ok(Undeclared::Pass),
            Some("mask") => Ok(Undeclared::Mask),
            _ => Err(self.unfit("\"pass\" or \"mask\"")),
        }
    }

    fn level(&self) -> Result<Level, PolicyError> {
        self.value.get_ref().as_str().and_then(Level::from_name).ok_or_else(|| {
            let names = LEVELS.map(|level| format!("\"{level}\""));
            self.unfit(&format!("one of {}", names.join(", ")))
        })
    }

    fn boolean(&self) -> Result<bool, PolicyError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.unfit("true or false"))
    }

    fn deadline(&self) -> Result<Duration, PolicyError> {
        let duration = match self.value.get_ref() {
            DeValue::String(text) => duration(text),
            DeValue::Integer(seconds) => {
                let seconds = u64::from_str_radix(seconds.as_str(), seconds.radix());
                seconds.ok().map(Duration::from_secs)
            }
            DeValue::Float(seconds) => seconds.as_str().parse().ok().and_then(from_secs),
            _ => None,
        };
        duration.filter(|duration| !duration.is_zero()).ok_or_else(|| {
            self.unfit("\"500ms\", \"30s\", \"2m\" or a number of seconds, more than none")
        })
    }

    fn levels(&self, mut policy: Policy) -> Result<Policy, PolicyError> {
        let Some(table) = self.value.get_ref().as_table() else {
            return Err(
                self.unfit("the table [levels], with lines such as unknown_note = \"debug\"")
            );
        };
        let mut seen = BTreeMap::new();
        for (key, value) in in_order(table) {
            let entry = Entry { text: self.text, table: Some("levels"), key, value };
            let level = entry.level()?;
            let Some(code) = Code::coerce(key.get_ref().to_string().into()) else {
                return Err(entry.no_code());
            };
            if let Some(first) = seen.insert(code.clone(), key) {
                return Err(entry.twice(&code, first));
            }
            policy = policy.level(&code, level);
        }
        Ok(policy)
    }

    /// That the value is none that the key can have.
    fn unfit(&self, fix: &str) -> PolicyError {
        let key = self.quoted(self.key.span());
        let found = match self.value.get_ref() {
            DeValue::Table(_) => format!("the table {key}"),
            _ => format!("{key} = {}", self.quoted(self.value.span())),
        };
        let place = self.table.map_or_else(String::new, |table| format!("[{table}] "));
        self.error(&self.value.span(), format!("{place}{found} does not fit; write {fix}"))
    }

    fn unknown(&self, key: &str) -> PolicyError {
        let nearest = KEYS
            .iter()
            .map(|known| (strsim::osa_distance(known, &key.to_lowercase()), known))
            .min()
            .filter(|(distance, _)| *distance <= MAX_DISTANCE);
        let meant = nearest.map_or_else(String::new, |(_, known)| format!("write {known}, or "));
        let problem = format!(
            "the key '{}' is not known; {meant}one of {}",
            clean(key, QUOTED),
            KEYS.join(", ")
        );
        self.error(&self.key.span(), problem)
    }

    fn no_code(&self) -> PolicyError {
        let key = self.quoted(self.key.span());
        let problem = format!(
            "[levels] {key} cannot be a code; write snake_case, such as unknown_note = \"debug\""
        );
        self.error(&self.key.span(), problem)
    }

    fn twice(&self, code: &Code, first: &Key<'_>) -> PolicyError {
        let (key, first) = (self.quoted(self.key.span()), self.quoted(first.span()));
        let problem =
            format!("[levels] {key} is the code {code}, as {first} is already; remove one of them");
        self.error(&self.key.span(), problem)
    }

    /// What stands in the text there, or at least its first line.
    fn quoted(&self, at: Range<usize>) -> String {
        let found = self.text.get(at).unwrap_or_default();
        clean(found.lines().next().unwrap_or_default(), QUOTED).into_owned()
    }

    fn error(&self, at: &Range<usize>, problem: String) -> PolicyError {
        PolicyError::new(self.text, at, problem)
    }
}

/// A number and its unit.
fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    from_secs(match unit.trim_start() {
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        _ => return None,
    })
}

fn from_secs(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}
