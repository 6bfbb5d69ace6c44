//! One edit to a history, to see whether a judge notices. The edited history may still be correct: only a judge can tell.

use super::history::{History, Observed, Outcome, prefix_hash};
use super::rng::Rng;

/// An id that no generated operation bears.
const STRANGER: u32 = u32::MAX - 1;

/// Edits `history` in one place; false if the kind drawn found nothing to edit and the history is as before.
///
/// *Shape*: never makes a history malformed, so that the verdict is about the store and not about the harness.
pub fn corrupt(history: &mut History, rng: &mut Rng) -> bool {
    match rng.below(12) {
        0 => swap_in_final(history, rng),
        1 => drop_from_final(history, rng),
        2 => insert_into_final(history, rng),
        3 => distort_read(history, rng),
        4 => change_outcome(history, rng),
        5 => swap_intervals(history, rng),
        6 => shrink_interval(history, rng),
        7 => change_appends(history, rng),
        8 | 9 => reorder_key(history, rng),
        _ => shift_read(history, rng),
    }
}

/// A key whose final list has at least `len_min` elements.
fn draw_key(history: &History, len_min: usize, rng: &mut Rng) -> Option<u32> {
    let keys: Vec<u32> = history.finals.iter().filter(|(_, list)| list.len() >= len_min).map(|(&key, _)| key).collect();
    keys.get(rng.index(keys.len())).copied()
}

fn draw_list<'h>(history: &'h mut History, len_min: usize, rng: &mut Rng) -> Option<&'h mut Vec<u32>> {
    let key = draw_key(history, len_min, rng)?;
    history.finals.get_mut(&key)
}

/// Positions of a read: the op, and the read within it.
fn draw_read(history: &History, rng: &mut Rng) -> Option<(usize, usize)> {
    let ops = history.ops.iter().enumerate();
    let reads: Vec<(usize, usize)> = ops.flat_map(|(i, op)| (0..op.reads.len()).map(move |j| (i, j))).collect();
    reads.get(rng.index(reads.len())).copied()
}

fn swap_in_final(history: &mut History, rng: &mut Rng) -> bool {
    let Some(list) = draw_list(history, 2, rng) else { return false };
    let at = rng.index(list.len() - 1);
    list.swap(at, at + 1);
    true
}

fn drop_from_final(history: &mut History, rng: &mut Rng) -> bool {
    let Some(list) = draw_list(history, 1, rng) else { return false };
    list.remove(rng.index(list.len()));
    true
}

fn insert_into_final(history: &mut History, rng: &mut Rng) -> bool {
    let id = match history.ops.get(rng.index(history.ops.len())) {
        Some(op) if !rng.percent(20) => op.id,
        _ => STRANGER,
    };
    let Some(list) = draw_list(history, 0, rng) else { return false };
    list.insert(rng.index(list.len() + 1), id);
    true
}

/// Makes a read see something that is rarely a prefix.
fn distort_read(history: &mut History, rng: &mut Rng) -> bool {
    let Some((op, read)) = draw_read(history, rng) else { return false };
    match &mut history.ops[op].reads[read].list {
        Observed::List(list) => match (rng.below(3), list.len()) {
            (0, len @ 2..) => list.swap(rng.index(len), rng.index(len)),
            (1, len @ 1..) => drop(list.remove(rng.index(len))),
            (_, len) => list.insert(rng.index(len + 1), STRANGER),
        },
        Observed::Prefix { len, hash } => match rng.below(2) {
            0 => *len += 1,
            _ => *hash ^= 1,
        },
    }
    true
}

fn change_outcome(history: &mut History, rng: &mut Rng) -> bool {
    let at = rng.index(history.ops.len());
    let Some(op) = history.ops.get_mut(at) else { return false };
    let others = match op.outcome {
        Outcome::Ok => [Outcome::NotApplied, Outcome::Unknown],
        Outcome::NotApplied => [Outcome::Ok, Outcome::Unknown],
        Outcome::Unknown => [Outcome::Ok, Outcome::NotApplied],
    };
    op.outcome = others[rng.index(2)];
    true
}

