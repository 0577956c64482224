//! What a tool returns when it fails: who has to act, what they read, and what only the log gets.

mod bounds;
mod builder;
mod closest;
mod convert;
mod declaration;
mod effects;
mod render;

use std::{borrow::Cow, error::Error, fmt};

pub use self::{
    closest::Candidate,
    convert::{Declare, ResultExt},
    declaration::Declaration,
    effects::{Effects, Limit},
    render::Rendering,
};
use crate::{
    call::Call,
    contain::Fault,
    outcome::{Actor, Cause, Declared},
};

/// The error of a tool, prompt or other handler: who has to act, what they read, and what only the
/// log gets.
///
/// ```
/// use std::time::Duration;
/// use tower_outcome::{Kind, ResultExt as _, ToolError};
///
/// fn load(path: &str) -> Result<Option<String>, std::io::Error> {
///     # if path == "broken" { return Err(std::io::Error::other("/srv/notes: bad disk")); }
///     Ok((path == "inbox/todo.md").then(|| "milk".to_owned()))
/// }
/// # fn known_paths() -> Vec<String> { vec!["inbox/todo.md".to_owned()] }
/// # fn is_rebuilding(path: &str) -> bool { path == "wait" }
///
/// fn read_note(path: &str) -> Result<String, ToolError> {
///     if is_rebuilding(path) {
///         return Err(ToolError::transient("index_rebuilding", "The index is being rebuilt.")
///             .retry_after(Duration::from_secs(60)));
///     }
///     // Any error becomes a fault with a fixed text; the log gets its chain.
///     let note = load(path)?;
///     note.ok_or_else(|| {
///         ToolError::rejected("unknown_note", "No note has this path.")
///             .field("path")
///             .received(path)
///             .closest(known_paths())
///             .recover("Find the path with search_notes.")
///     })
/// }
///
/// let text = |path| read_note(path).unwrap_err().render(Kind::ToolCall).text;
/// assert_eq!(
///     text("inbox/tood.md"),
///     "No note has this path. The value of path was \"inbox/tood.md\". \
///      The closest match is inbox/todo.md. Find the path with search_notes."
/// );
/// assert!(text("wait").starts_with(
///     "The index is being rebuilt. \
///      The call was fine: send the same call again in 60 seconds, unchanged"
/// ));
/// assert!(!text("broken").contains("disk"));
///
/// // Boxed errors, texts, anyhow and eyre get in by one word.
/// let error = Err::<(), _>("the disk is broken").or_fault().unwrap_err();
/// assert!(!error.render(Kind::ToolCall).text.contains("disk"));
/// ```
///
/// # Which one
///
/// - [`rejected`](Self::rejected): the request must change.
/// - [`stale`](Self::stale): what the request was based on has moved on.
/// - [`fault`](Self::fault), [`transient`](Self::transient), [`user_action`](Self::user_action):
///   the request was fine; the operator, time or the user has to act.
/// - `?` on any [`std::error::Error`], or [`or_fault`](ResultExt::or_fault) on other errors: a
///   fault with a fixed text.
/// - [`declared`](ResultExt::declared) on an error of your own that implements [`Declare`].
///   **A bare `?` on such an error, where it implements `Error` too, makes it an unknown fault.**
///
/// The texts that are given to it are for the model, and public. What only an operator may read
/// goes into [`source`](Self::source). Every text is bounded; see [`Declaration`] for the bounds.
///
/// It does not implement [`std::error::Error`], because any error becomes one with `?`.
///
/// # Timeouts
///
/// What took too long may have taken effect all the same. So the text of a timeout (the code
/// `timeout`, or a timeout in the source of a fault that heals itself) tells the model to check
/// first if the call changes anything, unless [`effects`](Self::effects) say what is known. That of
/// a rate limit does not: what was turned away did not run.
///
/// # Testing what a tool says
///
/// [`Display`](fmt::Display) is the text that the model would read, without the reference;
/// [`render`](Self::render) is all of it, with the record:
///
/// ```
/// use tower_outcome::{Actor, Kind, ToolError};
///
/// fn pay() -> Result<(), ToolError> {
///     Err(ToolError::user_action("plan_ended", "The plan has ended.")
///         .recover("Ask the user to renew it."))
/// }
///
/// let error = pay().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "The plan has ended. The call was fine. Ask the user to renew it."
/// );
/// let rendering = error.render(Kind::ToolCall);
/// assert_eq!(rendering.declaration.code(), "plan_ended");
/// assert_eq!(rendering.declaration.actor(), Actor::User);
/// let reference = rendering.declaration.reference.ok_or("no reference")?;
/// assert!(rendering.text.ends_with(&format!("Reference for the user: {reference}.")));
/// # Ok::<(), &str>(())
/// ```
///
/// # Tools, prompts and resources of rmcp
///
/// A tool returns it as it is. Prompts, resources and everything else return rmcp's `ErrorData`,
/// which `?` makes of it, and of any other error by `or_fault()?`:
///
/// ```
/// # #[cfg(feature = "rmcp")] {
/// use rmcp::{
///     ErrorData, RoleServer, ServerHandler,
///     handler::server::wrapper::Parameters,
///     model::{
///         PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
///         ResourceContents, Role,
///     },
///     prompt, prompt_handler, prompt_router, schemars, service::RequestContext, tool,
///     tool_handler, tool_router,
/// };
/// use tower_outcome::{ResultExt as _, ToolError};
///
/// struct Notes;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Read {
///     path: String,
/// }
///
/// fn find(path: &str) -> Result<&str, ToolError> {
///     path.strip_suffix(".md").ok_or_else(|| {
///         ToolError::rejected("unknown_note", "No note has this path.")
///             .field("path")
///             .received(path)
///             .recover("Find the path with search_notes.")
///     })
/// }
///
/// #[tool_router]
/// impl Notes {
///     #[tool(description = "Returns a note's text.")]
///     async fn read_note(&self, Parameters(read): Parameters<Read>) -> Result<String, ToolError> {
///         find(&read.path)?;
///         Ok(std::fs::read_to_string(&read.path)?)
///     }
/// }
///
/// #[prompt_router]
/// impl Notes {
///     #[prompt(description = "Asks for a summary of a note.")]
///     async fn summarise(
///         &self,
///         Parameters(read): Parameters<Read>,
///     ) -> Result<Vec<PromptMessage>, ErrorData> {
///         let title = find(&read.path)?;
///         let text = std::fs::read_to_string(&read.path).or_fault()?;
///         Ok(vec![PromptMessage::new_text(Role::User, format!("Summarise '{title}':\n{text}"))])
///     }
/// }
///
/// #[tool_handler]
/// #[prompt_handler]
/// impl ServerHandler for Notes {
///     async fn read_resource(
///         &self,
///         request: ReadResourceRequestParams,
///         _: RequestContext<RoleServer>,
///     ) -> Result<ReadResourceResponse, ErrorData> {
///         let Some(path) = request.uri.strip_prefix("notes:///") else {
///             // The protocol has an error of its own for this one.
///             return Err(ErrorData::resource_not_found("no such note", None));
///         };
///         let text = std::fs::read_to_string(path).or_fault()?;
///         let contents = ResourceContents::text(text, request.uri);
///         Ok(ReadResourceResult::new(vec![contents]).into())
///     }
/// }
/// # }
/// ```
///
/// An unknown resource is `ErrorData::resource_not_found`, which
/// `ToolError::protocol(ErrorData::resource_not_found(..))` is too where a function returns
/// `ToolError`: it goes out with the number that the revision has for it (-32002; from 2026-07-28
/// on -32602). [`rejected`](Self::rejected) is always -32602.
#[must_use = "an error does nothing until it is returned"]
pub struct ToolError(Box<Inner>);

