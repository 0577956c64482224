//! What every service of this crate has.

/// `get_ref`, `get_mut` and `into_inner` for a service that wraps `S`.
macro_rules! accessors {
    ($self:ident => $get_ref:expr, $get_mut:expr, $into_inner:expr) => {
        /// The wrapped service.
        pub fn get_ref(&$self) -> &S {
            $get_ref
        }

        /// The wrapped service, to change it.
        pub fn get_mut(&mut $self) -> &mut S {
            $get_mut
        }

        /// The wrapped service, without this layer.
        pub fn into_inner($self) -> S {
            $into_inner
        }
    };
}

pub(crate) use accessors;
