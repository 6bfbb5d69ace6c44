//! What a recovery hears of a transaction's dependencies, key by key, and what it may make of it.
//!
//! Per key and not per shard: one store of a node may have the transaction Committed while another store of the same node and shard
//! has it PreAccepted. *Source*: [SPEC 7.4].

use crate::deps::{DepSet, Deps};
use crate::key::Key;
use crate::status::DepsKnown;
use crate::timestamp::Ballot;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is known at one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LatestAt {
    /// What the coordinated set is.
    pub known: DepsKnown,
    /// The ballot it was accepted or committed at.
    pub ballot: Ballot,
    /// The set a coordinator gave.
    pub coordinated: DepSet,
    /// The set the replica calculates itself with the transaction's id as bound; empty once committed.
    pub local: DepSet,
}

impl LatestAt {
    /// Takes in what another replica reports for the same key.
    fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (self.known.rank(self.ballot), other.known.rank(other.ballot));
        if self.known == DepsKnown::FromCoordinator && other.known == DepsKnown::FromCoordinator {
            self.coordinated = self.coordinated.union(&other.coordinated);
        } else if theirs > mine {
            (self.known, self.ballot, self.coordinated) = (other.known, other.ballot, other.coordinated.clone());
        }
        self.local = self.local.union(&other.local);
    }

    /// What to propose here: never local sets beside accepted ones.
    fn proposal(&self) -> DepSet {
        match self.known {
            DepsKnown::Unknown => self.local.clone(),
            DepsKnown::FromCoordinator => self.coordinated.union(&self.local),
            _ => self.coordinated.clone(),
        }
    }
}

/// The knowledge of several replicas, merged.
///
/// *Shape*: sorted by key, each key once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LatestDeps(Vec<(Key, LatestAt)>);

impl LatestDeps {
    /// From one entry per key, sorted.
    pub fn from_entries(mut entries: Vec<(Key, LatestAt)>) -> Self {
        entries.sort_by(|one, next| one.0.cmp(&next.0));
        Self(entries)
    }

    /// The entries by key.
    pub fn entries(&self) -> &[(Key, LatestAt)] {
        &self.0
    }

    /// Takes in another replica's report.
    pub fn merge(&mut self, other: &Self) {
        for (key, latest) in &other.0 {
            match self.0.binary_search_by(|(k, _)| k.cmp(key)) {
                Ok(at) => self.0[at].1.merge(latest),
                Err(at) => self.0.insert(at, (key.clone(), latest.clone())),
            }
        }
    }

    /// What is known at `key`.
    pub fn known_at(&self, key: &Key) -> DepsKnown {
        self.0.binary_search_by(|(k, _)| k.cmp(key)).map_or(DepsKnown::Unknown, |at| self.0[at].1.known)
    }

    /// The keys at which less than `known` is known.
    pub fn keys_below(&self, known: DepsKnown) -> Vec<Key> {
        self.0.iter().filter(|(_, latest)| latest.known < known).map(|(key, _)| key.clone()).collect()
    }

    /// The dependencies to propose (or, where committed or known, to keep), over every key.
    pub fn proposal(&self) -> Deps {
        Deps::from_sets(self.0.iter().map(|(key, latest)| (key.clone(), latest.proposal())).collect())
    }
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    known: Vec<DepsKnown>,
    ballots: Vec<Ballot>,
    coordinated: Deps,
    local: Deps,
}

impl Serialize for LatestDeps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sets = |set: fn(&LatestAt) -> &DepSet| {
            Deps::from_sets(self.0.iter().map(|(key, latest)| (key.clone(), set(latest).clone())).collect())
        };
        let encoded = Encoded {
            known: self.0.iter().map(|(_, latest)| latest.known).collect(),
            ballots: self.0.iter().map(|(_, latest)| latest.ballot).collect(),
            coordinated: sets(|latest| &latest.coordinated),
            local: sets(|latest| &latest.local),
        };
        encoded.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LatestDeps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Encoded { known, ballots, coordinated, local } = Encoded::deserialize(deserializer)?;
        let keys = coordinated.sets().iter().map(|(key, _)| key);
        let count = coordinated.sets().len();
        if known.len() != count || ballots.len() != count || !keys.eq(local.sets().iter().map(|(key, _)| key)) {
            return Err(D::Error::custom("latest deps: lists of different length or keys"));
        }
        let entry = |at: usize| {
            let (key, set) = &coordinated.sets()[at];
            let latest = LatestAt {
                known: known[at],
                ballot: ballots[at],
                coordinated: set.clone(),
                local: local.sets()[at].1.clone(),
            };
            (key.clone(), latest)
        };
        Ok(Self((0..count).map(entry).collect()))
    }
}
