//! The first round: may this transaction execute at its own id, and what must come first?

use crate::deps::Deps;
use crate::timestamp::{Ballot, Timestamp};
use crate::txn::Txn;
use serde::{Deserialize, Serialize};

/// Coordinator to all replicas, always at ballot zero, with the full route.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreAccept {
    /// The definition.
    pub txn: Txn,
    /// The privileged coordinator has voted for the id itself.
    pub coordinator_vote: bool,
    /// The privileged coordinator's dependencies, in the with-deps mode.
    pub coordinator_deps: Option<Deps>,
}

/// The unapplied transactions met while computing dependencies. *Source*: [SPEC 10].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Backlog {
    /// How many.
    pub count: u64,
    /// Age of the oldest, in microseconds.
    pub max_age: u64,
    /// Ages added up, in microseconds.
    pub sum_age: u64,
}

/// A vote. Testimony.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreAcceptOk {
    /// The id itself (a fast vote), or a later time that every conflict seen here lies below.
    pub witnessed_at: Timestamp,
    /// The replica refuses to let it start.
    pub rejected: bool,
    /// Set if the replica asks to be spared.
    pub soft_reject: Option<Backlog>,
    /// Conflicting transactions with a lower id, over the own slice; no testimony if `rejected`.
    pub deps: Deps,
    /// All of them are applied here.
    pub deps_applied: bool,
}

/// No vote: a higher ballot is promised, or the transaction has gone on without this coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreAcceptNack {
    /// The promise held here.
    pub promised: Ballot,
}
