//! Dependencies: which conflicting transactions must come first.
//!
//! *Source*: [SPEC 1.7].

use crate::key::Key;
use crate::timestamp::{TIMESTAMP_BYTES, Timestamp, TxnId};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteBuf;
use std::fmt;
use std::sync::Arc;

/// One dependency of a transaction at one key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dep {
    /// The transaction to wait for.
    pub id: TxnId,
    /// Waited for when executing, but no testimony that the owner witnesses it: recovery must not count it.
    pub unstable: bool,
}

impl fmt::Debug for Dep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.id, if self.unstable { "?" } else { "" })
    }
}

/// The dependencies at one key.
///
/// *Shape*: sorted by id, each id once. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct DepSet(Option<Arc<[Dep]>>);

impl fmt::Debug for DepSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl DepSet {
    /// A set from entries in any order; where an id comes twice, stable wins.
    pub fn from_entries(mut entries: Vec<Dep>) -> Self {
        entries.sort_unstable();
        entries.dedup_by_key(|dep| dep.id);
        Self::from_sorted(entries)
    }

    fn from_sorted(entries: Vec<Dep>) -> Self {
        Self((!entries.is_empty()).then(|| entries.into()))
    }

    /// A set of stable ids, given sorted and unique.
    pub fn stable(ids: impl IntoIterator<Item = TxnId>) -> Self {
        let entries: Vec<Dep> = ids.into_iter().map(|id| Dep { id, unstable: false }).collect();
        debug_assert!(entries.is_sorted_by(|one, next| one.id < next.id));
        Self::from_sorted(entries)
    }

    /// The entries, sorted by id.
    pub fn as_slice(&self) -> &[Dep] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// The entries, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = Dep> + '_ {
        self.as_slice().iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The entry of `id`.
    pub fn get(&self, id: TxnId) -> Option<Dep> {
        let entries = self.as_slice();
        entries.binary_search_by_key(&id, |dep| dep.id).ok().map(|at| entries[at])
    }

    /// Whether `id` is there, stable or not.
    pub fn contains(&self, id: TxnId) -> bool {
        self.get(id).is_some()
    }

    /// Whether `id` is there and stable.
    pub fn contains_stable(&self, id: TxnId) -> bool {
        self.get(id).is_some_and(|dep| !dep.unstable)
    }

    /// All of both; an id is stable if either side has it stable. Associative, commutative, idempotent.
    pub fn union(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (None, _) => return other.clone(),
            (_, None) => return self.clone(),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) || mine == theirs => return self.clone(),
            _ => {}
        }
        let (mut mine, mut theirs) = (self.as_slice(), other.as_slice());
        let mut merged = Vec::with_capacity(mine.len() + theirs.len());
        while let (Some(a), Some(b)) = (mine.first(), theirs.first()) {
            if a.id <= b.id {
                merged.push(Dep { id: a.id, unstable: a.unstable && (a.id != b.id || b.unstable) });
                mine = &mine[1..];
            } else {
                merged.push(*b);
            }
            if b.id <= a.id {
                theirs = &theirs[1..];
            }
        }
        merged.extend_from_slice(mine);
        merged.extend_from_slice(theirs);
        Self::from_sorted(merged)
    }

    /// What `other` does not name at all.
    pub fn without(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return self.clone();
        }
        Self::from_sorted(self.iter().filter(|dep| !other.contains(dep.id)).collect())
    }

    /// The same ids, those for which `mark` holds made UNSTABLE.
    pub fn mark_unstable(&self, mark: impl Fn(TxnId) -> bool) -> Self {
        Self::from_sorted(self.iter().map(|dep| Dep { unstable: dep.unstable || mark(dep.id), ..dep }).collect())
    }
}

/// The dependencies of a transaction over some of its keys.
///
/// *Shape*: sorted by key, one set per key. A key that is present with an empty set is *covered*: there is nothing to wait for; a
/// key that is absent says nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deps(Vec<(Key, DepSet)>);

impl Deps {
    /// No key covered.
    pub const NONE: Self = Self(Vec::new());

    /// From one set per key, in any order, each key once.
    pub fn from_sets(mut sets: Vec<(Key, DepSet)>) -> Self {
        if !sets.is_sorted_by(|one, next| one.0 < next.0) {
            sets.sort_by(|one, next| one.0.cmp(&next.0));
        }
        debug_assert!(sets.is_sorted_by(|one, next| one.0 < next.0), "each key once");
        Self(sets)
    }

    /// The sets by key.
    pub fn sets(&self) -> &[(Key, DepSet)] {
        &self.0
    }

    /// Whether no key is covered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The set at `key`; `None` if the key is not covered.
    pub fn at(&self, key: &Key) -> Option<&DepSet> {
        self.0.binary_search_by(|(k, _)| k.cmp(key)).ok().map(|index| &self.0[index].1)
    }

