//! What every service of this crate has.

/// `get_ref`, `get_mut` and `into_inner` for a service with the field `inner`.
macro_rules! accessors {
    () => {
        /// The wrapped service.
        pub fn get_ref(&self) -> &S {
            &self.inner
        }

        /// The wrapped service.
        pub fn get_mut(&mut self) -> &mut S {
            &mut self.inner
        }

        /// The wrapped service, without this layer.
        pub fn into_inner(self) -> S {
            self.inner
        }
    };
}

pub(crate) use accessors;
