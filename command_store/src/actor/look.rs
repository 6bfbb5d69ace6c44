//! What the shell of a store shows of itself.

use super::{CommandStoreActor, Log};
use crate::StoreLook;
use actix::{Context, Handler, Message, MessageResult};

/// Asks a store to show itself; for people, never for decisions.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Bound of each list in the answer.
    pub most: usize,
}

/// A store and what its shell holds for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActorLook {
    /// The machine.
    pub machine: StoreLook,
    /// Partitions in memory.
    pub row_count: usize,
    /// Their size. *Units*: bytes.
    pub row_bytes: usize,
    /// Partitions that no checkpoint has yet.
    pub dirty_count: usize,
    /// Answers that wait for the disk.
    pub held_count: usize,
}

impl Message for Look {
    type Result = ActorLook;
}

impl<L: Log> Handler<Look> for CommandStoreActor<L> {
    type Result = MessageResult<Look>;

    fn handle(&mut self, Look { most }: Look, _: &mut Context<Self>) -> Self::Result {
        MessageResult(ActorLook {
            machine: self.machine.look(most),
            row_count: self.rows.len(),
            row_bytes: self.rows.bytes(),
            dirty_count: self.rows.dirty_count(),
            held_count: self.held.len(),
        })
    }
}
