//! The final lists, resolved to their writers, and what can be judged by them alone, without a graph.
//!
//! Lists are judged before reads: a lost append then bears its own name even when some client had read it.

use super::anomaly::{Anomaly, Class};
use super::history::{EMPTY_PREFIX_HASH, History, Observed, Op, Outcome, Read, extend_prefix_hash};
use super::id_index::IdIndex;

/// Elements printed of one list.
const SHOWN_MAX: usize = 12;

/// Final lists by key ordinal (keys ascending), with writers as positions in `history.ops`.
pub(crate) struct Lists<'a> {
    history: &'a History,
    key_index: IdIndex,
    ids: Vec<&'a [u32]>,
    /// Writers and prefix hashes of list `k` lie at `offsets[k]..offsets[k + 1]`.
    offsets: Vec<usize>,
    writers: Vec<u32>,
    hashes: Vec<u64>,
    /// Elements found of each op, over all lists.
    found: Vec<u32>,
}

impl<'a> Lists<'a> {
    /// Resolves and judges the elements of every list; time and space are linear in their total.
    ///
    /// *Errors*: malformed history, unknown writer, aborted read, unrequested or duplicate write, lost write.
    pub(crate) fn build(history: &'a History) -> Result<Self, Anomaly> {
        let op_index = index_ops(history)?;
        let keys = history.finals.keys().copied();
        let key_index = IdIndex::build(keys).map_err(|key| malformed(vec![], format!("key {key} occurs twice")))?;
        let total = history.finals.values().map(Vec::len).sum();
        let mut lists = Self {
            history,
            key_index,
            ids: history.finals.values().map(Vec::as_slice).collect(),
            offsets: Vec::with_capacity(history.finals.len() + 1),
            writers: Vec::with_capacity(total),
            hashes: Vec::with_capacity(total),
            found: vec![0; history.ops.len()],
        };
        lists.resolve_writers(&op_index)?;
        lists.check_acknowledged_present()?;
        Ok(lists)
    }

    fn resolve_writers(&mut self, op_index: &IdIndex) -> Result<(), Anomaly> {
        let history = self.history;
        // Ordinal + 1 of the last list in which the op was met.
        let mut met_in = vec![0usize; history.ops.len()];
        self.offsets.push(0);
        for (ordinal, (&key, list)) in history.finals.iter().enumerate() {
            let mut hash = EMPTY_PREFIX_HASH;
            for &id in list {
                let writer = judge_element(history, op_index, key, id)?;
                if met_in[writer] == ordinal + 1 {
                    let text = format!("key {key} holds the append of op {id} twice in {}", show(list));
                    return Err(Anomaly::new(Class::DuplicateWrite, vec![id], text));
                }
                met_in[writer] = ordinal + 1;
                hash = extend_prefix_hash(hash, id);
                self.found[writer] += 1;
                self.writers.push(writer as u32);
                self.hashes.push(hash);
            }
            self.offsets.push(self.writers.len());
        }
        Ok(())
    }

    fn check_acknowledged_present(&self) -> Result<(), Anomaly> {
        for (op, &found) in self.history.ops.iter().zip(&self.found) {
            if op.outcome == Outcome::Ok && (found as usize) < op.appends.len() {
                let key = self.missing_key(op);
                let list = show(self.history.final_list(key));
                let text = format!("op {} was acknowledged but its append to key {key} is not in {list}", op.id);
                return Err(Anomaly::new(Class::LostWrite, vec![op.id], text));
            }
        }
        Ok(())
    }

    /// An operation of unknown outcome is in all of its lists or in none.
    pub(crate) fn check_untorn(&self) -> Result<(), Anomaly> {
        for (op, &found) in self.history.ops.iter().zip(&self.found) {
            if found > 0 && (found as usize) < op.appends.len() {
                let (key, wanted) = (self.missing_key(op), op.appends.len());
                let text = format!("op {} is in {found} of its {wanted} lists and not in key {key}", op.id);
                return Err(Anomaly::new(Class::TornTransaction, vec![op.id], text));
            }
        }
        Ok(())
    }

    fn missing_key(&self, op: &Op) -> u32 {
        let missing = op.appends.iter().find(|&&key| !self.history.final_list(key).contains(&op.id));
        missing.copied().unwrap_or_default()
    }

    /// Whether the op takes part: it is acknowledged, or unknown and found in some list.
    pub(crate) fn is_present(&self, op: usize) -> bool {
        self.history.ops[op].outcome == Outcome::Ok || self.found[op] > 0
    }

    pub(crate) fn ordinal(&self, key: u32) -> Option<usize> {
        self.key_index.get(key)
    }

    pub(crate) fn list_count(&self) -> usize {
        self.ids.len()
    }

    /// Writers of one list, oldest first, as positions in `history.ops`.
    pub(crate) fn writers(&self, ordinal: usize) -> &[u32] {
        &self.writers[self.offsets[ordinal]..self.offsets[ordinal + 1]]
    }

    /// Writers of the list of `key`; none if nothing was left there.
    pub(crate) fn writers_of_key(&self, key: u32) -> &[u32] {
        self.ordinal(key).map_or(&[], |ordinal| self.writers(ordinal))
    }

