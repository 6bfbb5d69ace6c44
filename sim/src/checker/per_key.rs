//! Linearizability key by key, for reads that promise no more than that (ephemeral range reads).
//!
//! Each access has a rank on its key: the append at index `i` has `2i + 1`, a read of `n` elements has `2n`. The key is
//! linearizable exactly if no access completes before another of lower rank is invoked: ordering by rank, then by
//! invocation, obeys the clock, and accesses of equal rank are reads of the same list.

use super::anomaly::{Anomaly, Class};
use super::history::{History, Op, Outcome};
use super::lists::Lists;

#[derive(Clone, Copy)]
struct Access {
    ordinal: usize,
    rank: usize,
    op: u32,
    invoke: u64,
    /// `u64::MAX` if never known done.
    complete: u64,
}

/// Whether each key alone has an order that obeys the clock.
///
/// *Shape*: takes the appends and the `Ok` reads of `history`, and the `Ok` reads of `range_reads`, each as one read per
/// key with the interval of its parent. Appends of `range_reads` are not looked at and their ids never occur in a list.
/// For a history of single-key operations this is as strong as [`super::check_serializable`], else weaker, never stronger.
/// *Errors*: the first anomaly: broken history, lists, reads, then [`Class::KeyOrder`] with the two operations.
pub fn check_per_key(history: &History, range_reads: &[Op]) -> Result<(), Anomaly> {
    let lists = Lists::build(history)?;
    let mut accesses = Vec::new();
    push_appends(history, &lists, &mut accesses);
    for (position, op) in history.ops.iter().enumerate() {
        push_reads(&lists, op, Some(position), &mut accesses)?;
    }
    for op in range_reads {
        push_reads(&lists, op, None, &mut accesses)?;
    }
    accesses.sort_unstable_by_key(|access| (access.ordinal, access.invoke));
    let keys = history.finals.keys().copied();
    let mut by_completion = Vec::new();
    for (same_key, key) in chunks_of_keys(&accesses, lists.list_count()).zip(keys) {
        by_completion.clear();
        by_completion.extend_from_slice(same_key);
        by_completion.sort_unstable_by_key(|access| access.complete);
        sweep(key, same_key, &by_completion)?;
    }
    Ok(())
}

fn push_appends(history: &History, lists: &Lists<'_>, accesses: &mut Vec<Access>) {
    for ordinal in 0..lists.list_count() {
        for (index, &writer) in lists.writers(ordinal).iter().enumerate() {
            accesses.push(access(&history.ops[writer as usize], ordinal, 2 * index + 1));
        }
    }
}

/// `position` is the op's place in the history, if it is one of its transactions.
fn push_reads(lists: &Lists<'_>, op: &Op, position: Option<usize>, accesses: &mut Vec<Access>) -> Result<(), Anomaly> {
    if op.outcome != Outcome::Ok {
        return Ok(());
    }
    for read in &op.reads {
        let len = lists.observe(op, read)?;
        if let Some(position) = position {
            lists.check_own_append(position, read.key, len)?;
        }
        // A key without a list has no appends, so its empty reads are always in order.
        if let Some(ordinal) = lists.ordinal(read.key) {
            accesses.push(access(op, ordinal, 2 * len));
        }
    }
    Ok(())
}

fn access(op: &Op, ordinal: usize, rank: usize) -> Access {
    Access { ordinal, rank, op: op.id, invoke: op.invoke, complete: op.known_done().unwrap_or(u64::MAX) }
}

/// The accesses of each key in turn; `accesses` is sorted by ordinal.
fn chunks_of_keys(accesses: &[Access], key_count: usize) -> impl Iterator<Item = &[Access]> {
    let mut rest = accesses;
    (0..key_count).map(move |ordinal| {
        let (head, tail) = rest.split_at(rest.partition_point(|access| access.ordinal <= ordinal));
        rest = tail;
        head
    })
}

