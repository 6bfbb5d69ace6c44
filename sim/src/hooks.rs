//! The simulator's answers to the machines' questions.

use protocol::{Hooks, Mutant};

/// Says yes to the planted bug of this run, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SimHooks {
    planted: Option<Mutant>,
}

impl SimHooks {
    /// Plants `mutant`; without the feature `mutants` nothing can be planted.
    pub fn planting(mutant: Option<Mutant>) -> Self {
        Self { planted: mutant.filter(|_| cfg!(feature = "mutants")) }
    }
}

impl Hooks for SimHooks {
    fn mutant(&self, mutant: Mutant) -> bool {
        self.planted == Some(mutant)
    }

    fn is_planted(&self) -> bool {
        self.planted.is_some()
    }
}
