//! Whether a node lives and whether it should be given work.

use std::cell::{Cell, RefCell};

/// What a node knows of its own health beyond what can be read off its parts.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// It has taken part in a transaction since it started, and knows the schema in force.
    has_caught_up: Cell<bool>,
    fatal: RefCell<Option<String>>,
}

impl Health {
    pub(crate) fn set_caught_up(&self) {
        self.has_caught_up.set(true);
    }

    pub(crate) fn has_caught_up(&self) -> bool {
        self.has_caught_up.get()
    }

    /// The first reason is the one that is kept.
    pub(crate) fn set_fatal(&self, why: &str) {
        self.fatal.borrow_mut().get_or_insert_with(|| why.to_owned());
    }

    pub(crate) fn fatal(&self) -> Option<String> {
        self.fatal.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Health;

    #[test]
    fn the_first_fatal_reason_is_kept() {
        let health = Health::default();
        assert!(!health.has_caught_up() && health.fatal().is_none());
        health.set_fatal("the disk");
        health.set_fatal("what followed");
        assert_eq!(health.fatal().as_deref(), Some("the disk"));
    }
}
