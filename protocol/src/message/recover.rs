//! Finding out what became of a transaction, and finishing it at a higher ballot.

use crate::command::Outcome;
use crate::deps::Deps;
use crate::latest_deps::LatestDeps;
use crate::numbered::numbered;
use crate::route::{Participants, Route};
use crate::status::{DepsKnown, Durability, Status};
use crate::timestamp::{Ballot, Timestamp, TxnId};
use crate::txn::Txn;
use serde::{Deserialize, Serialize};

/// Asks all replicas for a promise and for everything they can testify.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BeginRecovery {
    /// The ballot to promise.
    pub ballot: Ballot,
    /// The definition.
    pub txn: Txn,
}

/// A promise and the evidence. Testimony. *Source*: [SPEC 7.2].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecoverOk {
    /// Highest status over the node's stores.
    pub status: Status,
    /// Its ballot.
    pub accepted: Ballot,
    /// Witnessed, proposed or decided, as the status says.
    pub execute_at: Option<Timestamp>,
    /// Dependencies, key by key.
    pub latest: LatestDeps,
    /// The stored vote is for the id (privileged: the coordinator's vote is held here).
    pub accepts_fast_path: bool,
    /// The privileged coordinator's vote is held here.
    pub coordinator_vote: bool,
    /// Some transaction proves that this one cannot have been committed on the fast path.
    pub superseding_rejects: bool,
    /// Must be decided before anyone can judge, at the keys where they were met.
    pub wait: Deps,
    /// Decided already: takes them out of the others' `wait`.
    pub no_wait: Vec<TxnId>,
    /// Later with-deps transactions whose coordinators' dependencies omit this one.
    pub coordinator_rejects: Deps,
    /// The outcome, if applied here.
    pub outcome: Option<Outcome>,
}

numbered! {
    /// Why a replica gives no promise.
    pub enum RecoverRefusal {
        /// A higher ballot is promised.
        Rejected = 0,
        /// Forgotten here.
        Truncated = 1,
        /// The replica owns nothing of it any more; counts as accepting and contributes nothing.
        Retired = 2,
    }
}

/// No promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecoverNack {
    /// Why.
    pub refusal: RecoverRefusal,
    /// The promise held here.
    pub promised: Ballot,
}

numbered! {
    /// What an awaited transaction must have reached.
    pub enum AwaitUntil {
        /// Stable or later, or invalidated.
        HasStableDeps = 0,
        /// Committed or later, or asked at its own privileged coordinator that has promised away its fast path.
        CommittedOrNotFastPathCommit = 1,
        /// An execution time is decided, or it is invalidated.
        HasDecidedExecuteAt = 2,
    }
}

/// Holds a recovery until another transaction is decided. The message's transaction is the one being recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecoverAwait {
    /// The recovery's ballot.
    pub ballot: Ballot,
    /// The transaction to wait for.
    pub awaited: TxnId,
    /// Until when.
    pub until: AwaitUntil,
}

numbered! {
    /// What the awaited transaction says about the fast path of the recovered one; over a node's stores the highest wins.
    pub enum AwaitVerdict {
        /// It witnesses it, or says nothing about it.
        Accept = 0,
        /// Ask again from the start.
        Unknown = 1,
        /// It executes later without having witnessed it.
        Reject = 2,
    }
}

/// Answer to [`RecoverAwait`], when the time has come. Testimony.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecoverAwaitReply {
    /// The transaction waited for.
    pub awaited: TxnId,
    /// What it says.
    pub verdict: AwaitVerdict,
    /// The keys this answer speaks for.
    pub covering: Participants,
}

/// Asks for a promise without knowing the definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BeginInvalidation {
    /// The ballot to promise.
    pub ballot: Ballot,
}

/// Answer to [`BeginInvalidation`]. A promise is testimony.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvalidateReply {
    /// Whether the ballot is promised.
    pub is_promised: bool,
    /// The promise held here.
    pub promised: Ballot,
    /// Highest status over the node's stores.
    pub status: Status,
    /// Its ballot.
    pub accepted: Ballot,
    /// The stored vote is for the id (privileged: the coordinator's vote is held here).
    pub accepts_fast_path: bool,
    /// The full route, if known here.
    pub route: Option<Route>,
    /// The definition, if known here.
    pub txn: Option<Txn>,
}

/// Tells every known participant that it never executes. No answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommitInvalidate {}

/// Asks what is known. The ballot is only the name of the asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckStatus {
    /// Names the asking.
    pub ballot: Ballot,
}

/// What one store knows, over its own slice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SliceReport {
    /// The keys asked for that this store owns.
    pub keys: Participants,
    /// Status here.
    pub status: Status,
    /// Promise here.
    pub promised: Ballot,
    /// Ballot of the last Accept or Commit here.
    pub accepted: Ballot,
    /// Durability known here.
    pub durability: Durability,
    /// The full route, if known.
    pub route: Option<Route>,
    /// The definition, if known.
    pub txn: Option<Txn>,
    /// As the status says.
    pub execute_at: Option<Timestamp>,
    /// What `deps` is.
    pub deps_known: DepsKnown,
    /// Dependencies over the store's slice of the transaction.
    pub deps: Deps,
    /// The outcome, if known.
    pub outcome: Option<Outcome>,
}

/// Answer to [`CheckStatus`]: one slice per store. Testimony.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckStatusReply {
    /// A coordination or recovery of it is running at this node.
    pub is_coordinating: bool,
    /// What each store knows.
    pub slices: Vec<SliceReport>,
}
