//! What becomes of the errors of a wrapped service.

use std::convert::Infallible;

use http::Response;
use tower::BoxError;

use super::{
    body::ResponseBody,
    duty::Begun,
    respond::{answer, empty},
};
use crate::{
    contain::{Fault, UnknownError},
    log::verdict_of_error,
};

/// The errors of the wrapped service pass.
#[derive(Debug)]
pub struct ErrorsPass;

/// The errors of the wrapped service are answered.
#[derive(Debug)]
pub struct ErrorsAnswered;

/// What becomes of the errors of the wrapped service.
pub trait Errors<E>: private::Sealed {
    /// The layer's own error.
    type Error;
    #[doc(hidden)]
    fn end<B>(error: E, begun: Option<Begun>) -> Result<Response<ResponseBody<B>>, Self::Error>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::ErrorsPass {}
    impl Sealed for super::ErrorsAnswered {}
}

impl<E: 'static> Errors<E> for ErrorsPass {
    type Error = E;

    fn end<B>(error: E, begun: Option<Begun>) -> Result<Response<ResponseBody<B>>, E> {
        if let Some(mut begun) = begun {
            begun.desk.decide_all(|call| verdict_of_error(&error, call));
        }
        Err(error)
    }
}

impl<E: Into<BoxError>> Errors<E> for ErrorsAnswered {
    type Error = Infallible;

    fn end<B>(error: E, begun: Option<Begun>) -> Result<Response<ResponseBody<B>>, Infallible> {
        let call = begun.as_ref().and_then(|begun| begun.desk.seats.calls().next());
        let fault = Fault::of(UnknownError::new(error), call);
        Ok(match begun {
            Some(begun) => answer(begun, &fault),
            // There is always one where errors are answered.
            None => empty(),
        })
    }
}
