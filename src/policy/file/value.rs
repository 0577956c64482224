//! What single values say.

use std::time::Duration;

use toml::de::DeValue;

use super::{entry::Entry, error::PolicyError};
use crate::{outcome::Level, policy::Undeclared};

pub(super) const LEVELS: [Level; 5] =
    [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error];

impl Entry<'_, '_> {
    pub(super) fn undeclared(&self) -> Result<Undeclared, PolicyError> {
        match self.value().as_str() {
            Some("pass") => Ok(Undeclared::Pass),
            Some("mask") => Ok(Undeclared::Mask),
            _ => Err(self.unfit("\"pass\" or \"mask\"")),
        }
    }

    pub(super) fn level(&self) -> Result<Level, PolicyError> {
        self.value().as_str().and_then(Level::from_name).ok_or_else(|| {
            let names = LEVELS.map(|level| format!("\"{level}\""));
            self.unfit(&format!("one of {}", names.join(", ")))
        })
    }

    pub(super) fn boolean(&self) -> Result<bool, PolicyError> {
        self.value().as_bool().ok_or_else(|| self.unfit("true or false"))
    }

    pub(super) fn deadline(&self) -> Result<Duration, PolicyError> {
        let duration = match self.value() {
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
