//! Spreading the outcome.

use crate::command::Outcome;
use crate::deps::Deps;
use crate::numbered::numbered;
use crate::status::Durability;
use crate::timestamp::{Ballot, Timestamp, TxnId};
use crate::txn::Txn;
use serde::{Deserialize, Serialize};

/// The outcome, to all replicas.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Apply {
    /// Zero, or that of the recovery.
    pub ballot: Ballot,
    /// The decided execution time.
    pub execute_at: Timestamp,
    /// The final dependencies.
    pub deps: Deps,
    /// Writes and result.
    pub outcome: Outcome,
    /// The definition, where the replica may lack it.
    pub txn: Option<Txn>,
}

numbered! {
    /// How a replica took [`Apply`].
    pub enum ApplyOutcome {
        /// Applied: a read here sees it. Testimony.
        Applied = 0,
        /// Outcome, time and dependencies are stored; it applies when its predecessors have. Testimony.
        Stored = 1,
        /// Known before. Testimony.
        AlreadyDone = 2,
        /// Something is missing here: repeat with everything.
        Insufficient = 3,
    }
}

/// Answer to [`Apply`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApplyReply {
    /// How it was taken.
    pub outcome: ApplyOutcome,
    /// A higher ballot is promised here: stored, but not to be counted towards durability.
    pub race: bool,
}

/// Outcomes that are stored at enough replicas. No answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InformDurable {
    /// How many is enough.
    pub durability: Durability,
    /// The transactions.
    pub ids: Vec<TxnId>,
}
