//! The seam that everything logged passes: secrets are taken out of a text before it is written.

mod pair;
mod scan;

use std::borrow::Cow;

use crate::unwind;

/// How many times the bound of a text is redacted before the text is cut: a secret that stands
/// across the cut must be seen whole.
const MARGIN: usize = 8;
/// Bytes at the end of a secret in which the name of another one is looked for.
const TAIL: usize = 256;

/// Takes secrets out of texts. Give your own to the log layer where [`Redactor`] does not know
/// what is secret at your place.
///
/// It sees each text whole or cut far behind what will be kept of it. One that panics costs the
/// text, not the log line.
///
/// It is about the log alone, hooks included. What a failure tells the model goes out as it was
/// given: its message, and the value [`received`](crate::ToolError::received), too.
///
/// Functions are redactors, closures by [`redact_fn`].
///
/// ```
/// use std::borrow::Cow;
/// use tower_outcome::{Redact, Redactor};
///
/// /// Also hides the names of our own hosts.
/// struct Hosts;
///
/// impl Redact for Hosts {
///     fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
///         let text = Redactor::new().redact(text);
///         if text.contains(".corp.example") {
///             return Cow::Owned(text.replace(".corp.example", ".[redacted]"));
///         }
///         text
///     }
/// }
///
/// let shown = Hosts.redact("no route to db1.corp.example, password=hunter2");
/// assert_eq!(shown, "no route to db1.[redacted], password=[redacted]");
/// ```
pub trait Redact: Send + Sync {
    /// `text` without its secrets; borrowed where there are none.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;
}

impl<F> Redact for F
where
    F: for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync,
{
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self(text)
    }
}

/// A closure as a redactor. (The compiler has to be told that what a closure returns lives as long
/// as what it is given; this does.)
///
/// ```
/// use std::borrow::Cow;
/// use tower_outcome::{OutcomeLayer, Redact as _, Redactor, redact_fn};
///
/// let host = "db1.corp.example".to_owned();
/// let layer = OutcomeLayer::new().redactor(redact_fn(move |text| {
///     let text = Redactor::new().redact(text);
///     if text.contains(&host) { text.replace(&host, "[host]").into() } else { text }
/// }));
/// # let _ = layer;
/// ```
pub const fn redact_fn<F>(redact: F) -> F
where
    F: for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync,
{
    redact
}

/// The redactor that is used by default. It replaces by `[redacted]`
///
/// - the user and password of a URL: `postgres://app:pw@db/notes`;
/// - what follows `Bearer` and `Basic`, where it looks like a credential or follows
///   `Authorization`;
/// - the value of what is named like a secret, such as `password=…`, `"api_key": "…"`,
///   `?access_token=…`, `Pwd=…;`, `--password …`.
///
/// It prefers to hide too much: `unexpected token: }` loses its last word. It takes time in
/// proportion to the text, and allocates only where it finds something.
///
/// ```
/// use tower_outcome::{Redact as _, Redactor};
///
/// let shown = Redactor::new().redact("cannot reach postgres://app:hunter2@db:5432/notes");
/// assert_eq!(shown, "cannot reach postgres://[redacted]@db:5432/notes");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Redactor(());

impl Redactor {
    /// The default redactor; it holds nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl Redact for Redactor {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = String::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(secret) = scan::next_secret(text, at) {
            // One that begins inside of another and ends after it widens it: a stray quote must
            // not swallow the name of the next secret and leave its value.
            if secret.start >= copied {
                redacted.push_str(text.get(copied..secret.start).unwrap_or_default());
                redacted.push_str(scan::REDACTED);
            }
            copied = secret.end.max(copied);
            if copied == text.len() {
                break;
            }
            // Always forward, whatever was found; and into what is quoted, for the stray quote, or
            // the tail of what is not.
            let is_quoted =
                text.get(..secret.start).is_some_and(|it| it.ends_with(['"', '\'', '`']));
            let tail = secret.end.saturating_sub(TAIL);
            let next = if is_quoted { secret.start } else { secret.start.max(tail) };
            at = next.max(at.saturating_add(1));
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        redacted.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(redacted)
    }
}

/// `text` without its secrets, by a redactor that may panic.
pub(crate) fn shielded(redactor: &dyn Redact, text: &str) -> String {
    let mut redacted = String::from("[not shown: the redactor panicked]");
    unwind::shielded(|| redacted = redactor.redact(text).into_owned());
    redacted
}

/// The start of `text`, redacted: [`MARGIN`] times `limit` bytes of it at most, and `…` where
/// there was more.
pub(crate) fn start(redactor: &dyn Redact, text: &str, limit: usize) -> String {
    let head = head(text, limit.saturating_mul(MARGIN));
    let mut redacted = shielded(redactor, head);
    if head.len() < text.len() {
        redacted.push('…');
    }
    redacted
}

/// At most `max` bytes of `text`, without a word that would be cut: half a secret no longer looks
/// like one. Of a word that is most of it there is no other part to show; only the URL in it, whose
/// password ends at an `@` further on, is left out.
fn head(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let head = text.get(..end).unwrap_or_default();
    let (whole, word) = head.split_at(head.rfind(char::is_whitespace).unwrap_or(0));
    if whole.len() >= max / 2 {
        return whole;
    }
    match word.rfind("://") {
        Some(url) => head.get(..whole.len() + url).unwrap_or(whole),
        None => head,
    }
}

#[cfg(test)]
mod tests;
