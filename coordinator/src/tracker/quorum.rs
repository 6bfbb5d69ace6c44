//! A quorum in every group.

use protocol::{NodeId, NodeSet, VotingGroup};

/// Counts answers of one round until a slow quorum of every group has said yes, or some group cannot any more.
///
/// A node counts once, whatever it repeats.
#[derive(Clone, PartialEq, Debug)]
pub struct QuorumTracker {
    groups: Vec<VotingGroup>,
    succeeded: NodeSet,
    failed: NodeSet,
    /// Votes spared per group; only a planted bug sets it.
    spared: usize,
}

impl QuorumTracker {
    /// Over `groups`.
    pub fn new(groups: Vec<VotingGroup>) -> Self {
        Self { groups, succeeded: NodeSet::new(), failed: NodeSet::new(), spared: 0 }
    }

    /// The same, content with `spared` votes fewer per group.
    pub fn sparing(self, spared: usize) -> Self {
        Self { spared, ..self }
    }

    /// `node` said yes.
    pub fn succeed(&mut self, node: NodeId) {
        self.failed.remove(node);
        self.succeeded.insert(node);
    }

    /// `node` said no.
    pub fn fail(&mut self, node: NodeId) {
        if !self.succeeded.contains(node) {
            self.failed.insert(node);
        }
    }

    /// Whether a quorum of every group has said yes.
    pub fn is_reached(&self) -> bool {
        let reached = |group: &VotingGroup| self.succeeded.count_in(&group.nodes) + self.spared >= group.slow_quorum();
        self.groups.iter().all(reached)
    }

    /// Whether some group has failed more often than it may.
    pub fn is_impossible(&self) -> bool {
        self.groups.iter().any(|group| self.failed.count_in(&group.nodes) > group.max_failures())
    }

    /// Whether `node` has said yes.
    pub fn has(&self, node: NodeId) -> bool {
        self.succeeded.contains(node)
    }

    /// Every node of any group.
    pub fn nodes(&self) -> NodeSet {
        self.groups.iter().fold(NodeSet::new(), |all, group| all.union(&group.nodes))
    }

    /// The nodes that have not said yes.
    pub fn missing(&self) -> NodeSet {
        self.nodes().iter().filter(|node| !self.succeeded.contains(*node)).collect()
    }

    /// The nodes that have said nothing.
    pub fn silent(&self) -> NodeSet {
        self.missing().iter().filter(|node| !self.failed.contains(*node)).collect()
    }

    /// The groups.
    pub fn groups(&self) -> &[VotingGroup] {
        &self.groups
    }
}
