//! The ways to go wrong that tools, prompts, resources and custom messages share.

use std::{
    error::Error,
    fmt,
    panic::panic_any,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tower_outcome::ToolError;

use super::params::When;

/// An error with what it was caused by.
#[derive(Debug)]
pub(crate) struct Broken {
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Broken {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None }
    }

    pub(crate) fn because(
        what: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { what: what.into(), source: Some(source.into()) }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Broken {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_deref()? as _)
    }
}

/// An error with `text` three sources deep, as a database driver's often is.
pub(crate) fn deep_error(text: String) -> Result<(), Broken> {
    let connection = Broken::because("connection failed", Broken::new(text));
    let query = Broken::because("query failed", connection);
    Err(Broken::because("note store unavailable", query))
}

/// What prompts, resources and custom messages can be asked to do.
pub(crate) const HOWS: &[&str] = &["ok", "error", "rejected", "panic", "hang"];

/// Ends as `how` says.
pub(crate) async fn misbehave(how: &str) -> Result<String, ToolError> {
    match how {
        "error" => deep_error("secret-of-misbehave".to_owned())?,
        "rejected" => {
            return Err(ToolError::rejected("asked_to_reject", "'how' was 'rejected'.")
                .recover("Pass how='ok'."));
        }
        "panic" => panic!("secret-of-misbehave"),
        "hang" => std::future::pending().await,
        _ => {}
    }
    Ok(how.to_owned())
}

/// A call, as a protocol library has it.
pub(crate) trait Asked {
    /// The tool that is called; `None` if none is.
    fn asked_for(&self) -> Option<&str>;

    /// An argument that is a string.
    fn argument(&self, name: &str) -> Option<&str>;

    /// Whether it is `panic` with this `when`.
    fn panics(&self, when: &str) -> bool {
        self.asked_for() == Some("panic") && self.argument("when") == Some(when)
    }
}

/// `panic` with `when: sync` panics here, before there is a future.
pub(crate) fn before_the_future(request: &impl Asked) {
    if request.panics("sync") {
        panic!("{}", request.argument("text").unwrap_or_default());
    }
}

/// Panics at the time that `when` says.
pub(crate) async fn panic_when(
    when: When,
    text: String,
    lock: &Mutex<u64>,
) -> Result<(), ToolError> {
    match when {
        // `sync` has happened already, unless the tool was called past the rest of the server.
        When::Sync | When::FirstPoll => panic!("{text}"),
        When::AfterAwait => {
            tokio::time::sleep(Duration::from_millis(5)).await;
            panic!("{text}")
        }
        When::Locked => panic_locked(lock, &text),
        When::Spawned => {
            let task = tokio::spawn(async move { panic!("{text}") });
            Ok(task.await?)
        }
        When::PayloadDrop => panic_any(PanicsWhenDropped(text)),
        When::LocalDrop => {
            let _local = PanicsWhenDropped(text);
            std::future::pending().await
        }
    }
}

/// The first call poisons the lock; each later one panics because it is poisoned.
fn panic_locked(lock: &Mutex<u64>, text: &str) -> ! {
    let mut held = match lock.lock() {
        Ok(held) => held,
        Err(poisoned @ PoisonError { .. }) => panic!("{text}: {poisoned}"),
    };
    *held += 1;
    panic!("{text}")
}

struct PanicsWhenDropped(String);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        // A second panic while the first unwinds would abort the process.
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}
