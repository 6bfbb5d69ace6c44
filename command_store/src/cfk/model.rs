//! CommandsForKey against a list that is walked from end to end for every question, as the definitions read.
//!
//! *Source*: [SPEC 5.2 to 5.5, 6.2, 6.3]. Nothing here knows of quiet entries or of any order of the list.

use super::{CommandsForKey, Entry, EntryStatus, Witness};
use proptest::prelude::*;
use protocol::{Dep, DepSet, Epoch, Hlc, NodeId, Timestamp, TxnId, TxnKind, TxnShape};
use std::collections::{BTreeMap, BTreeSet};

/// Transactions at the key.
const POOL: usize = 9;

fn is_at_least_committed(entry: &Entry) -> bool {
    matches!(entry.status, EntryStatus::Committed | EntryStatus::Stable | EntryStatus::Applied)
}

fn is_at_least_stable(entry: &Entry) -> bool {
    matches!(entry.status, EntryStatus::Stable | EntryStatus::Applied)
}

fn is_decided(entry: &Entry) -> bool {
    is_at_least_committed(entry) || entry.status == EntryStatus::Invalidated
}

/// The list, in the order of first arrival.
#[derive(Default)]
struct Naive {
    entries: Vec<Entry>,
    waiting: BTreeMap<TxnId, Timestamp>,
    seen: Vec<Timestamp>,
}