fn swap_intervals(history: &mut History, rng: &mut Rng) -> bool {
    let (a, b) = (rng.index(history.ops.len()), rng.index(history.ops.len()));
    if a == b {
        return false;
    }
    let times = (history.ops[a].invoke, history.ops[a].complete);
    (history.ops[a].invoke, history.ops[a].complete) = (history.ops[b].invoke, history.ops[b].complete);
    (history.ops[b].invoke, history.ops[b].complete) = times;
    true
}

/// Completes an operation directly after its invocation, or invokes it directly before its completion.
fn shrink_interval(history: &mut History, rng: &mut Rng) -> bool {
    let at = rng.index(history.ops.len());
    let Some((op, complete)) = history.ops.get_mut(at).and_then(|op| op.complete.map(|at| (op, at))) else {
        return false;
    };
    let early = rng.percent(50);
    let moved = if early { op.invoke } else { complete };
    (op.invoke, op.complete) = (moved, Some(moved));
    make_room(history, at, moved);
    true
}

/// Shifts all later events by one, so that the two events of op `at`, both at `moved`, are apart again.
fn make_room(history: &mut History, at: usize, moved: u64) {
    for (position, op) in history.ops.iter_mut().enumerate() {
        op.invoke += u64::from(op.invoke > moved);
        op.complete = op.complete.map(|time| time + u64::from(time > moved || position == at));
    }
}

/// Adds a key to what an operation appended to, or takes one away.
fn change_appends(history: &mut History, rng: &mut Rng) -> bool {
    let Some(key) = draw_key(history, 0, rng) else { return false };
    let at = rng.index(history.ops.len());
    let Some(op) = history.ops.get_mut(at) else { return false };
    match op.appends.iter().position(|&other| other == key) {
        Some(found) => drop(op.appends.remove(found)),
        None => op.appends.push(key),
    }
    true
}

/// Moves a read to another version of its key: the most fertile ground for cycles.
fn shift_read(history: &mut History, rng: &mut Rng) -> bool {
    let Some((op, read)) = draw_read(history, rng) else { return false };
    let read = &mut history.ops[op].reads[read];
    let list = history.finals.get(&read.key).map_or(&[][..], Vec::as_slice);
    let len = rng.index(list.len() + 1);
    if len == read.list.element_count() {
        return false;
    }
    read.list = same_form(&read.list, &list[..len]);
    true
}

/// Swaps two appends of a key for every reader alike, as if the key had been ordered differently from the others.
fn reorder_key(history: &mut History, rng: &mut Rng) -> bool {
    let Some(key) = draw_key(history, 2, rng) else { return false };
    let Some(list) = history.finals.get_mut(&key) else { return false };
    let at = rng.index(list.len() - 1);
    list.swap(at, at + 1);
    for read in history.ops.iter_mut().flat_map(|op| &mut op.reads).filter(|read| read.key == key) {
        let len = read.list.element_count().min(list.len());
        read.list = same_form(&read.list, &list[..len]);
    }
    true
}

fn same_form(old: &Observed, list: &[u32]) -> Observed {
    match old {
        Observed::List(_) => Observed::List(list.to_vec()),
        Observed::Prefix { len, .. } => {
            Observed::Prefix { len: u32::try_from(list.len()).unwrap_or(*len), hash: prefix_hash(list) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::anomaly::Class;
    use super::super::generate::{Shape, generate};
    use super::super::serializable::check_serializable;
    use super::*;

    #[test]
    fn edits_change_the_history_and_never_malform_it() {
        let shape = Shape {
            op_count: 6,
            key_count: 3,
            reads_max: 2,
            appends_max: 2,
            overlap: 2,
            unknown_percent: 20,
            not_applied_percent: 5,
            compact_percent: 50,
        };
        let mut noticed = 0;
        for seed in 0..2_000 {
            let mut rng = Rng::from_seed(seed);
            let mut history = generate(&shape, &mut rng);
            corrupt(&mut history, &mut rng);
            match check_serializable(&history) {
                Ok(()) => {}
                Err(anomaly) if anomaly.class == Class::Malformed => panic!("seed {seed}: {anomaly}"),
                Err(_) => noticed += 1,
            }
        }
        assert!(noticed > 500, "only {noticed} edits broke a history");
    }

    #[test]
    fn an_empty_history_offers_nothing_to_edit_but_lists() {
        for seed in 0..100 {
            let mut history = History::default();
            assert!(!corrupt(&mut history, &mut Rng::from_seed(seed)));
            assert_eq!(history, History::default());
        }
    }
}