/// One pass in time order, holding the highest rank that is known done.
fn sweep(key: u32, by_invocation: &[Access], by_completion: &[Access]) -> Result<(), Anomaly> {
    let mut done = by_completion.iter().peekable();
    let mut highest: Option<&Access> = None;
    for later in by_invocation {
        while let Some(earlier) = done.next_if(|earlier| earlier.complete < later.invoke) {
            if highest.is_none_or(|highest| highest.rank < earlier.rank) {
                highest = Some(earlier);
            }
        }
        if let Some(earlier) = highest.filter(|highest| highest.rank > later.rank) {
            return Err(backwards(key, earlier, later));
        }
    }
    Ok(())
}

fn backwards(key: u32, earlier: &Access, later: &Access) -> Anomaly {
    let text = format!(
        "key {key}: op {} {} and completed at {}, yet op {}, invoked at {}, {}",
        earlier.op,
        deed(earlier.rank),
        earlier.complete,
        later.op,
        later.invoke,
        deed(later.rank)
    );
    Anomaly::new(Class::KeyOrder, vec![earlier.op, later.op], text)
}

fn deed(rank: usize) -> String {
    if rank.is_multiple_of(2) {
        format!("read {} elements", rank / 2)
    } else {
        format!("appended element {}", rank / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Observed, Read};
    use super::*;

    fn append(id: u32, invoke: u64, complete: Option<u64>, key: u32) -> Op {
        let outcome = if complete.is_some() { Outcome::Ok } else { Outcome::Unknown };
        Op { id, client: id, invoke, complete, outcome, reads: vec![], appends: vec![key] }
    }

    fn range_read(id: u32, invoke: u64, complete: u64, reads: &[(u32, &[u32])]) -> Op {
        let reads = reads.iter().map(|&(key, list)| Read { key, list: Observed::List(list.to_vec()) }).collect();
        Op { id, client: id, invoke, complete: Some(complete), outcome: Outcome::Ok, reads, appends: vec![] }
    }

    fn two_appends() -> History {
        History {
            ops: vec![append(1, 1, Some(4), 7), append(2, 2, Some(5), 8)],
            finals: [(7, vec![1]), (8, vec![2])].into(),
        }
    }

    #[test]
    fn range_reads_need_no_common_snapshot() {
        let forked = [range_read(10, 1, 3, &[(7, &[1]), (8, &[])]), range_read(11, 1, 3, &[(7, &[]), (8, &[2])])];
        assert_eq!(check_per_key(&two_appends(), &forked), Ok(()));
    }

    #[test]
    fn a_key_that_goes_back_is_named_with_both_reads() {
        let reads = [range_read(10, 1, 3, &[(7, &[1])]), range_read(11, 4, 6, &[(7, &[])])];
        let anomaly = check_per_key(&two_appends(), &reads).expect_err("op 11 misses what op 10 saw");
        assert_eq!((anomaly.class, anomaly.ops), (Class::KeyOrder, vec![10, 11]));
    }

    #[test]
    fn a_read_after_an_acknowledged_append_must_see_it() {
        let reads = [range_read(10, 6, 7, &[(7, &[]), (8, &[2])])];
        let anomaly = check_per_key(&two_appends(), &reads).expect_err("append of op 1 is missed");
        assert_eq!(anomaly.ops, vec![1, 10]);
    }

    #[test]
    fn an_unknown_append_binds_no_later_read() {
        let history = History { ops: vec![append(1, 1, None, 7)], finals: [(7, vec![1])].into() };
        assert_eq!(check_per_key(&history, &[range_read(10, 8, 9, &[(7, &[])])]), Ok(()));
        let early = [range_read(10, 0, 0, &[(7, &[1])])];
        assert!(check_per_key(&history, &early).is_err(), "it is never seen before it is invoked");
    }

    #[test]
    fn a_range_read_of_a_strange_list_is_refused() {
        let anomaly = check_per_key(&two_appends(), &[range_read(10, 1, 3, &[(7, &[2])])]).expect_err("no prefix");
        assert_eq!(anomaly.class, Class::IncompatibleOrder);
    }
}
