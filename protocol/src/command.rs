//! The record of one transaction at one command store, and the deltas it is the fold of.
//!
//! *Source*: [SPEC 2.1, 2.2].

use crate::bytes::{Blob, Bytes};
use crate::deps::Deps;
use crate::key::Key;
use crate::route::{Route, Scope};
use crate::status::{DepsKnown, Durability, Status};
use crate::timestamp::{Ballot, Timestamp, TxnId};
use crate::txn::Txn;
use serde::{Deserialize, Serialize};

/// What executing a transaction yielded: all its writes, and what the client is told.
///
/// *Shape*: writes sorted by key. Whole at every replica, so that a recovery that meets one applied replica can finish every shard.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// One opaque write per written key.
    pub writes: Vec<(Key, Bytes)>,
    /// The result blob.
    pub result: Blob,
}

impl Outcome {
    /// Most bytes of one outcome: every node can write it into its log and send it, whatever it is configured to.
    ///
    /// The same everywhere, because a recovery may execute on another node and must come to the same end.
    pub const BYTES_MAX: usize = 8 << 20;

    /// Bytes of the result and the writes, keys left out.
    pub fn len_bytes(&self) -> usize {
        self.result.bytes.len() + self.writes.iter().map(|(_, write)| write.len()).sum::<usize>()
    }
}

/// What one command store knows of one transaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Command {
    status: Status,
    promised: Ballot,
    accepted: Ballot,
    scope: Option<Scope>,
    txn: Option<Txn>,
    execute_at: Option<Timestamp>,
    rejected: bool,
    privileged_vote: bool,
    deps_known: DepsKnown,
    deps: Deps,
    outcome: Option<Outcome>,
    durability: Durability,
}

/// The changed fields of a [`Command`]: what one step appends to the journal.
///
/// *Shape*: `None` is "unchanged". The state is the fold of the deltas in append order; replay re-runs no decision.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CommandDiff {
    /// New status.
    pub status: Option<Status>,
    /// New promise.
    pub promised: Option<Ballot>,
    /// Ballot of the Accept or Commit taken.
    pub accepted: Option<Ballot>,
    /// What is known of where it takes part; the full route replaces a part.
    pub scope: Option<Scope>,
    /// The definition.
    pub txn: Option<Txn>,
    /// Witnessed, proposed or decided execution time.
    pub execute_at: Option<Timestamp>,
    /// The vote was a refusal to let it start.
    pub rejected: Option<bool>,
    /// The coordinator's vote was seen together with a fast vote here.
    pub privileged_vote: Option<bool>,
    /// Dependencies over the own slice, and what they are; `Unknown` with none clears them.
    pub deps: Option<(DepsKnown, Deps)>,
    /// Writes and result.
    pub outcome: Option<Outcome>,
    /// Durability learned.
    pub durability: Option<Durability>,
}

impl CommandDiff {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Command {
    /// Coordination status.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Highest ballot promised.
    pub fn promised(&self) -> Ballot {
        self.promised
    }

    /// Ballot of the last Accept or Commit taken.
    pub fn accepted(&self) -> Ballot {
        self.accepted
    }

    /// The full route, once known.
    pub fn route(&self) -> Option<&Route> {
        self.scope.as_ref().and_then(Scope::route)
    }

    /// What is known of where it takes part.
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// The definition, once known.
    pub fn txn(&self) -> Option<&Txn> {
        self.txn.as_ref()
    }

    /// Witnessed, proposed or decided execution time, as the status says.
    pub fn execute_at(&self) -> Option<Timestamp> {
        self.execute_at
    }

    /// Whether the stored vote refuses to let it start.
    pub fn rejected(&self) -> bool {
        self.rejected
    }

    /// Whether the privileged vote is held here.
    pub fn privileged_vote(&self) -> bool {
        self.privileged_vote
    }

    /// What the dependencies are.
    pub fn deps_known(&self) -> DepsKnown {
        self.deps_known
    }

    /// Dependencies over the own slice.
    pub fn deps(&self) -> &Deps {
        &self.deps
    }

    /// Writes and result, once known.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Durability known here.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Whether the fast path may still count on this replica: the stored vote is for its own id.
    pub fn accepts_fast_path(&self, id: TxnId) -> bool {
        if id.shape().fast_path.is_privileged() {
            self.privileged_vote
        } else {
            self.execute_at == Some(id.as_timestamp())
        }
    }

    /// Whether the delta is a legal step from here.
    ///
    /// *Errors*: a move that [`Status::may_move_to`] forbids, a promise that goes back, or `accepted` above `promised`: each would
    /// be a bug of the machine, and taking it would break agreement.
    pub fn allows(&self, diff: &CommandDiff) -> Result<(), String> {
        let promised = diff.promised.unwrap_or(self.promised);
        let accepted = diff.accepted.unwrap_or(self.accepted);
        if promised < self.promised {
            return Err(format!("promise {:?} goes back to {promised:?}", self.promised));
        }
        if accepted > promised {
            return Err(format!("accepted {accepted:?} is above promised {promised:?}"));
        }
        match diff.status {
            Some(next) if !self.status.may_move_to(next, self.accepted, diff.accepted.unwrap_or(promised)) => {
                Err(format!("{:?} may not become {next:?}", self.status))
            }
            _ => Ok(()),
        }
    }

    /// Folds one delta into the state: the only way it changes, live and on replay alike.
    pub fn fold(&mut self, diff: &CommandDiff) {
        if let Some(promised) = diff.promised {
            self.promised = promised;
        }
        if let Some(status) = diff.status {
            self.status = status;
        }
        if let Some(accepted) = diff.accepted {
            self.accepted = accepted;
        }
        self.fold_facts(diff);
        if self.status == Status::Invalidated {
            (self.execute_at, self.deps_known, self.deps, self.outcome) = (None, DepsKnown::Unknown, Deps::NONE, None);
        }
    }

    fn fold_facts(&mut self, diff: &CommandDiff) {
        if let Some(scope) = &diff.scope {
            self.scope = Some(scope.clone());
        }
        if let Some(txn) = &diff.txn {
            self.txn = Some(txn.clone());
        }
        if let Some(at) = diff.execute_at {
            self.execute_at = Some(at);
        }
        if let Some(rejected) = diff.rejected {
            self.rejected = rejected;
        }
        if let Some(vote) = diff.privileged_vote {
            self.privileged_vote = vote;
        }
        if let Some((known, deps)) = &diff.deps {
            (self.deps_known, self.deps) = (*known, deps.clone());
        }
        if let Some(outcome) = &diff.outcome {
            self.outcome = Some(outcome.clone());
        }
        if let Some(durability) = diff.durability {
            self.durability = self.durability.max(durability);
        }
    }

    /// The whole state as one delta over nothing: what a compaction keeps.
    pub fn to_diff(&self) -> CommandDiff {
        CommandDiff {
            status: Some(self.status).filter(|status| *status != Status::NotDefined),
            promised: Some(self.promised).filter(|ballot| !ballot.is_zero()),
            accepted: Some(self.accepted).filter(|ballot| !ballot.is_zero()),
            scope: self.scope.clone(),
            txn: self.txn.clone(),
            execute_at: self.execute_at,
            rejected: Some(self.rejected).filter(|rejected| *rejected),
            privileged_vote: Some(self.privileged_vote).filter(|vote| *vote),
            deps: (self.deps_known != DepsKnown::Unknown).then(|| (self.deps_known, self.deps.clone())),
            outcome: self.outcome.clone(),
            durability: Some(self.durability).filter(|durability| *durability != Durability::NotDurable),
        }
    }
}
