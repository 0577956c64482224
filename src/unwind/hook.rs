//! The optional panic hook: where a contained panic happened, without its payload on stderr.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    cell::{Cell, RefCell},
    panic,
    sync::Once,
};

/// Where the standard library's sources are, on every machine that it is built on.
const STD_SOURCES: [&str; 3] = ["/library/core/src/", "/library/alloc/src/", "/library/std/src/"];

thread_local! {
    /// The guards that this thread is inside of. Plain cells: a guard costs next to nothing.
    static GUARDS: Guards = const {
        Guards { current: Cell::new(0), last: Cell::new(0), have_sites: Cell::new(false) }
    };
    /// Where the last panic inside of each guard happened, by the guard. Nearly always empty.
    static SITES: RefCell<Vec<(u64, Site)>> = const { RefCell::new(Vec::new()) };
}

struct Guards {
    /// The innermost guard; 0 outside of all.
    current: Cell<u64>,
    /// The last one that was given out.
    last: Cell<u64>,
    have_sites: Cell<bool>,
}

/// Where a panic happened.
pub(crate) struct Site {
    pub(super) location: String,
    pub(super) backtrace: Option<String>,
}

/// Marks that panics on this thread are caught by us until it is dropped.
pub(super) struct Contained {
    id: u64,
    outer: u64,
}

impl Contained {
    #[inline]
    pub(super) fn enter() -> Self {
        let entered = GUARDS.try_with(|guards| {
            let id = guards.last.get().wrapping_add(1);
            guards.last.set(id);
            (id, guards.current.replace(id))
        });
        // Without the thread's locals there is nothing to mark, and no hook that would look.
        let (id, outer) = entered.unwrap_or((0, 0));
        Self { id, outer }
    }

    /// Where the panic that was just caught happened; nothing without the hook.
    pub(super) fn site(&self) -> Option<Site> {
        SITES
            .try_with(|sites| {
                let mut sites = sites.try_borrow_mut().ok()?;
                let at = sites.iter().position(|(guard, _)| *guard == self.id)?;
                Some(sites.swap_remove(at).1)
            })
            .ok()
            .flatten()
    }
}

impl Drop for Contained {
    #[inline]
    fn drop(&mut self) {
        let have_sites = GUARDS.try_with(|guards| {
            guards.current.set(self.outer);
            guards.have_sites.get()
        });
        // What is left is that of a panic which the guarded code has caught itself.
        if have_sites == Ok(true) {
            drop(self.site());
            let _ = SITES.try_with(|sites| {
                let are_left = sites.try_borrow().is_ok_and(|sites| !sites.is_empty());
                GUARDS.try_with(|guards| guards.have_sites.set(are_left))
            });
        }
    }
}

/// Installs a panic hook that adds `location` and, where `RUST_BACKTRACE` or `RUST_LIB_BACKTRACE`
/// ask for one, `backtrace` to the log line of a contained panic, and keeps the panic's payload
/// off stderr, where it would stand unredacted. The backtrace begins with the code that panicked.
/// All other panics go to the hook that was installed before: those in tasks that a tool spawns are
/// among them, [`Call::scope`](crate::Call::scope) or not, since nothing here catches them. Nothing
/// is ever written to stdout. A panic in a tool that the tool catches itself goes nowhere: whether it
/// will is not known when it is raised.
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
            let guard = GUARDS.try_with(|guards| guards.current.get()).unwrap_or(0);
            if guard == 0 || !remember(guard, info) {
                previous(info);
            }
        }));
    });
}

/// Keeps where a panic happened. Must not panic: the process would abort.
fn remember(guard: u64, info: &panic::PanicHookInfo<'_>) -> bool {
    let location =
        info.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| {
        crate::text::cut_bytes(from_the_panic(&backtrace.to_string()), crate::text::BACKTRACE_BYTES)
            .into_owned()
    });
    let _ = GUARDS.try_with(|guards| guards.have_sites.set(true));
    SITES
        .try_with(|sites| {
            let Ok(mut sites) = sites.try_borrow_mut() else { return false };
            sites.retain(|(known, _)| *known != guard);
            sites.push((guard, Site { location, backtrace }));
            true
        })
        .unwrap_or(false)
}

