//! How errors of all kinds become a [`ToolError`].

use std::{
    any::{TypeId, type_name},
    borrow::Cow,
    error::Error,
};

use super::{Source, ToolError};

/// What an error of your own means, said once. Raise it with
/// [`declared`](ResultExt::declared).
///
/// ```
/// use std::time::Duration;
/// use tower_outcome::{Declare, ResultExt as _, ToolError};
///
/// enum StoreError {
///     UnknownNote { path: String, known: Vec<String> },
///     Changed { path: String },
///     Rebuilding,
///     SignedOut,
///     Disk(std::io::Error),
/// }
///
/// impl Declare for StoreError {
///     fn declare(self) -> ToolError {
///         match self {
///             Self::UnknownNote { path, known } => {
///                 ToolError::rejected("unknown_note", "There is no such note.")
///                     .field("path")
///                     .received(path)
///                     .closest(known)
///                     .recover("Find the path with search_notes.")
///             }
///             Self::Changed { path } => {
///                 ToolError::stale("version_conflict", format!("Note '{path}' has changed."))
///                     .recover("Call read_note and pass its version as if_match.")
///             }
///             Self::Rebuilding => {
///                 ToolError::transient("index_rebuilding", "The index is being rebuilt.")
///                     .retry_after(Duration::from_secs(60))
///             }
///             Self::SignedOut => ToolError::user_action("signed_out", "The user is signed out.")
///                 .recover("Ask the user to sign in, then call it again."),
///             // Nothing to say about it: a fault with the fixed text, the cause in the log.
///             Self::Disk(error) => error.into(),
///         }
///     }
/// }
///
/// # fn load(path: &str) -> Result<String, StoreError> {
/// #     Err(StoreError::UnknownNote { path: path.into(), known: vec!["inbox/todo.md".into()] })
/// # }
/// fn read_note(path: &str) -> Result<String, ToolError> {
///     Ok(load(path).declared()?)
/// }
///
/// let text = read_note("inbox/tood.md").unwrap_err().to_string();
/// assert!(text.contains("The closest match is inbox/todo.md."));
/// ```
///
/// # Do not implement `Error` for it
///
/// **An error that implements [`std::error::Error`] also goes through a bare `?`, and is then an
/// unknown fault, whatever it declares here**: ERROR, and a text that does not help the model. The
/// compiler cannot tell. So leave that implementation out (no `#[derive(thiserror::Error)]`), and a
/// forgotten `.declared()` does not compile; where the error needs it for other reasons, always
/// write `.declared()?`. (A `From` of your own is not possible beside the one for all errors.)
///
/// Without it, a bare `?` gives
///
/// ```text
/// error[E0277]: `?` couldn't convert the error: `StoreError: std::error::Error` is not satisfied
/// note: `StoreError` needs to implement `std::error::Error`
/// ```
///
/// What is missing is `.declared()`, not the `Error` that the note asks for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it means to the model",
    note = "implement `tower_outcome::Declare` for it, or use `?` or `or_fault()` to make it a \
            fault that the operator has to look at"
)]
pub trait Declare {
    /// What it means.
    fn declare(self) -> ToolError;
}

impl Declare for ToolError {
    fn declare(self) -> ToolError {
        self
    }
}

/// Errors for which `?` is not enough: a boxed one, a text, an `anyhow::Error` or an
/// `eyre::Report` needs [`or_fault`](Self::or_fault), one that says what it means
/// [`declared`](Self::declared).
///
/// What the compiler says where one of them is missing:
///
/// ```text
/// error[E0277]: `?` couldn't convert the error: `anyhow::Error: std::error::Error` is not satisfied
/// error[E0277]: `?` couldn't convert the error: `dyn std::error::Error + Send + Sync: Sized` is not satisfied
/// error[E0277]: `?` couldn't convert the error: `StoreError: std::error::Error` is not satisfied
/// ```
///
/// The first two want `.or_fault()?`, the last, of an error that implements [`Declare`],
/// `.declared()?`. **An error that implements both `Error` and `Declare` compiles with a bare `?`,
/// and is then an unknown fault**: see [`Declare`](Declare#do-not-implement-error-for-it).
pub trait ResultExt<T, E>: Sized {
    /// Makes any error a fault with a fixed text, as `?` does for those that implement
    /// [`Error`]: a boxed one, a text, an `anyhow::Error` or an `eyre::Report`. The log gets all
    /// of it, the model nothing. With the features `anyhow` and `eyre`, a timeout or a panic
    /// inside one of those is recognised.
    ///
    /// ```
    /// use tower_outcome::{ResultExt as _, ToolError};
    ///
    /// fn parse(text: &str) -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
    ///     Ok(text.parse()?)
    /// }
    ///
    /// fn tool() -> Result<u8, ToolError> {
    ///     Ok(parse("300").or_fault()?)
    /// }
    /// # assert!(tool().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The fault, if `self` is an error.
    fn or_fault(self) -> Result<T, ToolError>
    where
        E: Into<Box<dyn Error + Send + Sync>> + 'static;