    /// Whether every key of `keys` is covered.
    pub fn covers<'a>(&self, keys: impl IntoIterator<Item = &'a Key>) -> bool {
        keys.into_iter().all(|key| self.at(key).is_some())
    }

    /// All ids at all keys, in key order, with repeats.
    pub fn ids(&self) -> impl Iterator<Item = TxnId> + '_ {
        self.0.iter().flat_map(|(_, set)| set.iter().map(|dep| dep.id))
    }

    /// The highest id at any key.
    pub fn max_id(&self) -> Option<TxnId> {
        self.0.iter().filter_map(|(_, set)| set.as_slice().last()).map(|dep| dep.id).max()
    }

    /// Both; keys covered by either are covered. Associative, commutative, idempotent.
    pub fn union(self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        if self.is_empty() {
            return other.clone();
        }
        let mut merged = Vec::with_capacity(self.0.len().max(other.0.len()));
        let mut theirs = other.0.iter().peekable();
        for (key, set) in self.0 {
            while let Some(entry) = theirs.next_if(|(k, _)| *k < key) {
                merged.push(entry.clone());
            }
            match theirs.next_if(|(k, _)| *k == key) {
                Some((_, set2)) => merged.push((key, set.union(set2))),
                None => merged.push((key, set)),
            }
        }
        merged.extend(theirs.cloned());
        Self(merged)
    }

    /// The part at the keys that `keep` accepts.
    pub fn slice(&self, keep: impl Fn(&Key) -> bool) -> Self {
        Self(self.0.iter().filter(|(key, _)| keep(key)).cloned().collect())
    }

    /// Per key, what `other` does not name; covered keys stay covered.
    pub fn without(&self, other: &Self) -> Self {
        let empty = DepSet::default();
        let rest = |(key, set): &(Key, DepSet)| (key.clone(), set.without(other.at(key).unwrap_or(&empty)));
        Self(self.0.iter().map(rest).collect())
    }

    /// The same, ids below `bound` made UNSTABLE.
    pub fn mark_unstable_below(&self, bound: TxnId) -> Self {
        self.mark_unstable(|_, id| id < bound)
    }

    /// The same, ids for which `mark` holds at their key made UNSTABLE.
    pub fn mark_unstable(&self, mark: impl Fn(&Key, TxnId) -> bool) -> Self {
        Self(self.0.iter().map(|(key, set)| (key.clone(), set.mark_unstable(|id| mark(key, id)))).collect())
    }

    /// Puts `set` at `key`, replacing what was there.
    pub fn set(&mut self, key: &Key, set: DepSet) {
        match self.0.binary_search_by(|(k, _)| k.cmp(key)) {
            Ok(index) => self.0[index].1 = set,
            Err(index) => self.0.insert(index, (key.clone(), set)),
        }
    }
}

/// The form on wire and disk: sorted keys, sorted unique ids, index lists whose entries carry the UNSTABLE mark in their lowest bit.
#[derive(Deserialize)]
struct Encoded {
    keys: Vec<Key>,
    ids: ByteBuf,
    lists: Vec<Vec<u32>>,
}

/// The same, to be written.
#[derive(Serialize)]
#[serde(rename = "Encoded")]
struct Encoding<'a> {
    keys: Vec<&'a Key>,
    ids: ByteBuf,
    lists: Vec<Vec<u32>>,
}

impl Deps {
    /// Every id once, sorted.
    fn sorted_ids(&self) -> Vec<TxnId> {
        let mut ids: Vec<TxnId> = self.ids().collect();
        if self.0.len() > 1 {
            ids.sort_unstable();
            ids.dedup();
        }
        ids
    }
}

impl Serialize for Deps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ids = self.sorted_ids();
        let entry = |dep: Dep| {
            let index = ids.binary_search(&dep.id).expect("every id was collected") as u32;
            index << 1 | u32::from(dep.unstable)
        };
        let mut bytes = Vec::with_capacity(ids.len() * TIMESTAMP_BYTES);
        ids.iter().for_each(|id| bytes.extend_from_slice(&id.as_timestamp().to_bytes()));
        let encoding = Encoding {
            keys: self.0.iter().map(|(key, _)| key).collect(),
            lists: self.0.iter().map(|(_, set)| set.iter().map(entry).collect()).collect(),
            ids: ByteBuf::from(bytes),
        };
        encoding.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Deps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Encoded { keys, ids, lists } = Encoded::deserialize(deserializer)?;
        let ids = decode_ids(&ids).map_err(D::Error::custom)?;
        if keys.len() != lists.len() || !keys.is_sorted_by(|one, next| one < next) {
            return Err(D::Error::custom("deps: keys not sorted, or not as many as lists"));
        }
        let set = |list: Vec<u32>| -> Option<DepSet> {
            let entry = |packed: u32| {
                let id = *ids.get(packed as usize >> 1)?;
                Some(Dep { id, unstable: packed & 1 == 1 })
            };
            let entries: Vec<Dep> = list.into_iter().map(entry).collect::<Option<_>>()?;
            entries.is_sorted_by(|one, next| one.id < next.id).then(|| DepSet::from_sorted(entries))
        };
        let sets = lists.into_iter().map(set).collect::<Option<Vec<_>>>();
        let sets = sets.ok_or_else(|| D::Error::custom("deps: a list is not sorted or points beyond the ids"))?;
        Ok(Self(keys.into_iter().zip(sets).collect()))
    }
}

fn decode_ids(bytes: &[u8]) -> Result<Vec<TxnId>, &'static str> {
    let chunks = bytes.chunks_exact(TIMESTAMP_BYTES);
    if !chunks.remainder().is_empty() {
        return Err("deps: id bytes are no multiple of 20");
    }
    let id = |chunk: &[u8]| {
        let timestamp = Timestamp::from_bytes(chunk.try_into().expect("chunks of 20")).ok()?;
        TxnId::from_timestamp(timestamp)
    };
    let ids: Vec<TxnId> = chunks.map(id).collect::<Option<_>>().ok_or("deps: bytes that are no transaction id")?;
    if ids.is_sorted_by(|one, next| one < next) { Ok(ids) } else { Err("deps: ids not sorted and unique") }
}