/// The frames of `backtrace` from the code that panicked on: without those of the hook, and of what
/// the standard library did between that code and the panic. One of another form stays whole.
fn from_the_panic(backtrace: &str) -> &str {
    let mut at = 0;
    let mut is_raised = false;
    let mut first = None;
    for line in backtrace.split_inclusive('\n') {
        match function_of_frame(line) {
            Some(_) if first.is_some() => break,
            Some(function) if is_raised => first = (!is_of_std(function)).then_some(at),
            Some(function) => {
                is_raised = function.starts_with("core::panicking::")
                    || (function.starts_with("std::panicking::begin_panic")
                        && !function.starts_with("std::panicking::begin_panic_handler"));
            }
            // What is inlined has a name without a path: `unwrap<u8>`.
            None if STD_SOURCES.iter().any(|source| line.contains(source)) => first = None,
            None => {}
        }
        at += line.len();
    }
    first.and_then(|first| backtrace.get(first..)).unwrap_or(backtrace)
}

/// What `  12: path::of::a::function` names; the lines between say where it stands.
fn function_of_frame(line: &str) -> Option<&str> {
    let (number, function) = line.trim().split_once(": ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(function)
}

fn is_of_std(function: &str) -> bool {
    // `<alloc::vec::Vec<T> as core::ops::index::Index<usize>>::index`, `<[T] as …>`, `<usize as …>`
    let path = function.trim_start_matches(['<', '&']);
    let is_built_in = path.split_once(" as ").is_some_and(|(of, _)| !of.contains("::"));
    is_built_in
        || path.starts_with('[')
        || ["core::", "alloc::", "std::"].iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        /// What the hook saw of a panic on this thread, while it is to look.
        static SEEN: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// The backtrace of a panic in `work`, from its first frame that is worth a look.
    fn first_frame(work: fn()) -> String {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                let seen = SEEN.with(|seen| match &mut *seen.borrow_mut() {
                    Some(seen) => {
                        let backtrace = Backtrace::force_capture().to_string();
                        *seen = from_the_panic(&backtrace).to_owned();
                        true
                    }
                    None => false,
                });
                if !seen {
                    previous(info);
                }
            }));
        });
        SEEN.set(Some(String::new()));
        assert!(panic::catch_unwind(work).is_err());
        let seen = SEEN.take().unwrap();
        seen.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_users_frame_comes_first() {
        fn user_formatted() {
            panic!("at {}", "noon");
        }
        fn user_unwrapped() {
            std::hint::black_box(None::<u8>).unwrap();
        }
        fn user_expected() {
            std::hint::black_box(Err::<u8, _>("x")).expect("y");
        }
        fn user_divided() {
            let zero = std::hint::black_box(0);
            std::hint::black_box(1 / zero);
        }
        fn user_indexed() {
            let empty = std::hint::black_box(Vec::<String>::new());
            std::hint::black_box(&empty[1]);
        }
        fn user_any() {
            panic::panic_any(1_u8);
        }
        fn user_destructor() {
            struct Inner;
            impl Drop for Inner {
                fn drop(&mut self) {
                    let _ = panic::catch_unwind(|| panic!("inner"));
                }
            }
            let _inner = Inner;
            panic!("outer");
        }
        let cases: [(fn(), &str); 7] = [
            (user_formatted, "user_formatted"),
            (user_unwrapped, "user_unwrapped"),
            (user_expected, "user_expected"),
            (user_divided, "user_divided"),
            (user_indexed, "user_indexed"),
            (user_any, "user_any"),
            (user_destructor, "user_destructor"),
        ];
        for (work, name) in cases {
            let first = first_frame(work);
            assert!(first.contains(name), "{name}: {first}");
        }
    }

    #[test]
    fn a_place_is_that_of_the_panic_that_was_caught() {
        use crate::unwind;

        fn place<T>(work: impl FnOnce() -> T) -> Option<String> {
            unwind::catch(work).err().and_then(|cause| cause.location)
        }
        struct Nested;
        impl Drop for Nested {
            fn drop(&mut self) {
                unwind::shielded(|| panic!("inner"));
            }
        }
        install();
        let line = line!() + 3;
        let outer = place(|| {
            let _nested = Nested;
            panic!("outer");
        });
        assert_eq!(outer, Some(format!("{}:{line}", file!())));
        // A panic that is not ours, and one that no hook sees.
        assert_eq!(place(|| panic::catch_unwind(|| panic!("swallowed")).is_err()), None);
        assert_eq!(place(|| panic::resume_unwind(Box::new("resumed"))), None);
    }

    #[test]
    fn a_backtrace_of_another_form_stays_whole() {
        for backtrace in ["", "disabled backtrace", "   0: a\n   1: b\n", "äöü: core::panicking::"]
        {
            assert_eq!(from_the_panic(backtrace), backtrace);
        }
    }
}
