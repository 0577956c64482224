//! What an error really is: its source chain as one text, and whether it heals by itself.

use std::{
    error::Error,
    fmt::{self, Write as _},
    io,
    sync::Arc,
};

use crate::{
    outcome::{Cause, Code},
    policy::{Heals, Policy},
    unwind,
};

/// Errors of a chain that are looked at: a `source` may lead in a circle.
const MAX_LINKS: usize = 32;
/// Bytes of a chain's text. The log keeps half of it, after redaction.
const CHAIN_BYTES: usize = 2 * crate::text::CAUSE_BYTES;

/// What was found out about an error.
pub(crate) struct Diagnosis {
    /// `panic`, `timeout`, `rate_limited`, `upstream_error` or `internal_error`.
    pub(crate) code: Code,
    /// What it waits for, where it heals itself.
    pub(crate) heals: Option<Heals>,
    /// What an operator reads about it.
    pub(crate) cause: Cause,
}

/// What is known of an error by its type.
#[derive(Default)]
struct Known {
    /// The type's public name.
    name: &'static str,
    is_panic: bool,
    is_upstream: bool,
    heals: Option<Heals>,
}

/// The texts of a chain, joined, without what a text repeats of its source.
#[derive(Default)]
struct Texts {
    joined: String,
    last: String,
}

/// A text that takes no more than [`CHAIN_BYTES`].
#[derive(Default)]
struct Bounded(String);

