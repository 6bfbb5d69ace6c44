//! The checkers on histories as long as a real run's.

use std::time::{Duration, Instant};

use sim::checker::{Class, History, Observed, Op, Outcome, Rng, Shape, check_per_key, check_serializable, generate};

fn shape(op_count: u32) -> Shape {
    Shape {
        op_count,
        key_count: op_count / 50 + 1,
        reads_max: 4,
        appends_max: 3,
        overlap: 16,
        unknown_percent: 1,
        not_applied_percent: 1,
        compact_percent: 100,
    }
}

/// Makes the last reader of a list miss all of it; returns its id.
fn plant_stale_read(history: &mut History) -> Option<u32> {
    let is_full = |op: &Op| op.outcome == Outcome::Ok && op.appends.is_empty() && !op.reads.is_empty();
    let sees = |op: &Op| op.reads.iter().any(|read| read.list.element_count() > 20);
    let op = history.ops.iter_mut().rev().find(|op| is_full(op) && sees(op))?;
    for read in &mut op.reads {
        read.list = Observed::compact(&[]);
    }
    Some(op.id)
}

#[allow(clippy::disallowed_methods, reason = "a figure printed for people, never asserted")]
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (run(), start.elapsed())
}

fn judge(op_count: u32) {
    let mut history = generate(&shape(op_count), &mut Rng::from_seed(42));
    let (whole, whole_time) = timed(|| check_serializable(&history));
    let (per_key, per_key_time) = timed(|| check_per_key(&history, &[]));
    assert_eq!((whole, per_key), (Ok(()), Ok(())));
    let reader = plant_stale_read(&mut history).expect("some reader saw a long list");
    let (stale, stale_time) = timed(|| check_serializable(&history));
    let anomaly = stale.expect_err("a list cannot shrink");
    assert!(matches!(anomaly.class, Class::Cycle { .. }), "{anomaly}");
    assert!(anomaly.ops.contains(&reader), "{anomaly}");
    assert!(check_per_key(&history, &[]).is_err());
    println!("{op_count} ops: accepted in {whole_time:?}, per key in {per_key_time:?}, refused in {stale_time:?}");
    println!("{anomaly}");
}

#[test]
fn twenty_thousand_operations_are_judged_whole_and_one_stale_read_is_found() {
    judge(500);
    judge(20_000);
}
