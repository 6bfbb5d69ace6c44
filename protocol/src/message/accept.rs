//! Proposing an execution time and dependencies, or an invalidation, at a ballot.

use crate::deps::Deps;
use crate::numbered::numbered;
use crate::timestamp::{Ballot, Timestamp};
use serde::{Deserialize, Serialize};

numbered! {
    /// Which path a proposal belongs to.
    pub enum AcceptKind {
        /// At the transaction's own id after q fast votes; goes straight to execution.
        Medium = 0,
        /// At any time; needs a Commit round afterwards.
        Slow = 1,
    }
}

/// A proposal, to all replicas. Carries no definition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Accept {
    /// Medium or slow.
    pub kind: AcceptKind,
    /// Zero, or that of the recovery.
    pub ballot: Ballot,
    /// The proposed execution time.
    pub execute_at: Timestamp,
    /// The proposed dependencies.
    pub deps: Deps,
}

/// The proposal never to execute, to one shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotAccept {
    /// Zero, or that of the recovery.
    pub ballot: Ballot,
}

numbered! {
    /// How a replica took a proposal; over a node's stores the highest wins. *Source*: [SPEC 2.3].
    pub enum AcceptOutcome {
        /// Taken.
        Success = 0,
        /// Done before; counts as taken.
        AlreadyDone = 1,
        /// Decided already.
        Superseded = 2,
        /// A higher ballot is promised.
        RejectedBallot = 3,
        /// Something is missing here.
        Insufficient = 4,
        /// The replica owns nothing of it any more.
        Retired = 5,
        /// Forgotten here.
        Truncated = 6,
    }
}

/// Answer to [`Accept`] and [`NotAccept`]. Success is testimony.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AcceptReply {
    /// How it was taken.
    pub outcome: AcceptOutcome,
    /// The higher promise, where there is one.
    pub promised: Option<Ballot>,
    /// Conflicts with an id below the proposed time that the proposal does not name.
    pub deps: Deps,
    /// The decided execution time, if this replica knows it; an invalidated transaction has none.
    pub committed_at: Option<Timestamp>,
}