/// Follows the sources of `error`, whose type is `type_name` where the caller knows it.
pub(crate) fn diagnose(
    error: &(dyn Error + 'static),
    type_name: Option<&'static str>,
    policy: &Policy,
) -> Diagnosis {
    let mut texts = Texts::default();
    let mut heals = None;
    let (mut is_panic, mut is_upstream) = (false, false);
    // The compiler's name of a type tells where it is defined: `std::io::error::Error`.
    let type_name = known(error).map(|known| known.name).or(type_name);
    let mut known_name = None;
    let mut next = Some(error);
    for _ in 0..MAX_LINKS {
        let Some(link) = next else { break };
        texts.add(link);
        let known = known(link);
        if let Some(known) = &known {
            is_panic |= known.is_panic;
            is_upstream |= known.is_upstream;
            known_name = known_name.or(Some(known.name));
        }
        let here = known.and_then(|known| known.heals).or_else(|| policy.recognised(link));
        heals = merge(heals, here);
        next = source_of(link);
    }
    let (code, heals) = match heals {
        _ if is_panic => (Code::PANIC, None),
        Some(Heals::Timeout) => (Code::TIMEOUT, heals),
        Some(Heals::RateLimit(_)) => (Code::RATE_LIMITED, heals),
        Some(Heals::Unavailable(_)) => (Code::UPSTREAM_ERROR, heals),
        None if is_upstream => (Code::UPSTREAM_ERROR, None),
        None => (Code::INTERNAL_ERROR, None),
    };
    let error_type = if is_panic { "panic" } else { type_name.or(known_name).unwrap_or("error") };
    Diagnosis { code, heals, cause: Cause::new(error_type, texts.joined) }
}

/// The outermost error is right; one further in may know how long it takes.
fn merge(outer: Option<Heals>, inner: Option<Heals>) -> Option<Heals> {
    match (outer, inner) {
        (Some(Heals::RateLimit(None)), Some(Heals::RateLimit(delay))) => {
            Some(Heals::RateLimit(delay))
        }
        (Some(Heals::Unavailable(None)), Some(Heals::Unavailable(delay))) => {
            Some(Heals::Unavailable(delay))
        }
        (Some(outer), _) => Some(outer),
        (None, inner) => inner,
    }
}

/// What the type of this one error says, its sources aside.
fn known(error: &(dyn Error + 'static)) -> Option<Known> {
    let plain = |name, heals| Some(Known { name, heals, ..Known::default() });
    if let Some(error) = error.downcast_ref::<io::Error>() {
        let heals = (error.kind() == io::ErrorKind::TimedOut).then_some(Heals::Timeout);
        return plain("std::io::Error", heals);
    }
    if error.is::<tokio::time::error::Elapsed>() {
        return plain("tokio::time::error::Elapsed", Some(Heals::Timeout));
    }
    if error.is::<tower::timeout::error::Elapsed>() {
        return plain("tower::timeout::error::Elapsed", Some(Heals::Timeout));
    }
    if error.is::<tower::load_shed::error::Overloaded>() {
        return plain("tower::load_shed::error::Overloaded", Some(Heals::RateLimit(None)));
    }
    if let Some(error) = error.downcast_ref::<tokio::task::JoinError>() {
        let is_panic = error.is_panic();
        return Some(Known { name: "tokio::task::JoinError", is_panic, ..Known::default() });
    }
    #[cfg(feature = "http")]
    if error.is::<crate::binding::http::UpstreamError>() {
        let name = "tower_outcome::binding::http::UpstreamError";
        return Some(Known { name, is_upstream: true, ..Known::default() });
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = error.downcast_ref::<reqwest::Error>() {
        let is_limit = error.status().is_some_and(|status| status.as_u16() == 429);
        // It asks its sources, whose authors we do not know.
        let is_timeout = unwind::catch(|| error.is_timeout()).unwrap_or(false);
        let heals = if is_limit {
            Some(Heals::RateLimit(None))
        } else {
            is_timeout.then_some(Heals::Timeout)
        };
        return plain("reqwest::Error", heals);
    }
    let names = [
        (error.is::<std::num::ParseIntError>(), "std::num::ParseIntError"),
        (error.is::<std::num::ParseFloatError>(), "std::num::ParseFloatError"),
        (error.is::<std::str::Utf8Error>(), "std::str::Utf8Error"),
        (error.is::<std::string::FromUtf8Error>(), "std::string::FromUtf8Error"),
        (error.is::<fmt::Error>(), "std::fmt::Error"),
        (error.is::<serde_json::Error>(), "serde_json::Error"),
    ];
    names.iter().find(|(is_it, _)| *is_it).and_then(|(_, name)| plain(*name, None))
}

/// The next error of a chain; none where `source` panics.
fn source_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    // `io::Error` and `Arc` answer with the source of what they wrap, and so hide what that is.
    if let Some(error) = error.downcast_ref::<io::Error>()
        && let Some(wrapped) = error.get_ref()
    {
        return Some(wrapped);
    }
    if let Some(error) = error.downcast_ref::<Arc<io::Error>>() {
        return Some(&**error);
    }
    if let Some(error) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return Some(&**error);
    }
    unwind::catch(|| error.source()).ok().flatten()
}

impl Texts {
    fn add(&mut self, error: &dyn Error) {
        let mut text = Bounded::default();
        // An error means that the bound is reached.
        if unwind::catch(|| write!(text, "{error}").is_ok()).is_err() && text.0.is_empty() {
            text.0.push_str("[not shown: its Display panicked]");
        }
        let Bounded(text) = text;
        // Many an error's own text ends with its source's.
        if self.last.ends_with(&text) {
            return;
        }
        let mut joined = Bounded(std::mem::take(&mut self.joined));
        let _ = match joined.0.is_empty() {
            true => joined.write_str(&text),
            false => joined.write_str(": ").and_then(|()| joined.write_str(&text)),
        };
        self.joined = joined.0;
        self.last = text;
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = CHAIN_BYTES.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let mut keep = room;
        while !text.is_char_boundary(keep) {
            keep = keep.saturating_sub(1);
        }
        self.0.push_str(text.get(..keep).unwrap_or_default());
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Debug)]
    struct Link(&'static str, Option<Box<dyn Error + Send + Sync>>);

    impl fmt::Display for Link {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                "panic" => panic!("no text"),
                text => f.write_str(text),
            }
        }
    }

    impl Error for Link {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            match self.0 {
                "circle" => Some(self),
                "no source" => panic!("no source"),
                _ => self.1.as_deref().map(|source| source as _),
            }
        }
    }

    fn link(text: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Link {
        Link(text, Some(source.into()))
    }

    async fn elapsed() -> tokio::time::error::Elapsed {
        tokio::time::timeout(Duration::ZERO, std::future::pending::<()>()).await.unwrap_err()
    }

    fn diagnosed(error: &(dyn Error + 'static)) -> Diagnosis {
        diagnose(error, None, &Policy::new())
    }

    #[tokio::test]
    async fn timeouts_and_rate_limits_are_found_wherever_they_are() {
        let timeout = Some(Heals::Timeout);
        let limit = Some(Heals::RateLimit(None));
        let tower_elapsed = tower::timeout::error::Elapsed::new;
        let cases: Vec<(Box<dyn Error>, Option<Heals>)> = vec![
            (Box::new(elapsed().await), timeout),
            (Box::new(tower_elapsed()), timeout),
            (Box::new(io::Error::from(io::ErrorKind::TimedOut)), timeout),
            (Box::new(io::Error::other(elapsed().await)), timeout),
            (Box::new(io::Error::other(link("a", link("b", tower_elapsed())))), timeout),
            (Box::new(io::Error::other(io::Error::other(elapsed().await))), timeout),
            (Box::new(Arc::new(io::Error::other(elapsed().await))), timeout),
            (Box::new(link("a", io::Error::other(elapsed().await))), timeout),
            (Box::new(tower::load_shed::error::Overloaded::new()), limit),
            (Box::new(link("a", tower::load_shed::error::Overloaded::new())), limit),
            (Box::new(io::Error::from(io::ErrorKind::NotFound)), None),
            (Box::new(link("timed out", "deadline has elapsed")), None),
        ];
        for (error, heals) in cases {
            let diagnosis = diagnosed(&*error);
            assert_eq!(diagnosis.heals, heals, "{error:?}");
            let code = match heals {
                Some(Heals::Timeout) => "timeout",
                Some(Heals::RateLimit(_)) => "rate_limited",
                Some(Heals::Unavailable(_)) => "upstream_error",
                None => "internal_error",
            };
            assert_eq!(diagnosis.code, code, "{error:?}");
        }
    }

    #[tokio::test]
    async fn a_panic_in_another_task_is_a_panic_before_all_else() {
        let joined = tokio::spawn(async { panic!("boom") }).await.unwrap_err();
        let error = io::Error::new(io::ErrorKind::TimedOut, link("the worker", joined));
        let diagnosis = diagnose(&error, Some("std::io::Error"), &Policy::new());
        assert_eq!(diagnosis.code, Code::PANIC);
        assert_eq!(diagnosis.heals, None);
        assert_eq!(diagnosis.cause.error_type, "panic");
        assert!(diagnosis.cause.chain.contains("boom"), "{}", diagnosis.cause.chain);

        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        let cancelled = task.await.unwrap_err();
        assert_eq!(diagnosed(&cancelled).code, Code::INTERNAL_ERROR);
    }

    #[test]
    fn texts_are_joined_once_and_no_link_is_lost() {
        for (error, chain) in [
            (link("a", link("b", "c")), "a: b: c"),
            (link("a: b: c", link("b: c", "c")), "a: b: c"),
            (link("a", io::Error::other(link("b", "c"))), "a: b: c"),
            (link("circle", "never seen"), "circle"),
            (link("no source", "never seen"), "no source"),
            (link("panic", "c"), "[not shown: its Display panicked]: c"),
            (link("", "c"), "c"),
        ] {
            assert_eq!(diagnosed(&error).cause.chain, chain);
        }
    }

    #[test]
    fn the_text_is_bounded() {
        let error = link("a", link("b", "ä".repeat(100_000)));
        let chain = diagnosed(&error).cause.chain;
        assert!(chain.len() <= CHAIN_BYTES && chain.len() > CHAIN_BYTES - 4);
    }

    #[test]
    fn the_type_is_the_callers_then_a_known_one() {
        let not_found = || io::Error::from(io::ErrorKind::NotFound);
        let named = diagnose(&link("a", not_found()), Some("app::Failed"), &Policy::new());
        assert_eq!(named.cause.error_type, "app::Failed");
        assert_eq!(diagnosed(&link("a", not_found())).cause.error_type, "std::io::Error");
        assert_eq!(diagnosed(&link("a", "b")).cause.error_type, "error");
    }

    #[tokio::test]
    async fn a_known_type_has_one_name_whichever_way_it_came_in() {
        async fn assert<E: Error + Send + Sync + 'static>(error: E, name: &str) {
            let type_name = std::any::type_name::<E>();
            let by_type = diagnose(&error, Some(type_name), &Policy::new()).cause.error_type;
            assert_eq!(by_type, name);
            let boxed: Box<dyn Error + Send + Sync> = error.into();
            assert_eq!(diagnosed(&*boxed).cause.error_type, name);
            assert_eq!(diagnosed(&link("a", boxed)).cause.error_type, name);
        }
        assert(io::Error::other("x"), "std::io::Error").await;
        assert(io::Error::other(io::Error::other("x")), "std::io::Error").await;
        assert("x".parse::<u8>().unwrap_err(), "std::num::ParseIntError").await;
        assert("x".parse::<f64>().unwrap_err(), "std::num::ParseFloatError").await;
        assert(fmt::Error, "std::fmt::Error").await;
        let bytes = vec![0xff];
        assert(std::str::from_utf8(&bytes).unwrap_err(), "std::str::Utf8Error").await;
        assert(String::from_utf8(bytes).unwrap_err(), "std::string::FromUtf8Error").await;
        let json = serde_json::from_str::<u8>("x").unwrap_err();
        assert(json, "serde_json::Error").await;
        assert(elapsed().await, "tokio::time::error::Elapsed").await;
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        assert(task.await.unwrap_err(), "tokio::task::JoinError").await;
    }

    #[test]
    fn the_policy_knows_types_of_its_own_and_may_know_the_delay() {
        let delay = Some(Duration::from_secs(7));
        let policy =
            Policy::new().recognise(|_| panic!("a broken recogniser")).recognise(move |error| {
                let link = error.downcast_ref::<Link>()?;
                (link.0 == "busy").then_some(Heals::RateLimit(delay))
            });
        let error = link("outer", link("busy", "c"));
        assert_eq!(diagnose(&error, None, &policy).heals, Some(Heals::RateLimit(delay)));
        let error = tower::load_shed::error::Overloaded::new();
        assert_eq!(diagnose(&error, None, &policy).heals, Some(Heals::RateLimit(None)));
    }

    #[cfg(feature = "reqwest")]
    #[tokio::test]
    async fn answers_that_reqwest_complains_about_count() {
        let answer = |status: u16| {
            let answer = http::Response::builder().status(status).body("").unwrap();
            reqwest::Response::from(answer).error_for_status().unwrap_err()
        };
        assert_eq!(diagnosed(&answer(429)).heals, Some(Heals::RateLimit(None)));
        assert_eq!(diagnosed(&link("a", answer(429))).code, Code::RATE_LIMITED);
        assert_eq!(diagnosed(&answer(500)).heals, None);
    }
}
