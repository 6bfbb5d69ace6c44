//! How far a transaction has come at a replica.
//!
//! *Source*: [SPEC 2.1]. The numbers are on wire and disk and are never reused.

use crate::numbered::numbered;
use crate::timestamp::Ballot;

numbered! {
    /// Coordination status: what recovery compares.
    #[derive(Default)]
    pub enum Status {
        /// Nothing decided here; a promise may exist all the same.
        #[default]
        NotDefined = 0,
        /// Definition known, vote given.
        PreAccepted = 1,
        /// A ballot accepted that it be invalidated.
        AcceptedInvalidate = 2,
        /// A proposal at its own id, after q fast votes.
        AcceptedMedium = 3,
        /// A proposal.
        AcceptedSlow = 4,
        /// Execution time decided, dependencies unknown.
        PreCommitted = 5,
        /// Execution time decided, dependencies of some ballot.
        Committed = 6,
        /// Dependencies final.
        Stable = 7,
        /// Outcome known, predecessors not applied here yet.
        PreApplied = 8,
        /// Outcome applied here.
        Applied = 9,
        /// Forgotten but for its outcome.
        Truncated = 10,
        /// Decided never to execute.
        Invalidated = 11,
    }
}

/// Groups of statuses; inside Accept and Commit the ballot decides, elsewhere the status.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Nothing known.
    None,
    /// Voting.
    PreAccept,
    /// Proposing.
    Accept,
    /// Decided.
    Commit,
    /// Dependencies final.
    Execute,
    /// Outcome known.
    Persist,
    /// Being forgotten, or invalidated.
    Cleanup,
}

impl Status {
    /// The phase it belongs to.
    pub const fn phase(self) -> Phase {
        match self {
            Self::NotDefined => Phase::None,
            Self::PreAccepted => Phase::PreAccept,
            Self::AcceptedInvalidate | Self::AcceptedMedium | Self::AcceptedSlow => Phase::Accept,
            Self::PreCommitted | Self::Committed => Phase::Commit,
            Self::Stable => Phase::Execute,
            Self::PreApplied | Self::Applied => Phase::Persist,
            Self::Truncated | Self::Invalidated => Phase::Cleanup,
        }
    }

    /// Whether an execution time is decided (and it is not invalidated).
    pub fn is_decided(self) -> bool {
        self >= Self::PreCommitted && self != Self::Invalidated
    }

    /// Committed or later with dependencies, and not invalidated.
    pub fn is_committed(self) -> bool {
        self >= Self::Committed && self != Self::Invalidated
    }

    /// Whether nothing more happens to it here.
    pub fn is_terminal(self) -> bool {
        self >= Self::Applied
    }

    /// Whether a replica may move from `self`, accepted at `accepted`, to `next` taken at `ballot`.
    ///
    /// *Source*: [SPEC 2.1], last paragraph: monotone, except that a strictly higher ballot may lower it below Committed, and may
    /// replace Committed by Committed.
    pub fn may_move_to(self, next: Self, accepted: Ballot, ballot: Ballot) -> bool {
        match (self, next) {
            (Self::Invalidated | Self::Truncated, _) => false,
            (from, Self::Invalidated) => from < Self::PreCommitted,
            (Self::Committed, Self::Committed) => ballot > accepted,
            (from, to) if from < Self::PreCommitted && to < Self::PreCommitted && to != Self::PreAccepted => {
                to >= Self::AcceptedInvalidate && (from < Self::AcceptedInvalidate || ballot >= accepted)
            }
            (from, to) => to > from,
        }
    }

    /// The key under which the maximum of several replies is the plain maximum. *Source*: [SPEC 2.1].
    pub fn rank(self, accepted: Ballot) -> (Phase, Ballot, Self) {
        let by_ballot = matches!(self.phase(), Phase::Accept | Phase::Commit);
        (self.phase(), if by_ballot { accepted } else { Ballot::ZERO }, self)
    }
}

numbered! {
    /// What is known of dependencies. Ordered: later knows more.
    #[derive(Default)]
    pub enum DepsKnown {
        /// Nothing.
        #[default]
        Unknown = 0,
        /// The privileged coordinator's own.
        FromCoordinator = 1,
        /// Those of an accepted slow proposal.
        Proposed = 2,
        /// Those of an accepted medium proposal.
        ProposedFixed = 3,
        /// Those of a Commit at some ballot.
        Committed = 4,
        /// Final.
        Known = 5,
    }
}

impl DepsKnown {
    /// The key under which merging takes the maximum: phase, then ballot inside Accept and Commit, then the value.
    pub fn rank(self, ballot: Ballot) -> (u8, Ballot, Self) {
        match self {
            Self::Unknown => (0, Ballot::ZERO, self),
            Self::FromCoordinator => (1, Ballot::ZERO, self),
            Self::Proposed | Self::ProposedFixed => (2, ballot, self),
            Self::Committed => (3, ballot, self),
            Self::Known => (4, Ballot::ZERO, self),
        }
    }
}

numbered! {
    /// At how many replicas an outcome is known to be stored. Only grows. *Source*: [SPEC 12.1].
    #[derive(Default)]
    pub enum Durability {
        /// Nothing known.
        #[default]
        NotDurable = 0,
        /// Stored here.
        Local = 1,
        /// At every healthy replica of one shard.
        ShardUniversal = 2,
        /// At a quorum of every participating shard.
        Majority = 3,
        /// At every healthy replica.
        Universal = 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeId;
    use crate::timestamp::{Epoch, Hlc};

    fn ballot(hlc: u64) -> Ballot {
        Ballot::new(Epoch(1), Hlc(hlc), NodeId(1))
    }

    #[test]
    fn accept_phase_is_ranked_by_ballot_before_status() {
        assert!(Status::AcceptedInvalidate.rank(ballot(2)) > Status::AcceptedSlow.rank(ballot(1)));
    }

    #[test]
    fn a_decision_never_loses_to_an_undecided_proposal() {
        assert!(Status::Committed.rank(ballot(1)) > Status::AcceptedSlow.rank(ballot(9)));
    }

    #[test]
    fn invalidated_and_committed_exclude_each_other() {
        assert!(!Status::Committed.may_move_to(Status::Invalidated, Ballot::ZERO, ballot(9)));
        assert!(!Status::Invalidated.may_move_to(Status::Committed, Ballot::ZERO, ballot(9)));
        assert!(Status::AcceptedSlow.may_move_to(Status::Invalidated, ballot(1), ballot(9)));
    }

    #[test]
    fn nothing_returns_to_pre_accepted() {
        for from in Status::ALL.iter().copied().skip(1) {
            assert!(!from.may_move_to(Status::PreAccepted, Ballot::ZERO, ballot(9)), "{from:?}");
        }
    }

    #[test]
    fn numbers_are_pinned() {
        for (number, status) in Status::ALL.iter().copied().enumerate() {
            assert_eq!(usize::from(u8::from(status)), number);
        }
    }
}
