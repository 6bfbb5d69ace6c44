//! The one envelope between actors of rooms that may not import each other.

/// Carries `T` to an actor; the answer, if any, is a message of its own.
#[derive(Debug)]
pub struct Tell<T>(pub T);

#[cfg(feature = "actor")]
impl<T> actix::Message for Tell<T> {
    type Result = ();
}