impl Naive {
    fn get(&self, id: TxnId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The ids never heard of before; whoever is done needs nobody named for it any more.
    fn update(&mut self, entry: Entry) -> Vec<TxnId> {
        let is_done = matches!(entry.status, EntryStatus::Applied | EntryStatus::Invalidated);
        let named = entry.deps.clone().filter(|_| !is_done).unwrap_or_default();
        let unheard: Vec<TxnId> = named.iter().map(|dep| dep.id).filter(|id| self.get(*id).is_none()).collect();
        self.entries.extend(unheard.iter().map(|id| Entry::transitive(*id)));
        self.entries.retain(|other| other.id != entry.id);
        self.entries.push(entry);
        unheard
    }

    /// 5.5: the stable write with the greatest `at` below `bound`.
    fn cover(&self, bound: Timestamp) -> Option<&Entry> {
        let writes = self.entries.iter().filter(|entry| entry.id.kind() == TxnKind::Write);
        writes.filter(|entry| is_at_least_stable(entry) && entry.at < bound).max_by_key(|entry| entry.at)
    }

    /// 5.2, the conflicts in id order and how many of them are not applied, with 5.5 if `elide`.
    fn conflicts(&self, x: TxnId, bound: Timestamp, elide: bool) -> (Vec<TxnId>, u64) {
        let cover = self.cover(bound).filter(|_| elide);
        let is_elidable = |t: &Entry| {
            let is_below = |w: &Entry| t.id < w.id && t.at < w.at && w.id.kind().witnesses(t.id.kind());
            is_at_least_committed(t) && t.is_durable && cover.is_some_and(is_below)
        };
        let is_skipped = |t: &Entry| matches!(t.status, EntryStatus::Transitive | EntryStatus::Invalidated);
        let conflicts: BTreeMap<TxnId, &Entry> = self
            .entries
            .iter()
            .filter(|t| t.id.as_timestamp() < bound && t.id != x && x.kind().witnesses(t.id.kind()))
            .filter(|t| !is_skipped(t) && !is_elidable(t))
            .map(|t| (t.id, t))
            .collect();
        let unapplied = conflicts.values().filter(|t| t.status != EntryStatus::Applied).count();
        (conflicts.into_keys().collect(), unapplied as u64)
    }

    /// 6.2, one T: whether X may run as far as T is concerned.
    fn lets_run(t: &Entry, at: Timestamp, deps: &DepSet) -> bool {
        if is_decided(t) {
            t.status == EntryStatus::Invalidated || t.at > at || t.status == EntryStatus::Applied
        } else {
            t.id.as_timestamp() > at || !deps.iter().any(|dep| dep.id == t.id)
        }
    }

    fn blockers(&self, x: TxnId, at: Timestamp, deps: &DepSet) -> Vec<&Entry> {
        let others = self.entries.iter().filter(|t| t.id != x && x.kind().witnesses(t.id.kind()));
        others.filter(|t| !Self::lets_run(t, at, deps)).collect()
    }

    fn is_ready(&self, x: TxnId, at: Timestamp, deps: &DepSet) -> bool {
        self.blockers(x, at, deps).is_empty()
    }

    /// Everyone in the waiting list whose condition holds, by `at`.
    fn wake(&mut self) -> Vec<TxnId> {
        let deps = |id| self.get(id).and_then(|entry| entry.deps.clone()).unwrap_or_default();
        let ready = self.waiting.iter().filter(|(id, at)| self.is_ready(**id, **at, &deps(**id)));
        let by_time: BTreeMap<Timestamp, TxnId> = ready.map(|(id, at)| (*at, *id)).collect();
        self.waiting.retain(|_, at| !by_time.contains_key(at));
        by_time.into_values().collect()
    }

    /// 5.3, for every T that must witness X.
    fn witnesses(&self, x: TxnId) -> BTreeMap<TxnId, Option<bool>> {
        let others = self.entries.iter().filter(|t| t.id != x && t.id.kind().witnesses(x.kind()));
        others.filter(|t| t.status != EntryStatus::Transitive).map(|t| (t.id, Self::is_dep(t, x))).collect()
    }

    /// `None` is NOT_ELIGIBLE.
    fn is_dep(t: &Entry, x: TxnId) -> Option<bool> {
        let known_before = if is_at_least_committed(t) { t.at } else { t.id.as_timestamp() };
        let speaks =
            is_at_least_committed(t) || matches!(t.status, EntryStatus::Accepted | EntryStatus::PreAcceptedWithDeps);
        let deps = t.deps.as_ref().filter(|_| speaks && known_before > x.as_timestamp())?;
        Some(deps.iter().any(|dep| dep.id == x && !dep.unstable))
    }
}

/// What happens next; numbers are taken as far as they make sense at that point.
#[derive(Clone, Debug)]
enum Op {
    Change { index: usize, status: EntryStatus, late: u64, deps: u32, unstable: u32, is_durable: bool },
    Durable { index: usize },
    Wait { index: usize },
    Wake,
}

fn op() -> impl Strategy<Value = Op> {
    let status = prop_oneof![
        2 => Just(EntryStatus::PreAccepted),
        1 => Just(EntryStatus::PreAcceptedWithDeps),
        1 => Just(EntryStatus::NotAccepted),
        2 => Just(EntryStatus::Accepted),
        2 => Just(EntryStatus::Committed),
        4 => Just(EntryStatus::Stable),
        5 => Just(EntryStatus::Applied),
        2 => Just(EntryStatus::Invalidated),
    ];
    let late = prop_oneof![3 => Just(0u64), 2 => 1u64..60];
    let change = (0..POOL, status, late, any::<u32>(), any::<u32>(), prop::bool::weighted(0.4)).prop_map(
        |(index, status, late, deps, unstable, is_durable)| Op::Change {
            index,
            status,
            late,
            deps,
            unstable,
            is_durable,
        },
    );
    prop_oneof![
        10 => change,
        5 => (0..POOL).prop_map(|index| Op::Durable { index }),
        4 => (0..POOL).prop_map(|index| Op::Wait { index }),
        2 => Just(Op::Wake),
    ]
}

fn pool(writes: &[bool]) -> Vec<TxnId> {
    let id = |(index, is_write): (usize, &bool)| {
        let kind = if *is_write { TxnKind::Write } else { TxnKind::Read };
        let shape = TxnShape { kind, medium_path: true, ..TxnShape::default() };
        TxnId::new(Epoch(1), Hlc(10 * (index as u64 + 1)), NodeId(1), shape)
    };
    writes.iter().enumerate().map(id).collect()
}

/// Both versions, driven together.
struct Pair {
    ids: Vec<TxnId>,
    cfk: CommandsForKey,
    naive: Naive,
}

impl Pair {
    fn new(ids: Vec<TxnId>) -> Self {
        Self { ids, cfk: CommandsForKey::default(), naive: Naive::default() }
    }

    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Change { index, status, late, deps, unstable, is_durable } => {
                if let Some(entry) = self.next(index, status, late, (deps, unstable), is_durable) {
                    return self.update(entry);
                }
            }
            Op::Durable { index } => {
                let known = self.naive.get(self.ids[index]).filter(|entry| is_at_least_committed(entry)).cloned();
                if let Some(entry) = known {
                    return self.update(Entry { is_durable: true, ..entry });
                }
            }
            Op::Wait { index } => {
                let id = self.ids[index];
                let at = self.naive.get(id).filter(|entry| entry.status == EntryStatus::Stable).map(|entry| entry.at);
                if let Some(at) = at {
                    self.cfk.wait(id, at);
                    self.naive.waiting.insert(id, at);
                }
            }
            Op::Wake => self.wake()?,
        }
        Ok(())
    }

    fn wake(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.cfk.wake(), self.naive.wake());
        prop_assert_eq!(self.cfk.has_waiting(), !self.naive.waiting.is_empty());
        Ok(())
    }

    fn update(&mut self, entry: Entry) -> Result<(), TestCaseError> {
        self.cfk.raise_max_conflict(entry.at);
        self.naive.seen.push(entry.at);
        prop_assert_eq!(self.cfk.update(entry.clone()), self.naive.update(entry));
        Ok(())
    }

    /// The entry after a legal step of the record, if it is one.
    fn next(&self, index: usize, status: EntryStatus, late: u64, deps: (u32, u32), is_durable: bool) -> Option<Entry> {
        let id = self.ids[index];
        let before = self.naive.get(id).cloned().unwrap_or_else(|| Entry::transitive(id));
        let is_legal = match (before.status, status) {
            (EntryStatus::Invalidated, _) => false,
            (from, EntryStatus::Invalidated) => from < EntryStatus::Committed,
            // below Committed a higher ballot may replace a later status by an earlier one, but not by a vote
            (from, to) if to < EntryStatus::Committed => {
                from < EntryStatus::Committed && (to > from || to >= EntryStatus::NotAccepted)
            }
            (from, to) => to > from && !self.naive.waiting.contains_key(&id),
        };
        let is_kept = is_at_least_committed(&before);
        let at = if is_kept { before.at } else { self.time(index, late) };
        let has_deps =
            !matches!(status, EntryStatus::PreAccepted | EntryStatus::NotAccepted | EntryStatus::Invalidated);
        let new_deps = || if is_at_least_stable(&before) { before.deps.clone() } else { Some(self.deps(id, deps)) };
        is_legal.then(|| Entry {
            id,
            status,
            is_durable: before.is_durable
                || (is_durable && status >= EntryStatus::Committed && status != EntryStatus::Invalidated),
            at,
            deps: if has_deps { new_deps() } else { None },
        })
    }

    /// The id itself, or a later time that nobody else has.
    fn time(&self, index: usize, late: u64) -> Timestamp {
        let id = self.ids[index].as_timestamp();
        if late == 0 {
            return id;
        }
        Timestamp::new(Epoch(1), Hlc(id.hlc().0 + late), 0, NodeId(100 + index as u32))
    }

    fn deps(&self, id: TxnId, (chosen, unstable): (u32, u32)) -> DepSet {
        let is_chosen = |index: usize| (chosen >> index) & 1 == 1;
        let others = self
            .ids
            .iter()
            .enumerate()
            .filter(|(index, other)| is_chosen(*index) && **other != id && id.witnesses(**other));
        DepSet::from_entries(
            others.map(|(index, id)| Dep { id: *id, unstable: (unstable >> index) & 1 == 1 }).collect(),
        )
    }

    /// Every bound at which an answer may change.
    fn bounds(&self) -> BTreeSet<Timestamp> {
        let ids = self.ids.iter().map(|id| id.as_timestamp());
        ids.chain(self.naive.entries.iter().map(|entry| entry.at)).chain([Timestamp::MAX]).collect()
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let highest = self.naive.seen.iter().copied().fold(Timestamp::NONE, Timestamp::merge_max);
        prop_assert_eq!(self.cfk.max_conflict(), highest);
        let listed: Vec<&Entry> = self.cfk.entries().iter().collect();
        let mut expected: Vec<&Entry> = self.naive.entries.iter().collect();
        expected.sort_by_key(|entry| entry.id);
        prop_assert_eq!(listed, expected);
        for id in &self.ids {
            self.compare_conflicts(*id)?;
            self.compare_readiness(*id)?;
            let witnesses = self.cfk.witnesses(*id, false).map(|(other, Witness { names, .. })| (other, names));
            prop_assert_eq!(witnesses.collect::<BTreeMap<_, _>>(), self.naive.witnesses(*id), "about {}", id);
        }
        Ok(())
    }

    fn compare_conflicts(&self, id: TxnId) -> Result<(), TestCaseError> {
        // nobody asks for the dependencies of a transaction that is committed here
        if self.naive.get(id).is_some_and(is_at_least_committed) {
            return Ok(());
        }
        for bound in self.bounds() {
            let [whole, elided] = [false, true].map(|elide| self.cfk.conflicts(id, bound, elide));
            for (found, elide) in [(&whole, false), (&elided, true)] {
                let ids: Vec<TxnId> = found.deps.iter().map(|dep| dep.id).collect();
                let expected = self.naive.conflicts(id, bound, elide);
                prop_assert_eq!((ids, found.backlog.count), expected, "{} below {}, elide {}", id, bound, elide);
            }
            let is_reached = |left_out: &Entry| {
                let covers = |dep: Dep| {
                    self.naive
                        .get(dep.id)
                        .is_some_and(|w| is_at_least_stable(w) && left_out.id < w.id && left_out.at < w.at)
                };
                elided.deps.iter().any(covers)
            };
            let left_out = whole.deps.without(&elided.deps);
            prop_assert!(left_out.iter().all(|dep| self.naive.get(dep.id).is_some_and(is_reached)));
        }
        Ok(())
    }

    fn compare_readiness(&self, id: TxnId) -> Result<(), TestCaseError> {
        let Some(entry) = self.naive.get(id).filter(|entry| entry.status == EntryStatus::Stable) else { return Ok(()) };
        let deps = entry.deps.clone().unwrap_or_default();
        prop_assert_eq!(self.cfk.is_ready(id, entry.at, &deps), self.naive.is_ready(id, entry.at, &deps), "{}", id);
        let blockers = self.naive.blockers(id, entry.at, &deps).into_iter();
        let undecided: BTreeSet<TxnId> = blockers.filter(|t| !is_decided(t)).map(|t| t.id).collect();
        let found: Vec<TxnId> = self.cfk.undecided_before(id, entry.at, &deps);
        prop_assert_eq!(found, undecided.into_iter().collect::<Vec<_>>());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn model_cfk_matches_naive(
        writes in prop::collection::vec(prop::bool::weighted(0.6), POOL),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut pair = Pair::new(pool(&writes));
        for (count, op) in ops.iter().enumerate() {
            pair.step(op)?;
            if count % 4 == 0 || count + 1 == ops.len() {
                pair.compare()?;
            }
        }
        for index in 0..POOL {
            pair.step(&Op::Wait { index })?;
        }
        pair.wake()?;
    }
}
