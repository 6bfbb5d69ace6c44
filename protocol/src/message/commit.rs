//! Telling replicas what was decided.

use crate::deps::Deps;
use crate::numbered::numbered;
use crate::timestamp::{Ballot, Timestamp};
use crate::topology::NodeSet;
use crate::txn::Txn;
use serde::{Deserialize, Serialize};

/// The decision with its dependencies, to be stored by a quorum before anyone acts on them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Commit {
    /// Zero, or that of the recovery.
    pub ballot: Ballot,
    /// The decided execution time.
    pub execute_at: Timestamp,
    /// The dependencies.
    pub deps: Deps,
    /// The definition, where the replica may lack it.
    pub txn: Option<Txn>,
}

numbered! {
    /// Which decision makes the dependencies final.
    pub enum StableKind {
        /// F fast votes per shard. Refused after any promise.
        Fast = 0,
        /// q Accepts at the id; carries the full set.
        Medium = 1,
        /// q Commits; the replica promotes what it stored at this ballot.
        Slow = 2,
        /// Everything, for replicas that lack something.
        Full = 3,
    }
}

/// The dependencies are final; execute when they have applied. Some replicas are asked to read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stable {
    /// On what ground.
    pub kind: StableKind,
    /// Zero, or that of the recovery.
    pub ballot: Ballot,
    /// The decided execution time.
    pub execute_at: Timestamp,
    /// The final dependencies; empty for [`StableKind::Slow`].
    pub deps: Deps,
    /// The definition, where the replica may lack it.
    pub txn: Option<Txn>,
    /// The replicas that shall read and answer with data.
    pub readers: NodeSet,
}

numbered! {
    /// How a replica took [`Commit`] or [`Stable`]; over a node's stores the highest wins.
    pub enum CommitOutcome {
        /// Stored. Testimony.
        Ok = 0,
        /// Stored before. Testimony; counts as ok.
        AlreadyDone = 1,
        /// The definition or the dependencies are missing here: repeat with everything.
        Insufficient = 2,
        /// Forgotten, or not owned.
        Superseded = 3,
        /// A higher ballot is promised.
        Rejected = 4,
    }
}

/// Answer to [`Commit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommitReply {
    /// How it was taken.
    pub outcome: CommitOutcome,
    /// The promise held here.
    pub promised: Ballot,
}

/// Answer to [`Stable`], apart from the data of readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StableReply {
    /// How it was taken.
    pub outcome: CommitOutcome,
    /// The promise held here.
    pub promised: Ballot,
}
