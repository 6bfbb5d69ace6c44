//! One failed write or sync ends the log for the life of the process.

use crate::Error;
use std::sync::{Arc, OnceLock};

/// A flag that is set once and never cleared; shared by the handle and the threads.
///
/// Why final: after a failed fsync the kernel may call the lost pages clean, so a second fsync that succeeds proves nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Poison(Arc<OnceLock<Arc<str>>>);

impl Poison {
    /// Records the first failure; later ones keep the first text. Returns the text that stands.
    pub(crate) fn set(&self, why: &Error) -> Arc<str> {
        if let Error::Poisoned(text) = why {
            return self.0.get_or_init(|| text.clone()).clone();
        }
        self.0.get_or_init(|| why.to_string().into()).clone()
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.0.get() {
            None => Ok(()),
            Some(text) => Err(Error::Poisoned(text.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_stands() {
        let poison = Poison::default();
        assert!(poison.check().is_ok());
        poison.set(&Error::Closed("first"));
        poison.set(&Error::Closed("second"));
        let text = poison.clone().check().expect_err("poisoned").to_string();
        assert!(text.contains("first") && !text.contains("second"), "{text}");
    }
}