    /// Makes an error what it [declares](Declare) to be. A bare `?` does not: where the error
    /// implements [`Error`] too, it makes it an unknown fault.
    ///
    /// # Errors
    ///
    /// What the error declares, if `self` is one.
    fn declared(self) -> Result<T, ToolError>
    where
        E: Declare;
}

impl<T, E> ResultExt<T, E> for Result<T, E> {
    fn or_fault(self) -> Result<T, ToolError>
    where
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        self.map_err(|error| ToolError::undeclared(source(error)))
    }

    fn declared(self) -> Result<T, ToolError>
    where
        E: Declare,
    {
        self.map_err(Declare::declare)
    }
}

/// Any error is a fault with a fixed text: what `?` does. One that implements
/// [`Declare`] as well is no exception; raise it with [`declared`](ResultExt::declared).
impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::undeclared(Source { error: Box::new(error), type_name: Some(type_name::<E>()) })
    }
}

/// What `error` is, opened as far as its type allows.
pub(super) fn source<E>(error: E) -> Source
where
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    #[cfg(any(feature = "anyhow", feature = "eyre"))]
    let error = match opened(error) {
        Ok(source) => return source,
        Err(error) => error,
    };
    // The name of a box or a text says nothing about the error.
    let is_opaque = [
        TypeId::of::<Box<dyn Error + Send + Sync>>(),
        TypeId::of::<String>(),
        TypeId::of::<&'static str>(),
        TypeId::of::<Cow<'static, str>>(),
    ]
    .contains(&TypeId::of::<E>());
    Source { type_name: (!is_opaque).then(type_name::<E>), error: error.into() }
}

#[cfg(any(feature = "anyhow", feature = "eyre"))]
fn opened<E: 'static>(error: E) -> Result<Source, E> {
    use std::any::Any;

    let mut error = Some(error);
    let slot: &mut dyn Any = &mut error;
    #[cfg(feature = "anyhow")]
    if let Some(report) = slot.downcast_mut::<Option<anyhow::Error>>().and_then(Option::take) {
        return Ok(Source { error: Box::new(report::Report(report)), type_name: None });
    }
    #[cfg(feature = "eyre")]
    if let Some(report) = slot.downcast_mut::<Option<eyre::Report>>().and_then(Option::take) {
        return Ok(Source { error: Box::new(report::Report(report)), type_name: None });
    }
    match error {
        Some(error) => Err(error),
        // Not reached: what was taken has been returned.
        None => Ok(Source { error: "no error".into(), type_name: None }),
    }
}

#[cfg(any(feature = "anyhow", feature = "eyre"))]
mod report {
    use std::{error::Error, fmt};

    /// A report whose source is the report's first error, under its own type. Boxed the usual
    /// way, that type is hidden.
    pub(super) struct Report<R>(pub(super) R);

