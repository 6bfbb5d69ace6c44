//! The slow obvious judge: try every order of every admissible set of operations. Shares no reasoning with the fast one.

use super::history::{History, Observed, Op, Outcome, prefix_hash};

/// Most operations the search takes; it remembers one bit per set of operations.
pub const BRUTE_OPS_MAX: usize = 16;

/// Whether some order of all `Ok` and any `Unknown` operations, each after those known done before its invocation, gives
/// every `Ok` read and ends in the final lists.
///
/// *Shape*: `None` if the history has more than [`BRUTE_OPS_MAX`] operations.
pub fn brute_force(history: &History) -> Option<bool> {
    if history.ops.len() > BRUTE_OPS_MAX {
        return None;
    }
    let mut keys: Vec<u32> = history.finals.keys().copied().collect();
    for op in &history.ops {
        keys.extend(op.appends.iter().copied().chain(op.reads.iter().map(|read| read.key)));
    }
    keys.sort_unstable();
    keys.dedup();
    let goals: Vec<&[u32]> = keys.iter().map(|&key| history.final_list(key)).collect();
    let mut search = Search {
        ops: &history.ops,
        before: history.ops.iter().map(|op| done_before(&history.ops, op)).collect(),
        required: bits(&history.ops, |op| op.outcome == Outcome::Ok),
        allowed: bits(&history.ops, |op| op.outcome != Outcome::NotApplied),
        lists: vec![Vec::new(); keys.len()],
        keys,
        goals,
        tried: vec![0; (1usize << history.ops.len()).div_ceil(64)],
    };
    Some(search.place_next(0))
}

fn bits(ops: &[Op], select: impl Fn(&Op) -> bool) -> u32 {
    ops.iter().enumerate().filter(|(_, op)| select(op)).fold(0, |set, (i, _)| set | 1 << i)
}

fn done_before(ops: &[Op], later: &Op) -> u32 {
    bits(ops, |op| op.known_done().is_some_and(|done| done < later.invoke))
}

struct Search<'h> {
    ops: &'h [Op],
    /// Per op the set that the clock puts before it.
    before: Vec<u32>,
    required: u32,
    allowed: u32,
    keys: Vec<u32>,
    /// Current and final list by position in `keys`.
    lists: Vec<Vec<u32>>,
    goals: Vec<&'h [u32]>,
    /// Sets already found hopeless. A set decides the lists, since lists only grow along their goals.
    tried: Vec<u64>,
}

impl Search<'_> {
    /// Extends the order of the ops in `placed` to a full one, if any exists.
    fn place_next(&mut self, placed: u32) -> bool {
        if placed & self.required == self.required && self.lists.iter().zip(&self.goals).all(|(a, b)| a == b) {
            return true;
        }
        let (word, bit) = (placed as usize / 64, 1u64 << (placed % 64));
        if self.tried[word] & bit != 0 {
            return false;
        }
        self.tried[word] |= bit;
        (0..self.ops.len()).any(|next| self.place(next, placed))
    }

    fn place(&mut self, next: usize, placed: u32) -> bool {
        let own = 1 << next;
        if placed & own != 0 || self.allowed & own == 0 || self.before[next] & !placed != 0 || !self.reads_fit(next) {
            return false;
        }
        let op = &self.ops[next];
        let mut grown = 0;
        let mut fits = true;
        for &key in &op.appends {
            let slot = self.slot(key);
            self.lists[slot].push(op.id);
            grown += 1;
            fits = self.goals[slot].starts_with(&self.lists[slot]);
            if !fits {
                break;
            }
        }
        let found = fits && self.place_next(placed | own);
        for &key in &op.appends[..grown] {
            let slot = self.slot(key);
            self.lists[slot].pop();
        }
        found
    }

    fn reads_fit(&self, next: usize) -> bool {
        let op = &self.ops[next];
        op.outcome != Outcome::Ok
            || op.reads.iter().all(|read| {
                let list = &self.lists[self.slot(read.key)];
                match &read.list {
                    Observed::List(seen) => seen == list,
                    Observed::Prefix { len, hash } => *len as usize == list.len() && *hash == prefix_hash(list),
                }
            })
    }

    fn slot(&self, key: u32) -> usize {
        // Every key of the history was collected at the start, and there are few.
        self.keys.partition_point(|&other| other < key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(id: u32, times: (u64, u64), outcome: Outcome, appends: &[u32]) -> Op {
        let complete = (outcome != Outcome::Unknown).then_some(times.1);
        Op { id, client: id, invoke: times.0, complete, outcome, reads: vec![], appends: appends.to_vec() }
    }

    #[test]
    fn the_clock_orders_two_appends() {
        let ops = vec![op(1, (1, 2), Outcome::Ok, &[5]), op(2, (3, 4), Outcome::Ok, &[5])];
        let mut history = History { ops, finals: [(5, vec![1, 2])].into() };
        assert_eq!(brute_force(&history), Some(true));
        history.finals.insert(5, vec![2, 1]);
        assert_eq!(brute_force(&history), Some(false));
    }

    #[test]
    fn an_unknown_append_may_be_there_or_not() {
        let mut history = History { ops: vec![op(1, (1, 2), Outcome::Unknown, &[5])], finals: [].into() };
        assert_eq!(brute_force(&history), Some(true));
        history.finals.insert(5, vec![1]);
        assert_eq!(brute_force(&history), Some(true));
        history.ops[0].outcome = Outcome::NotApplied;
        assert_eq!(brute_force(&history), Some(false));
    }

    #[test]
    fn a_large_history_is_declined() {
        let ops = (0..17).map(|id| op(id, (1, 2), Outcome::Ok, &[])).collect();
        assert_eq!(brute_force(&History { ops, finals: [].into() }), None);
    }
}