struct Inner {
    declaration: Declaration,
    /// The value that was sent, as it was, to compare candidates with.
    sent: Option<String>,
    /// Candidates that were given before it is known what was sent.
    candidates: Vec<Candidate>,
    source: Option<Source>,
    structured: bool,
    /// Made of an error, with nothing said about it.
    is_undeclared: bool,
    /// The call that it is a failure of, where that is not the one in scope.
    call: Option<Call>,
}

/// An error, and its type where that is known.
struct Source {
    error: Box<dyn Error + Send + Sync>,
    type_name: Option<&'static str>,
}

impl ToolError {
    /// The request must change: no such note, invalid input, a feature that is switched off.
    ///
    /// The message says what was wrong; [`recover`](Self::recover) the next step. A code that is
    /// not `snake_case` is made so; one that cannot be becomes `rejected`.
    pub fn rejected(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Declared::Rejected).code(code).message(message)
    }

    /// What the request was based on has moved on: an old version, a concurrent change. The text
    /// says that the same call fails again; [`recover`](Self::recover) should say where the fresh
    /// value comes from. A code as in [`rejected`](Self::rejected), by default `stale`.
    pub fn stale(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Declared::Stale).code(code).message(message)
    }

    /// The request was fine, and the operator has to act: `internal_error`, at ERROR, with a
    /// fixed text. A [`message`](Self::message) can name the condition in words for the model, a
    /// [`source`](Self::source) the cause for the log.
    ///
    /// A timeout or a rate limit in the source makes it one that heals itself, unless an
    /// [`actor`](Self::actor) or [`effects`](Self::effects) are declared.
    pub fn fault() -> Self {
        Self::new(Declared::Fault)
    }

    /// The request was fine, and what is in its way goes away by itself. WARN; see
    /// [`retry_after`](Self::retry_after). A code as in [`rejected`](Self::rejected), by default
    /// `internal_error`.
    pub fn transient(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Declared::Fault).actor(Actor::Time).code(code).message(message)
    }

    /// The request was fine, and the user has to act: reconnect, approve, pay. INFO;
    /// [`recover`](Self::recover) should say what the model is to tell the user. A code as in
    /// [`rejected`](Self::rejected), by default `internal_error`.
    pub fn user_action(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Declared::Fault).actor(Actor::User).code(code).message(message)
    }

    fn new(outcome: Declared) -> Self {
        Self(Box::new(Inner {
            declaration: Declaration::new(outcome),
            sent: None,
            candidates: Vec::new(),
            source: None,
            structured: false,
            is_undeclared: false,
            call: None,
        }))
    }

    /// A fault that only its source tells of.
    fn undeclared(source: Source) -> Self {
        let mut error = Self::new(Declared::Fault);
        error.0.source = Some(source);
        error.0.is_undeclared = true;
        error
    }

    /// A fault that a panic of `call` was, which is left with it at once: whether it ever becomes an
    /// answer is for somebody else.
    pub(crate) fn panic(call: Call, cause: Cause) -> Self {
        let fault = Fault::panic(cause).into_verdict(&call);
        call.deposit(fault);
        Self::fault().within(call)
    }

    /// The same, as a failure of this call, wherever it becomes an answer.
    pub(crate) fn within(mut self, call: Call) -> Self {
        self.0.call.get_or_insert(call);
        self
    }

    fn declare(mut self, declare: impl FnOnce(&mut Declaration)) -> Self {
        self.0.is_undeclared = false;
        declare(&mut self.0.declaration);
        self
    }

    /// What was declared so far.
    #[must_use]
    pub fn declaration(&self) -> &Declaration {
        &self.0.declaration
    }

    /// The error behind it, if there is one.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.source.as_ref().map(|source| &*source.error)
    }

    /// The error of type `E` that this was made of by `?`, `From` or
    /// [`or_fault`](ResultExt::or_fault), where nothing was declared about it since: how a binding
    /// takes back its own protocol error.
    ///
    /// # Errors
    ///
    /// `self`, unchanged, if it was made otherwise or of another type.
    pub fn into_source<E: Error + Send + Sync + 'static>(mut self) -> Result<Box<E>, Self> {
        match self.0.source.take() {
            Some(Source { error, type_name }) if self.0.is_undeclared => {
                error.downcast().map_err(|error| {
                    self.0.source = Some(Source { error, type_name });
                    self
                })
            }
            source => {
                self.0.source = source;
                Err(self)
            }
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("declaration", &self.0.declaration)
            .field("source", &self.cause())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