    impl<R: AsRef<dyn Error + 'static> + fmt::Debug> Error for Report<R> {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self.0.as_ref())
        }
    }

    impl<R: AsRef<dyn Error + 'static>> fmt::Display for Report<R> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(self.0.as_ref(), f)
        }
    }

    impl<R: fmt::Debug> fmt::Debug for Report<R> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::{cause, outcome::Code, policy::Policy};

    type BoxError = Box<dyn Error + Send + Sync>;

    /// The code, type and text that `error` would be logged with.
    fn logged<E: Into<BoxError> + 'static>(error: E) -> (Code, String, String) {
        let source = Err::<(), E>(error).or_fault().unwrap_err().0.source.unwrap();
        let diagnosis = cause::diagnose(&*source.error, source.type_name, &Policy::new());
        (diagnosis.code, diagnosis.cause.error_type.into(), diagnosis.cause.chain)
    }

    fn expected(code: Code, error_type: &str, chain: &str) -> (Code, String, String) {
        (code, error_type.to_owned(), chain.to_owned())
    }

    #[test]
    fn boxes_and_texts_get_in() {
        let bug = Code::INTERNAL_ERROR;
        assert_eq!(logged("text"), expected(bug.clone(), "error", "text"));
        assert_eq!(logged("text".to_owned()), expected(bug.clone(), "error", "text"));
        assert_eq!(logged(BoxError::from("text")), expected(bug.clone(), "error", "text"));
        let number = "x".parse::<u8>().unwrap_err();
        let chain = number.to_string();
        assert_eq!(logged(number), expected(bug, "std::num::ParseIntError", &chain));
        let timeout = || io::Error::from(io::ErrorKind::TimedOut);
        let (code, name, _) = logged(BoxError::from(timeout()));
        assert_eq!((code.as_str(), name.as_str()), ("timeout", "std::io::Error"));
    }

    #[cfg(feature = "anyhow")]
    #[tokio::test]
    async fn what_anyhow_hides_is_recognised() {
        let timeout = || io::Error::new(io::ErrorKind::TimedOut, "slow");
        let expected = expected(Code::TIMEOUT, "std::io::Error", "slow");
        assert_eq!(logged(anyhow::Error::new(timeout())), expected);
        let error = anyhow::Error::new(timeout()).context("reading").context("starting");
        let (code, name, chain) = logged(error);
        assert_eq!(
            (code.as_str(), &*name, &*chain),
            ("timeout", "std::io::Error", "starting: reading: slow")
        );
        let joined = tokio::spawn(async { panic!("boom") }).await.unwrap_err();
        assert_eq!(logged(anyhow::Error::new(joined)).0, Code::PANIC);
        assert_eq!(logged(anyhow::anyhow!("text")).2, "text");
    }

    #[cfg(feature = "eyre")]
    #[test]
    fn what_eyre_hides_is_recognised() {
        // Without its default features eyre has no handler of its own.
        let _ = eyre::set_hook(Box::new(eyre::DefaultHandler::default_with));
        let error = eyre::Report::new(io::Error::new(io::ErrorKind::TimedOut, "slow"));
        let (code, _, chain) = logged(error.wrap_err("reading"));
        assert_eq!((code.as_str(), &*chain), ("timeout", "reading: slow"));
    }

    #[test]
    fn a_question_mark_keeps_the_error_and_its_type() {
        fn tool() -> Result<u8, ToolError> {
            Ok("x".parse()?)
        }
        let error = tool().unwrap_err();
        assert!(error.cause().is_some_and(|cause| cause.is::<std::num::ParseIntError>()));
        let source = error.0.source.as_ref().unwrap();
        assert_eq!(source.type_name, Some("core::num::error::ParseIntError"));
    }

    #[test]
    fn an_error_can_be_taken_back_unless_something_was_declared() {
        let error = || ToolError::from(io::Error::other("x"));
        assert!(error().into_source::<io::Error>().is_ok());
        let other = error().into_source::<std::num::ParseIntError>().unwrap_err();
        assert!(other.into_source::<io::Error>().is_ok(), "nothing is lost on the way");
        assert!(error().message("m").into_source::<io::Error>().is_err());
        assert!(ToolError::fault().into_source::<io::Error>().is_err());
        let sourced = ToolError::fault().source(io::Error::other("x"));
        assert!(sourced.into_source::<io::Error>().is_err());
        let boxed: BoxError = Box::new(io::Error::other("x"));
        assert!(Err::<(), _>(boxed).or_fault().unwrap_err().into_source::<io::Error>().is_ok());
    }

    #[test]
    fn a_users_own_error_declares_itself() {
        struct Gone;
        impl Declare for Gone {
            fn declare(self) -> ToolError {
                ToolError::stale("gone", "It is gone.")
            }
        }
        let error = Err::<(), _>(Gone).declared().unwrap_err();
        assert_eq!(error.declaration().code(), "gone");
    }
}