    /// Length of the prefix a read saw.
    ///
    /// *Errors*: the read is no prefix of the final list.
    pub(crate) fn observe(&self, op: &Op, read: &Read) -> Result<usize, Anomaly> {
        let len = read.list.element_count();
        let ordinal = self.ordinal(read.key);
        let list = ordinal.map_or(&[][..], |ordinal| self.ids[ordinal]);
        let matches = match &read.list {
            Observed::List(seen) => list.starts_with(seen),
            Observed::Prefix { hash, .. } => match (len, ordinal) {
                (0, _) => *hash == EMPTY_PREFIX_HASH,
                (_, Some(ordinal)) if len <= list.len() => self.hashes[self.offsets[ordinal] + len - 1] == *hash,
                _ => false,
            },
        };
        if matches { Ok(len) } else { Err(self.bad_read(op, read, list)) }
    }

    /// An operation that reads and appends a key comes directly after what it read.
    ///
    /// *Shape*: `position` is the op's place in `history.ops`, `len` the length it read of `key`.
    pub(crate) fn check_own_append(&self, position: usize, key: u32, len: usize) -> Result<(), Anomaly> {
        let op = &self.history.ops[position];
        if !op.appends.contains(&key) || self.writers_of_key(key).get(len) == Some(&(position as u32)) {
            return Ok(());
        }
        let list = show(self.history.final_list(key));
        let text =
            format!("op {} read {len} elements of key {key} but its append is not the next one in {list}", op.id);
        Err(Anomaly::new(Class::LostUpdate, vec![op.id], text))
    }

    fn bad_read(&self, op: &Op, read: &Read, list: &[u32]) -> Anomaly {
        let (seen, class, culprit) = match &read.list {
            Observed::List(seen) => {
                let fault = seen.iter().find_map(|&id| self.fault_of(id).map(|class| (class, id)));
                let (class, culprit) = fault.map_or((Class::IncompatibleOrder, None), |(class, id)| (class, Some(id)));
                (show(seen), class, culprit)
            }
            Observed::Prefix { len, hash } => {
                (format!("{len} elements with hash {hash:016x}"), Class::IncompatibleOrder, None)
            }
        };
        let text = format!("op {} read {seen} of key {}, no prefix of the final {}", op.id, read.key, show(list));
        Anomaly::new(class, std::iter::once(op.id).chain(culprit).collect(), text)
    }

    /// Names the fault of an element by its writer alone. Slow; only for a read already known to be wrong.
    fn fault_of(&self, id: u32) -> Option<Class> {
        match self.history.ops.iter().find(|op| op.id == id) {
            None => Some(Class::UnknownWriter),
            Some(op) if op.outcome == Outcome::NotApplied => Some(Class::AbortedRead),
            Some(_) => None,
        }
    }
}

/// Position of the op that wrote `id` to `key`, if it may stand there.
fn judge_element(history: &History, op_index: &IdIndex, key: u32, id: u32) -> Result<usize, Anomaly> {
    let Some(position) = op_index.get(id) else {
        let text = format!("key {key} holds {id}, which no operation wrote");
        return Err(Anomaly::new(Class::UnknownWriter, vec![id], text));
    };
    let op = &history.ops[position];
    if op.outcome == Outcome::NotApplied {
        let text = format!("key {key} holds the append of op {id}, which was reported as not applied");
        return Err(Anomaly::new(Class::AbortedRead, vec![id], text));
    }
    if !op.appends.contains(&key) {
        let text = format!("key {key} holds op {id}, which did not append to it");
        return Err(Anomaly::new(Class::UnrequestedWrite, vec![id], text));
    }
    Ok(position)
}

fn index_ops(history: &History) -> Result<IdIndex, Anomaly> {
    // Each op may need two graph nodes, numbered in 32 bits.
    if history.ops.len() >= (u32::MAX / 2) as usize {
        return Err(malformed(vec![], format!("{} operations are too many to judge at once", history.ops.len())));
    }
    let mut keys = Vec::new();
    for op in &history.ops {
        if op.complete.is_some_and(|complete| complete < op.invoke) {
            return Err(malformed(vec![op.id], format!("op {} completes before it is invoked", op.id)));
        }
        keys.clear();
        keys.extend_from_slice(&op.appends);
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(malformed(vec![op.id], format!("op {} appends to key {} twice", op.id, pair[0])));
        }
    }
    let ids = history.ops.iter().map(|op| op.id);
    IdIndex::build(ids).map_err(|id| malformed(vec![id], format!("op id {id} occurs twice")))
}

fn malformed(ops: Vec<u32>, text: String) -> Anomaly {
    Anomaly::new(Class::Malformed, ops, text)
}

/// A list for people: whole if short, else its end, where faults mostly are.
fn show(list: &[u32]) -> String {
    match list.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => format!("{list:?}"),
        Some(hidden) => format!("({hidden} more.. {:?})", &list[hidden..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_shown_by_their_end() {
        let list: Vec<u32> = (0..20).collect();
        assert_eq!(show(&list), "(8 more.. [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])");
        assert_eq!(show(&list[..3]), "[0, 1, 2]");
    }

    #[test]
    fn a_compact_read_longer_than_the_list_is_no_prefix() {
        let history = History::default();
        let lists = Lists::build(&history).expect("nothing to fault");
        let read = Read { key: 1, list: Observed::Prefix { len: u32::MAX, hash: EMPTY_PREFIX_HASH } };
        let op = Op {
            id: 1,
            client: 0,
            invoke: 0,
            complete: None,
            outcome: Outcome::Ok,
            reads: vec![read.clone()],
            appends: vec![],
        };
        assert_eq!(lists.observe(&op, &read).map_err(|anomaly| anomaly.class), Err(Class::IncompatibleOrder));
    }
}
