//! Turns what came in since the last tick into rows, and keeps the series for the report.

use std::time::Instant;

use serde::Serialize;

use crate::books::{Books, Shelves, TypeBook, percent};
use crate::mix::Kind;
use crate::progress::{Tick, TickRow};

/// One interval in the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// Seconds since the first transaction, at the end of the interval.
    pub t_s: f64,
    pub is_warmup: bool,
    /// Successes per second.
    pub tps: f64,
    /// Failures in the interval.
    pub errors: u64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
}

/// Points kept of a series; a longer run keeps every second one, then every fourth.
const SERIES_MAX: usize = 20_000;

pub(crate) struct Ticker {
    kinds: Vec<Kind>,
    begun: Instant,
    measured_from: Instant,
    last: Instant,
    /// Successes and failures since the start, per type.
    sums: [(u64, u64); 5],
    series: Vec<SeriesPoint>,
    stride: u64,
    tick_count: u64,
}

impl Ticker {
    pub(crate) fn new(kinds: impl Iterator<Item = Kind>, measured_from: Instant) -> Self {
        let begun = Instant::now();
        Self {
            kinds: kinds.collect(),
            begun,
            measured_from,
            last: begun,
            sums: [(0, 0); 5],
            series: Vec::new(),
            stride: 1,
            tick_count: 0,
        }
    }

    pub(crate) fn tick(&mut self, shelves: &Shelves) -> Tick {
        self.tick_of(&shelves.take_tick(), Instant::now())
    }

    /// What is left since the last tick, if anything.
    pub(crate) fn last_tick(&mut self, shelves: &Shelves) -> Option<Tick> {
        let books = shelves.take_tick();
        let total = books.total();
        (total.ok + total.failed() > 0).then(|| self.tick_of(&books, Instant::now()))
    }

    fn tick_of(&mut self, books: &Books, now: Instant) -> Tick {
        let is_warmup = self.last < self.measured_from;
        let span_s = (now - self.last).as_secs_f64();
        let elapsed_s = (now - self.begun).as_secs_f64();
        self.last = now;
        for (sum, book) in self.sums.iter_mut().zip(&books.by_kind) {
            sum.0 += book.ok;
            sum.1 += book.failed();
        }
        let spans = (span_s, elapsed_s);
        let by_type: Vec<_> = self
            .kinds
            .iter()
            .map(|kind| row(kind.name(), &books.by_kind[kind.index()], self.sums[kind.index()], spans))
            .collect();
        let sums = self.sums.iter().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
        let total = row("total", &books.total(), sums, spans);
        self.keep(&total, elapsed_s, is_warmup);
        Tick { elapsed_s, is_warmup, by_type, total }
    }

    fn keep(&mut self, total: &TickRow, t_s: f64, is_warmup: bool) {
        self.tick_count += 1;
        if !self.tick_count.is_multiple_of(self.stride) {
            return;
        }
        if self.series.len() == SERIES_MAX {
            let mut at = 0u32;
            self.series.retain(|_| {
                at += 1;
                at.is_multiple_of(2)
            });
            self.stride *= 2;
        }
        let (errors, p50, p99) = (total.failed, total.p50_ms, total.p99_ms);
        self.series.push(SeriesPoint { t_s, is_warmup, tps: total.tps, errors, p50, p99 });
    }

    pub(crate) fn into_series(self) -> Vec<SeriesPoint> {
        self.series
    }
}

fn row(name: &'static str, book: &TypeBook, sums: (u64, u64), (span_s, elapsed_s): (f64, f64)) -> TickRow {
    let traced = book.paths.iter().sum();
    let [ephemeral, fast, medium, slow, _] = book.paths.map(|count| percent(count, traced));
    TickRow {
        name,
        ok: book.ok,
        failed: book.failed(),
        unknown: book.unknown,
        failed_total: sums.1,
        tps: rate(book.ok, span_s),
        tps_total: rate(sums.0, elapsed_s),
        p50_ms: book.service.percentile_ms(50.0),
        p95_ms: book.service.percentile_ms(95.0),
        p99_ms: book.service.percentile_ms(99.0),
        max_ms: book.service.max_ms(),
        fast_percent: fast,
        medium_percent: medium,
        slow_percent: slow,
        ephemeral_percent: ephemeral,
    }
}

/// Per second; 0 over no time.
pub(crate) fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::Entry;
    use std::time::Duration;

    fn shelves(count: usize) -> Shelves {
        let shelves = Shelves::new(1);
        let service = Duration::from_millis(2);
        let entry = Entry { kind: Kind::Audit, service, failure: None, path: Some(1), measured: true, inside: true };
        (0..count).for_each(|_| shelves.record(0, &entry));
        shelves
    }

    #[test]
    fn sums_go_on_while_ticks_begin_anew() {
        let mut ticker = Ticker::new([Kind::Audit].into_iter(), Instant::now());
        let start = ticker.begun;
        let at = |seconds| start + Duration::from_secs(seconds);
        ticker.tick_of(&shelves(10).take_tick(), at(1));
        let tick = ticker.tick_of(&shelves(30).take_tick(), at(2));
        assert_eq!((tick.total.ok, tick.total.tps, tick.total.tps_total), (30, 30.0, 20.0));
        assert_eq!((tick.by_type.len(), tick.by_type[0].name, tick.total.fast_percent), (1, "audit", 100.0));
        assert!(ticker.last_tick(&shelves(0)).is_none());
    }

    #[test]
    fn a_tick_with_nothing_in_it_is_all_zeros() {
        let mut ticker = Ticker::new([Kind::Audit].into_iter(), Instant::now());
        let tick = ticker.tick_of(&shelves(0).take_tick(), ticker.begun);
        assert_eq!((tick.total.tps, tick.total.p99_ms, tick.total.fast_percent), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_long_series_is_thinned_and_not_cut() {
        let mut ticker = Ticker::new([Kind::Audit].into_iter(), Instant::now());
        let (books, start) = (shelves(0).take_tick(), ticker.begun);
        let total = ticker.tick_of(&books, start).total;
        for second in 0..50_000 {
            ticker.keep(&total, f64::from(second), false);
        }
        let series = ticker.into_series();
        assert!(series.len() <= SERIES_MAX && series.len() > SERIES_MAX / 2);
        assert!(series.last().expect("points").t_s > 49_990.0);
    }
}
