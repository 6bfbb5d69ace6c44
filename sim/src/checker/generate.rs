//! Correct histories by chance: a sequential executor, with an interval of random width around each operation.

use std::collections::BTreeMap;

use super::history::{EMPTY_PREFIX_HASH, History, Observed, Op, Outcome, Read, extend_prefix_hash};
use super::rng::Rng;

/// Time between two operations of the executor; wide, so that intervals begin and end at many different moments.
const STRIDE: u64 = 1_000;

/// What a generated history looks like.
///
/// *Shape*: keys are `0..key_count`; each operation reads at most `reads_max` and appends to at most `appends_max` of them;
/// an interval reaches over up to `overlap` operations to either side; a `compact_percent` of reads is recorded by hash.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub op_count: u32,
    pub key_count: u32,
    pub reads_max: u32,
    pub appends_max: u32,
    pub overlap: u64,
    pub unknown_percent: u32,
    pub not_applied_percent: u32,
    pub compact_percent: u32,
}

#[derive(Clone, Default)]
struct Register {
    list: Vec<u32>,
    /// `prefix_hash(&list)`, kept as the list grows.
    hash: Option<u64>,
}

/// A strictly serializable history of the given shape; each operation is a client of its own.
pub fn generate(shape: &Shape, rng: &mut Rng) -> History {
    let mut registers = vec![Register::default(); shape.key_count as usize];
    let mut ops: Vec<Op> = (0..shape.op_count).map(|id| execute(id, shape, &mut registers, rng)).collect();
    number_events(&mut ops, rng);
    ops.sort_unstable_by_key(|op| op.invoke);
    let finals: BTreeMap<u32, Vec<u32>> = (0..).zip(registers).map(|(key, register)| (key, register.list)).collect();
    History { ops, finals }
}

fn execute(id: u32, shape: &Shape, registers: &mut [Register], rng: &mut Rng) -> Op {
    let point = (u64::from(id) + 1) * STRIDE + shape.overlap * STRIDE;
    let invoke = point - 1 - rng.below(shape.overlap * STRIDE + 1);
    let answer = point + 1 + rng.below(shape.overlap * STRIDE + 1);
    let (outcome, takes_effect) = draw_outcome(shape, rng);
    let mut reads = Vec::new();
    if outcome == Outcome::Ok {
        for key in draw_keys(shape.reads_max, shape.key_count, rng) {
            reads.push(read(key, &registers[key as usize], rng.percent(shape.compact_percent)));
        }
    }
    let appends = draw_keys(shape.appends_max, shape.key_count, rng);
    if takes_effect {
        for &key in &appends {
            let register = &mut registers[key as usize];
            register.hash = Some(extend_prefix_hash(register.hash.unwrap_or(EMPTY_PREFIX_HASH), id));
            register.list.push(id);
        }
    }
    let complete = (outcome != Outcome::Unknown).then_some(answer);
    Op { id, client: id, invoke, complete, outcome, reads, appends }
}

/// Outcome as the client knows it, and whether the executor applies the operation.
fn draw_outcome(shape: &Shape, rng: &mut Rng) -> (Outcome, bool) {
    if rng.percent(shape.unknown_percent) {
        (Outcome::Unknown, rng.percent(50))
    } else if rng.percent(shape.not_applied_percent) {
        (Outcome::NotApplied, false)
    } else {
        (Outcome::Ok, true)
    }
}

fn draw_keys(key_max: u32, key_count: u32, rng: &mut Rng) -> Vec<u32> {
    let mut keys = Vec::new();
    for _ in 0..rng.below(u64::from(key_max) + 1) {
        let key = rng.below(u64::from(key_count)) as u32;
        if key < key_count && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn read(key: u32, register: &Register, compact: bool) -> Read {
    let list = match u32::try_from(register.list.len()) {
        Ok(len) if compact => Observed::Prefix { len, hash: register.hash.unwrap_or(EMPTY_PREFIX_HASH) },
        _ => Observed::List(register.list.clone()),
    };
    Read { key, list }
}

/// Replaces times by event numbers, so that there are no ties.
fn number_events(ops: &mut [Op], rng: &mut Rng) {
    let mut events: Vec<(u64, u32, usize, bool)> = Vec::with_capacity(2 * ops.len());
    for (position, op) in ops.iter().enumerate() {
        // The second field shuffles events of the same moment; an operation's own two are at least 2 apart.
        events.push((op.invoke, rng.next_u64() as u32, position, false));
        events.extend(op.complete.map(|at| (at, rng.next_u64() as u32, position, true)));
    }
    events.sort_unstable();
    for (number, (_, _, position, is_completion)) in (1u64..).zip(events) {
        if is_completion {
            ops[position].complete = Some(number);
        } else {
            ops[position].invoke = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::serializable::check_serializable;
    use super::*;

    const SHAPE: Shape = Shape {
        op_count: 400,
        key_count: 9,
        reads_max: 3,
        appends_max: 3,
        overlap: 6,
        unknown_percent: 20,
        not_applied_percent: 5,
        compact_percent: 50,
    };

    #[test]
    fn event_numbers_have_no_ties_and_no_gaps() {
        let history = generate(&SHAPE, &mut Rng::from_seed(1));
        let mut events: Vec<u64> = history.ops.iter().flat_map(|op| [Some(op.invoke), op.complete]).flatten().collect();
        events.sort_unstable();
        assert!(events.iter().copied().eq(1..=events.len() as u64));
        assert!(history.ops.iter().all(|op| op.complete.is_none_or(|complete| op.invoke < complete)));
    }

    #[test]
    fn generated_histories_are_accepted_and_repeatable() {
        for seed in 0..50 {
            let history = generate(&SHAPE, &mut Rng::from_seed(seed));
            assert_eq!(check_serializable(&history), Ok(()), "seed {seed}");
            assert_eq!(history, generate(&SHAPE, &mut Rng::from_seed(seed)));
        }
    }
}
