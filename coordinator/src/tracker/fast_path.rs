//! Votes of the first round, and which path they open.
//!
//! *Source*: [SPEC 4.3].

use protocol::{FastPathKind, NodeId, NodeSet, VotingGroup};

/// What the votes so far come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reached {
    /// Some group is not done.
    Waiting,
    /// F votes for the id in every group.
    Fast,
    /// q votes for the id in every group, F in not all of them.
    Medium,
    /// A slow quorum everywhere.
    Slow,
    /// More failures in some group than it may have.
    Failed,
}

/// How one group ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    Fast,
    Medium,
    Slow,
}

#[derive(Clone, PartialEq, Debug)]
struct GroupVotes {
    group: VotingGroup,
    done: Option<Done>,
}

/// Counts the votes of a transaction.
///
/// A group that is done ignores later replies; a node counts once.
#[derive(Clone, PartialEq, Debug)]
pub struct FastPathTracker {
    groups: Vec<GroupVotes>,
    kind: FastPathKind,
    is_fast_enabled: bool,
    succeeded: NodeSet,
    fast: NodeSet,
    failed: NodeSet,
    delayed: NodeSet,
    /// Votes spared on the fast path; only a planted bug sets it.
    spared: usize,
}

impl FastPathTracker {
    /// Over `groups`, with the fast quorum of `kind`; without `is_fast_enabled` no vote counts as fast.
    pub fn new(groups: Vec<VotingGroup>, kind: FastPathKind, is_fast_enabled: bool) -> Self {
        Self {
            groups: groups.into_iter().map(|group| GroupVotes { group, done: None }).collect(),
            kind,
            is_fast_enabled,
            succeeded: NodeSet::new(),
            fast: NodeSet::new(),
            failed: NodeSet::new(),
            delayed: NodeSet::new(),
            spared: 0,
        }
    }

    /// The same, content with `spared` fast votes fewer per group.
    pub fn sparing(self, spared: usize) -> Self {
        Self { spared, ..self }
    }

    /// `node` voted; `is_for_id` if it witnessed the id itself. False if it had answered before.
    pub fn vote(&mut self, node: NodeId, is_for_id: bool) -> bool {
        if self.failed.contains(node) || !self.succeeded.insert(node) {
            return false;
        }
        if is_for_id && self.is_fast_enabled {
            self.fast.insert(node);
        }
        self.settle();
        true
    }

    /// `node` failed to vote. False if it had answered before.
    pub fn fail(&mut self, node: NodeId) -> bool {
        if self.succeeded.contains(node) || !self.failed.insert(node) {
            return false;
        }
        self.settle();
        true
    }

    /// Everyone who has not answered is slow: a group with a slow quorum stops waiting for its electorate.
    pub fn delay_silent(&mut self) {
        self.delayed = self.silent();
        self.settle();
    }

    /// The nodes that have said nothing.
    pub fn silent(&self) -> NodeSet {
        let all = self.groups.iter().fold(NodeSet::new(), |all, votes| all.union(&votes.group.nodes));
        all.iter().filter(|node| !self.succeeded.contains(*node) && !self.failed.contains(*node)).collect()
    }

    /// What the votes come to.
    pub fn reached(&self) -> Reached {
        if self.groups.iter().any(|votes| self.failed.count_in(&votes.group.nodes) > votes.group.max_failures()) {
            return Reached::Failed;
        }
        self.groups.iter().map(|votes| votes.done.map_or(Reached::Waiting, Reached::from)).fold(
            Reached::Fast,
            |all, one| {
                if all == Reached::Waiting || one == Reached::Waiting { Reached::Waiting } else { all.max(one) }
            },
        )
    }

    fn settle(&mut self) {
        for at in 0..self.groups.len() {
            if self.groups[at].done.is_none() {
                self.groups[at].done = self.settled(&self.groups[at].group);
            }
        }
    }

    fn settled(&self, group: &VotingGroup) -> Option<Done> {
        let fast_votes = self.fast.count_in(&group.electorate);
        let fast_quorum = group.fast_quorum(self.kind) - self.spared;
        if fast_votes >= fast_quorum {
            return Some(Done::Fast);
        }
        let voted = self.succeeded.count_in(&group.electorate);
        let fast_failures = voted - fast_votes + self.failed.count_in(&group.electorate);
        let is_fast_impossible = !self.is_fast_enabled || fast_failures > group.electorate.len() - fast_quorum;
        let is_abandoned = self.delayed.count_in(&group.electorate) > 0;
        if self.succeeded.count_in(&group.nodes) < group.slow_quorum() || !(is_fast_impossible || is_abandoned) {
            return None;
        }
        Some(if fast_votes >= group.slow_quorum() { Done::Medium } else { Done::Slow })
    }
}

impl From<Done> for Reached {
    fn from(done: Done) -> Self {
        match done {
            Done::Fast => Self::Fast,
            Done::Medium => Self::Medium,
            Done::Slow => Self::Slow,
        }
    }
}
