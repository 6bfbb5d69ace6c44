//! How long transactions take: a histogram of fixed size, and the last minute of it.

use std::cell::Cell;

/// Steps in which a doubling of time is told apart: a quantile is at most an eighth too high.
const STEPS: u64 = 8;
const STEP_BITS: u32 = STEPS.ilog2();
/// Times from about two minutes on share the last bucket.
const BUCKETS: usize = 25 * STEPS as usize;

/// *Units*: seconds in one slot of the minute.
const SLOT_S: u64 = 5;
const SLOTS: usize = 12;

/// Counts of times by size.
#[derive(Debug)]
pub(crate) struct Histogram(Box<[Cell<u64>]>);

impl Default for Histogram {
    fn default() -> Self {
        Self(vec![Cell::new(0); BUCKETS].into())
    }
}

impl Histogram {
    /// *Units*: microseconds.
    pub(crate) fn record(&self, us: u64) {
        let count = &self.0[bucket_of(us)];
        count.set(count.get() + 1);
    }

    /// Counts with the highest time of each, ascending.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().enumerate().map(|(at, count)| (upper_of(at), count.get()))
    }

    fn clear(&self) {
        self.0.iter().for_each(|count| count.set(0));
    }

    fn add(&self, other: &Self) {
        self.0.iter().zip(&other.0).for_each(|(sum, count)| sum.set(sum.get() + count.get()));
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(Cell::get).sum()
    }

    /// The time that `share` of all did not exceed; `None` if nothing was counted. *Units*: microseconds.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let all = self.count();
        let wanted = ((all as f64 * share).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        self.buckets().find_map(|(upper, count)| {
            seen += count;
            (seen >= wanted).then_some(upper)
        })
    }
}

fn bucket_of(us: u64) -> usize {
    if us < STEPS {
        return us as usize;
    }
    let shift = us.ilog2() - STEP_BITS;
    let at = u64::from(shift + 1) * STEPS + (us >> shift) % STEPS;
    (at as usize).min(BUCKETS - 1)
}

/// The highest time of a bucket.
fn upper_of(at: usize) -> u64 {
    let (doubling, step) = (at as u64 / STEPS, at as u64 % STEPS);
    if doubling == 0 { step } else { ((STEPS + step + 1) << (doubling - 1)) - 1 }
}

/// Counts of the last minute, in slots that are emptied as time comes round to them.
#[derive(Debug)]
pub(crate) struct Minute<const N: usize> {
    slots: [Slot<N>; SLOTS],
}

#[derive(Debug)]
struct Slot<const N: usize> {
    /// Which stretch of time it holds, counted from the start of the clock.
    nth: Cell<u64>,
    counts: [Cell<u64>; N],
    latencies: Histogram,
}

impl<const N: usize> Default for Minute<N> {
    fn default() -> Self {
        let slot =
            |_| Slot { nth: Cell::new(u64::MAX), counts: [const { Cell::new(0) }; N], latencies: Histogram::default() };
        Self { slots: std::array::from_fn(slot) }
    }
}

impl<const N: usize> Minute<N> {
    /// One more of `kind` at `now_us`, with its time if it has one.
    pub(crate) fn record(&self, now_us: u64, kind: usize, latency_us: Option<u64>) {
        let nth = now_us / (SLOT_S * 1_000_000);
        let slot = &self.slots[nth as usize % SLOTS];
        if slot.nth.replace(nth) != nth {
            slot.latencies.clear();
            slot.counts.iter().for_each(|count| count.set(0));
        }
        slot.counts[kind].set(slot.counts[kind].get() + 1);
        if let Some(us) = latency_us {
            slot.latencies.record(us);
        }
    }

    /// Counts and times of the last 55 to 60 seconds.
    pub(crate) fn sum(&self, now_us: u64) -> ([u64; N], Histogram) {
        let nth = now_us / (SLOT_S * 1_000_000);
        let (mut counts, latencies) = ([0; N], Histogram::default());
        for slot in self.slots.iter().filter(|slot| slot.nth.get() <= nth && nth - slot.nth.get() < SLOTS as u64) {
            counts.iter_mut().zip(&slot.counts).for_each(|(sum, count)| *sum += count.get());
            latencies.add(&slot.latencies);
        }
        (counts, latencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn a_minute_forgets_what_is_older() {
        let minute = Minute::<2>::default();
        minute.record(0, 0, Some(100));
        minute.record(30 * SECOND, 1, None);
        assert_eq!(minute.sum(59 * SECOND).0, [1, 1]);
        let (counts, latencies) = minute.sum(61 * SECOND);
        assert_eq!((counts, latencies.count()), ([0, 1], 0));
        // the slot of the first is used again, and emptied before
        minute.record(60 * SECOND, 1, Some(5));
        let (counts, latencies) = minute.sum(60 * SECOND);
        assert_eq!((counts, latencies.quantile(0.5)), ([0, 2], Some(5)));
    }

    #[test]
    fn quantiles_count_from_below_and_nothing_has_none() {
        let times = Histogram::default();
        assert_eq!(times.quantile(0.5), None);
        (1..=4).for_each(|us| times.record(us));
        assert_eq!([times.quantile(0.0), times.quantile(0.5), times.quantile(1.0)], [Some(1), Some(2), Some(4)]);
        times.record(u64::MAX);
        assert_eq!(times.quantile(1.0), Some(upper_of(BUCKETS - 1)));
    }

    proptest! {
        #[test]
        fn a_time_lies_in_its_bucket_and_at_most_an_eighth_below_its_end(us in 0..120 * SECOND) {
            let at = bucket_of(us);
            prop_assert!(us <= upper_of(at) && (at == 0 || us > upper_of(at - 1)));
            prop_assert!(upper_of(at) <= us + us / 8 + 1);
        }
    }
}
