//! Counts and latencies per transaction type, written by many clients and read by the reporter.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::histogram::Latencies;
use crate::mix::Kind;
use crate::outcome::{Failure, FailureClass};

/// Paths a traced transaction may have taken, in the order of reports.
pub(crate) const PATHS: [&str; 5] = ["ephemeral", "fast", "medium", "slow", "recovery"];

/// What is counted of one transaction type.
#[derive(Debug, Clone)]
pub(crate) struct TypeBook {
    pub(crate) ok: u64,
    /// Successes that also completed inside the window: what throughput counts.
    pub(crate) ok_inside: u64,
    pub(crate) failures: [u64; FailureClass::ALL.len()],
    /// Failures, of any class, that may have taken effect.
    pub(crate) unknown: u64,
    pub(crate) paths: [u64; PATHS.len()],
    pub(crate) service: Latencies,
    pub(crate) failed_service: Latencies,
}

impl TypeBook {
    fn new() -> Self {
        Self {
            ok: 0,
            ok_inside: 0,
            failures: Default::default(),
            unknown: 0,
            paths: Default::default(),
            service: Latencies::new(),
            failed_service: Latencies::new(),
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Failures in percent of all; 0 if there was nothing.
    pub(crate) fn failed_percent(&self) -> f64 {
        percent(self.failed(), self.ok + self.failed())
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.ok_inside += other.ok_inside;
        self.unknown += other.unknown;
        self.failures.iter_mut().zip(other.failures).for_each(|(sum, count)| *sum += count);
        self.paths.iter_mut().zip(other.paths).for_each(|(sum, count)| *sum += count);
        self.service.add(&other.service);
        self.failed_service.add(&other.failed_service);
    }

    fn clear(&mut self) {
        (self.ok, self.ok_inside, self.unknown) = (0, 0, 0);
        self.failures = Default::default();
        self.paths = Default::default();
        self.service.clear();
        self.failed_service.clear();
    }

    fn record(&mut self, entry: &Entry) {
        match entry.failure {
            None => {
                self.ok += 1;
                self.ok_inside += u64::from(entry.inside);
                self.service.record(entry.service);
            }
            Some(failure) => {
                self.failures[failure.class.index()] += 1;
                self.unknown += u64::from(failure.unknown);
                self.failed_service.record(entry.service);
            }
        }
        if let Some(path) = entry.path {
            self.paths[path] += 1;
        }
    }
}

/// Share of `part` in `whole` in percent; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// One finished transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) service: Duration,
    pub(crate) failure: Option<Failure>,
    /// Position in [`PATHS`], if it was traced.
    pub(crate) path: Option<usize>,
    /// Whether it began inside the measured window.
    pub(crate) measured: bool,
    /// Whether it also ended there.
    pub(crate) inside: bool,
}

/// Books of all types.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    pub(crate) by_kind: [TypeBook; 5],
}

impl Books {
    pub(crate) fn new() -> Self {
        Self { by_kind: [(); 5].map(|()| TypeBook::new()) }
    }

    /// All types together.
    pub(crate) fn total(&self) -> TypeBook {
        let mut total = TypeBook::new();
        self.by_kind.iter().for_each(|book| total.add(book));
        total
    }

    fn add(&mut self, other: &Self) {
        self.by_kind.iter_mut().zip(&other.by_kind).for_each(|(sum, book)| sum.add(book));
    }
}

/// Several copies of the books, so that clients on different threads seldom meet.
#[derive(Debug)]
pub(crate) struct Shelves {
    shelves: Vec<Mutex<Shelf>>,
}

#[derive(Debug)]
struct Shelf {
    measured: Books,
    since_tick: Books,
}

const SHELVES_MAX: usize = 4;

impl Shelves {
    pub(crate) fn new(clients: usize) -> Self {
        let shelf = || Mutex::new(Shelf { measured: Books::new(), since_tick: Books::new() });
        Self { shelves: (0..clients.clamp(1, SHELVES_MAX)).map(|_| shelf()).collect() }
    }

    pub(crate) fn record(&self, client: usize, entry: &Entry) {
        let mut shelf = lock(&self.shelves[client % self.shelves.len()]);
        shelf.since_tick.by_kind[entry.kind.index()].record(entry);
        if entry.measured {
            shelf.measured.by_kind[entry.kind.index()].record(entry);
        }
    }

    /// What came in since the last call.
    pub(crate) fn take_tick(&self) -> Books {
        let mut sum = Books::new();
        for shelf in &self.shelves {
            let mut shelf = lock(shelf);
            sum.add(&shelf.since_tick);
            shelf.since_tick.by_kind.iter_mut().for_each(TypeBook::clear);
        }
        sum
    }

    /// Everything measured so far.
    pub(crate) fn measured(&self) -> Books {
        let mut sum = Books::new();
        self.shelves.iter().for_each(|shelf| sum.add(&lock(shelf).measured));
        sum
    }
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(failure: Option<Failure>, measured: bool) -> Entry {
        let service = Duration::from_millis(3);
        Entry { kind: Kind::Transfer, service, failure, path: Some(1), measured, inside: measured }
    }

    /// Field case W03.
    #[test]
    fn rejected_and_unknown_are_neither_throughput_nor_latency() {
        let shelves = Shelves::new(2);
        shelves.record(0, &entry(None, true));
        shelves.record(1, &entry(Some(Failure { class: FailureClass::Rejected, unknown: false }), true));
        shelves.record(2, &entry(Some(Failure { class: FailureClass::Timeout, unknown: true }), true));
        let total = shelves.measured().total();
        assert_eq!((total.ok, total.ok_inside, total.failed(), total.unknown), (1, 1, 2, 1));
        assert!((total.failed_percent() - 66.666).abs() < 0.01);
        assert!(total.service.max_ms() > 0.0 && total.failed_service.max_ms() > 0.0);
    }

    #[test]
    fn warm_up_shows_in_ticks_only_and_a_tick_is_taken_once() {
        let shelves = Shelves::new(1);
        shelves.record(0, &entry(None, false));
        assert_eq!(shelves.measured().total().ok, 0);
        assert_eq!(shelves.take_tick().total().ok, 1);
        assert_eq!(shelves.take_tick().total().ok, 0);
    }

    #[test]
    fn nothing_is_zero_percent() {
        assert_eq!(percent(0, 0), 0.0);
    }
}
