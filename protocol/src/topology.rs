//! Who replicates what: nodes, tokens, shards and their electorates. Immutable per epoch.
//!
//! *Source*: [SPEC 13.1], README section 4 "Placement".

use crate::id::NodeId;
use crate::key::{Key, Range, RoutingKey, Token};
use crate::quorum;
use crate::timestamp::Epoch;
use crate::txn::FastPathKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::fmt;

/// A small sorted set of nodes.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct NodeSet(SmallVec<[NodeId; 4]>);

impl NodeSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `node`; false if it was there.
    pub fn insert(&mut self, node: NodeId) -> bool {
        match self.0.binary_search(&node) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, node);
                true
            }
        }
    }

    /// Takes `node` out; false if it was not there.
    pub fn remove(&mut self, node: NodeId) -> bool {
        self.0.binary_search(&node).map(|at| self.0.remove(at)).is_ok()
    }

    /// Whether `node` is in it.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.binary_search(&node).is_ok()
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of these are in `other` too.
    pub fn count_in(&self, other: &Self) -> usize {
        self.0.iter().filter(|node| other.contains(**node)).count()
    }

    /// All of both.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut nodes: SmallVec<[NodeId; 4]> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self(nodes)
    }
}

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NodeSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<NodeId>::deserialize(deserializer).map(Self::from_iter)
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A range and its replicas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// The tokens, within one group.
    pub range: Range,
    /// Its replicas.
    pub nodes: NodeSet,
    /// The replicas whose votes count on the fast path; at least a slow quorum.
    pub electorate: NodeSet,
}

/// The voting rules of a replica set. Shards with the same replicas and electorate decide together: a node's reply speaks for all
/// its keys, so a quorum in one is a quorum in the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VotingGroup {
    /// The replicas.
    pub nodes: NodeSet,
    /// Those that vote on the fast path.
    pub electorate: NodeSet,
    /// The keys of the transaction that live here, sorted.
    pub keys: Vec<Key>,
}

impl VotingGroup {
    /// q of this group.
    pub fn slow_quorum(&self) -> usize {
        quorum::slow_quorum(self.nodes.len())
    }

    /// f of this group.
    pub fn max_failures(&self) -> usize {
        quorum::max_failures(self.nodes.len())
    }

    /// F of this group.
    pub fn fast_quorum(&self, kind: FastPathKind) -> usize {
        quorum::fast_quorum(self.nodes.len(), self.electorate.len(), kind)
    }

    /// e - F of this group.
    pub fn fast_rejects_max(&self, kind: FastPathKind) -> usize {
        quorum::fast_rejects_max(self.nodes.len(), self.electorate.len(), kind)
    }
}

/// A topology that cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTopology(String);

impl fmt::Display for BadTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The shards of one epoch.
///
/// *Shape*: per group the shards cover the whole ring without overlap, sorted by range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    epoch: Epoch,
    nodes: Vec<(NodeId, Token)>,
    shards: Vec<Shard>,
}

/// More nodes than this have no group of their own size; quorums are proved up to here.
pub const GROUP_MAX: usize = 9;

impl Topology {
    /// The ring of `nodes`: in every group g the replicas of a token are the g nodes walking clockwise from it.
    ///
    /// *Errors*: no node, a repeated node or a repeated token.
    pub fn ring(epoch: Epoch, nodes: &[(NodeId, Token)]) -> Result<Self, BadTopology> {
        let mut ring = nodes.to_vec();
        ring.sort_unstable_by_key(|(_, token)| *token);
        let ids: NodeSet = ring.iter().map(|(node, _)| *node).collect();
        if ring.is_empty() || ids.len() != ring.len() {
            return Err(BadTopology(format!("{} nodes with {} different ids", ring.len(), ids.len())));
        }
        if let Some(twice) = ring.windows(2).find(|pair| pair[0].1 == pair[1].1) {
            return Err(BadTopology(format!("{} and {} have the same token {}", twice[0].0, twice[1].0, twice[0].1.0)));
        }
        let groups = 1..=ring.len().min(GROUP_MAX) as u8;
        let shards = groups.flat_map(|group| Self::arcs(group, &ring)).collect();
        Ok(Self { epoch, nodes: ring, shards })
    }

    fn arcs(group: u8, ring: &[(NodeId, Token)]) -> Vec<Shard> {
        let replicas =
            |first: usize| -> NodeSet { (0..usize::from(group)).map(|i| ring[(first + i) % ring.len()].0).collect() };
        let shard = |start, end, first| {
            let nodes = replicas(first);
            Shard { range: Range { group, start, end }, electorate: nodes.clone(), nodes }
        };
        let mut shards = Vec::with_capacity(ring.len() + 1);
        let mut start = None;
        for (index, (_, token)) in ring.iter().enumerate() {
            shards.push(shard(start, *token, index));
            start = Some(*token);
        }
        if start != Some(Token(i64::MAX)) {
            shards.push(shard(start, Token(i64::MAX), 0));
        }
        shards
    }

