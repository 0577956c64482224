//! What `fail_declared` fails with.

use std::time::Duration;

use tower_outcome::{Actor, Declared, Level, ToolError};

use super::params::DeclaredArgs;

/// The failure that the arguments of `fail_declared` describe.
pub(crate) fn declared(args: DeclaredArgs) -> Result<ToolError, ToolError> {
    let outcomes = ["rejected", "stale", "fault"];
    let outcome = known("outcome", &args.outcome, Declared::from_name, &outcomes)?;
    let message = args.message.unwrap_or_else(|| format!("Declared as '{}'.", args.code));
    let mut error = match outcome {
        Declared::Rejected => ToolError::rejected(args.code, message),
        Declared::Stale => ToolError::stale(args.code, message),
        Declared::Fault => ToolError::fault().code(args.code).message(message),
    };
    if let Some(actor) = args.actor {
        let actors = ["model", "user", "time", "operator"];
        error = error.actor(known("actor", &actor, Actor::from_name, &actors)?);
    }
    if let Some(level) = args.level {
        let levels = ["trace", "debug", "info", "warn", "error"];
        error = error.level(known("level", &level, Level::from_name, &levels)?);
    }
    if let Some(seconds) = args.retry_after {
        let delay = Duration::try_from_secs_f64(seconds).map_err(|_| {
            ToolError::rejected("invalid_delay", "This is no delay in seconds.")
                .field("retry_after")
                .received(seconds)
                .recover("Pass a number of seconds that is not negative.")
        })?;
        error = error.retry_after(delay);
    }
    Ok(error)
}

/// The value that an argument names.
fn known<T>(
    field: &'static str,
    name: &str,
    from_name: impl Fn(&str) -> Option<T>,
    names: &[&'static str],
) -> Result<T, ToolError> {
    from_name(name).ok_or_else(|| {
        ToolError::rejected(format!("unknown_{field}"), "This is none of the known values.")
            .field(field)
            .received(name)
            .permitted(names)
    })
}
