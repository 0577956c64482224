//! The optional panic hook: where a contained panic happened, without its payload on stderr.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    cell::{Cell, RefCell},
    panic,
    sync::Once,
};

/// Bytes of a backtrace that are kept.
const BACKTRACE_BYTES: usize = 16 * 1024;

thread_local! {
    /// How many guards this thread is inside of.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the last panic inside of them happened.
    static SITE: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// Where a panic happened.
pub(crate) struct Site {
    pub(super) location: String,
    pub(super) backtrace: Option<String>,
}

/// Marks that panics on this thread are caught by us until it is dropped.
pub(super) struct Contained(());

impl Contained {
    pub(super) fn enter() -> Self {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get().saturating_add(1)));
        Self(())
    }

    /// Where the panic that was just caught happened; nothing without the hook.
    pub(super) fn site(&self) -> Option<Site> {
        SITE.try_with(|site| site.try_borrow_mut().ok()?.take()).ok().flatten()
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// Installs a panic hook that adds `location` and, where `RUST_BACKTRACE` or `RUST_LIB_BACKTRACE`
/// ask for one, `backtrace` to the log line of a contained panic, and keeps the panic's payload
/// off stderr, where it would stand unredacted. All other panics go to the hook that was installed
/// before. Nothing is ever written to stdout.
///
/// Call it once, early in `main`, after any other crate has installed its hook; a second call does
/// nothing. Nothing else in this crate installs a hook: without it, contained panics are printed
/// by the standard hook as ever, and logged without their place.
///
/// ```
/// tower_outcome::install_panic_hook();
/// ```
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let contained = DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(false);
            if !contained || !remember(info) {
                previous(info);
            }
        }));
    });
}

/// Keeps where a panic happened. Must not panic: the process would abort.
fn remember(info: &panic::PanicHookInfo<'_>) -> bool {
    let location =
        info.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured)
        .then(|| crate::text::cut_bytes(&backtrace.to_string(), BACKTRACE_BYTES).into_owned());
    SITE.try_with(|site| match site.try_borrow_mut() {
        Ok(mut site) => {
            *site = Some(Site { location, backtrace });
            true
        }
        Err(_) => false,
    })
    .unwrap_or(false)
}