    /// A topology of hand-made shards, for tests and simulations with overlapping replica sets.
    ///
    /// *Errors*: a group that does not cover the ring exactly once, or an electorate that is not part of its shard or too small.
    pub fn of_shards(epoch: Epoch, mut shards: Vec<Shard>) -> Result<Self, BadTopology> {
        shards.sort_unstable_by_key(|shard| shard.range);
        let mut expected: Option<(u8, Option<Token>)> = None;
        for shard in &shards {
            let Shard { range, nodes, electorate } = shard;
            let start = match expected {
                Some((group, Some(end))) if group == range.group => Some(end),
                _ => None,
            };
            if range.start != start {
                return Err(BadTopology(format!("group {} does not cover the ring at {:?}", range.group, range.start)));
            }
            if electorate.count_in(nodes) != electorate.len() || electorate.len() < quorum::slow_quorum(nodes.len()) {
                return Err(BadTopology(format!("electorate {electorate:?} does not fit replicas {nodes:?}")));
            }
            expected = Some((range.group, Some(range.end)));
        }
        let nodes: NodeSet = shards.iter().flat_map(|shard| shard.nodes.iter().collect::<Vec<_>>()).collect();
        Ok(Self { epoch, nodes: nodes.iter().map(|node| (node, Token(0))).collect(), shards })
    }

    /// Evenly spaced tokens for `count` nodes, in node order.
    pub fn even_tokens(count: usize) -> Vec<Token> {
        let step = (1u128 << 64) / count.max(1) as u128;
        (0..count).map(|i| Token((i64::MIN as i128 + (step * (i as u128 + 1)) as i128 - 1) as i64)).collect()
    }

    /// The epoch it describes.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The nodes and their tokens, in ring order.
    pub fn nodes(&self) -> &[(NodeId, Token)] {
        &self.nodes
    }

    /// All shards.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The largest group: the replication factor of keys that every node holds.
    pub fn largest_group(&self) -> u8 {
        self.shards.iter().map(|shard| shard.range.group).max().unwrap_or(0)
    }

    /// The shard of a place on the ring; `None` for a group that does not exist.
    pub fn shard_of(&self, routing: RoutingKey) -> Option<&Shard> {
        let at =
            self.shards.partition_point(|shard| (shard.range.group, shard.range.end) < (routing.group, routing.token));
        self.shards.get(at).filter(|shard| shard.range.contains(routing))
    }

    /// Whether `node` replicates `key`.
    pub fn replicates(&self, node: NodeId, key: &Key) -> bool {
        self.shard_of(key.routing).is_some_and(|shard| shard.nodes.contains(node))
    }

    /// The voting groups of `keys` (sorted), and the keys in each; keys of groups that do not exist are left out.
    pub fn voting_groups(&self, keys: &[Key]) -> Vec<VotingGroup> {
        let mut groups: Vec<VotingGroup> = Vec::with_capacity(1);
        for key in keys {
            let Some(shard) = self.shard_of(key.routing) else { continue };
            match groups.iter_mut().find(|g| g.nodes == shard.nodes && g.electorate == shard.electorate) {
                Some(group) => group.keys.push(key.clone()),
                None => groups.push(VotingGroup {
                    nodes: shard.nodes.clone(),
                    electorate: shard.electorate.clone(),
                    keys: vec![key.clone()],
                }),
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Topology {
        let tokens = Topology::even_tokens(3);
        let nodes: Vec<_> = tokens.into_iter().enumerate().map(|(i, t)| (NodeId(i as u32 + 1), t)).collect();
        Topology::ring(Epoch(1), &nodes).expect("a ring of three")
    }

    fn set(nodes: &[u32]) -> NodeSet {
        nodes.iter().map(|node| NodeId(*node)).collect()
    }

    #[test]
    fn every_token_of_every_group_has_a_shard() {
        let topology = three();
        for group in 1..=3 {
            for token in [i64::MIN, -1, 0, 1, i64::MAX] {
                let shard = topology.shard_of(RoutingKey { group, token: Token(token) }).expect("covered");
                assert_eq!(shard.nodes.len(), usize::from(group));
            }
        }
        assert_eq!(topology.shard_of(RoutingKey { group: 4, token: Token(0) }), None);
    }

    #[test]
    fn replicas_walk_clockwise_from_the_token() {
        let topology = three();
        let (first, token) = topology.nodes()[1];
        let shard = topology.shard_of(RoutingKey { group: 2, token }).expect("covered");
        assert_eq!(shard.nodes, [first, topology.nodes()[2].0].into_iter().collect());
    }

    #[test]
    fn equal_replica_sets_vote_together() {
        let topology = three();
        let keys: Vec<Key> = (0..20i64).map(|i| Key::new(3, crate::TableId(1), &i.to_be_bytes())).collect();
        let groups = topology.voting_groups(&keys);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].keys.len(), 20);
        assert_eq!(groups[0].nodes, set(&[1, 2, 3]));
    }

    #[test]
    fn a_gap_in_hand_made_shards_is_refused() {
        let shard = |start: Option<i64>, end: i64| Shard {
            range: Range { group: 3, start: start.map(Token), end: Token(end) },
            nodes: set(&[1, 2, 3]),
            electorate: set(&[1, 2, 3]),
        };
        assert!(Topology::of_shards(Epoch(1), vec![shard(None, 0), shard(Some(0), i64::MAX)]).is_ok());
        assert!(Topology::of_shards(Epoch(1), vec![shard(None, 0), shard(Some(5), i64::MAX)]).is_err());
    }

    #[test]
    fn tokens_are_evenly_spaced_and_end_at_the_top() {
        assert_eq!(Topology::even_tokens(2), [Token(-1), Token(i64::MAX)]);
    }
}
