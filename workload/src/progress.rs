//! What a command tells while it runs.

use std::io::Write;
use std::ops::ControlFlow;

/// Receives news of a running command; every method has an empty default.
pub trait Progress {
    /// Called every interval of a run. `Break` ends the run early, with a report of what ran.
    fn tick(&mut self, _tick: &Tick) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called now and then while rows are loaded or read: what is done, how much, of how much.
    fn step(&mut self, _what: &str, _done: u64, _total: u64) {}
}

/// Says nothing.
impl Progress for () {}

/// One interval of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Seconds since the first transaction.
    pub elapsed_s: f64,
    /// Whether the measurement has not begun.
    pub is_warmup: bool,
    /// The types that are in the mix.
    pub by_type: Vec<TickRow>,
    /// All types together.
    pub total: TickRow,
}

/// One line of a tick.
#[derive(Debug, Clone, PartialEq)]
pub struct TickRow {
    /// Name of the type, or `total`.
    pub name: &'static str,
    /// Successes since the last tick.
    pub ok: u64,
    /// Failures since the last tick, those of unknown outcome included.
    pub failed: u64,
    /// Failures since the last tick that may have taken effect.
    pub unknown: u64,
    /// Failures since the start.
    pub failed_total: u64,
    /// Successes per second since the last tick.
    pub tps: f64,
    /// Successes per second since the start.
    pub tps_total: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    /// Shares of fast, medium, slow and ephemeral paths among the traced, in percent.
    pub fast_percent: f64,
    pub medium_percent: f64,
    pub slow_percent: f64,
    pub ephemeral_percent: f64,
}

/// Writes ticks as lines of text, a heading every 20 lines.
#[derive(Debug)]
pub struct TextProgress<W> {
    out: W,
    line_count: u64,
}

const HEADING: &str = "_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)\
                       __fast%__med%__slow%__eph%";

impl<W: Write> TextProgress<W> {
    /// Writes to `out`; a terminal that went away ends nothing.
    pub fn new(out: W) -> Self {
        Self { out, line_count: 0 }
    }

    fn line(&mut self, text: &str) {
        // Whoever read the ticks is gone; the run and its report matter more.
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }
}

impl<W: Write> Progress for TextProgress<W> {
    fn tick(&mut self, tick: &Tick) -> ControlFlow<()> {
        if self.line_count.is_multiple_of(20) {
            self.line(HEADING);
        }
        self.line_count += 1;
        let row = match tick.by_type.as_slice() {
            [only] => only,
            _ => &tick.total,
        };
        let warmup = if tick.is_warmup { " (warm-up)" } else { "" };
        self.line(&format!("{}{warmup}", tick_line(tick.elapsed_s, row)));
        ControlFlow::Continue(())
    }

    fn step(&mut self, what: &str, done: u64, total: u64) {
        self.line(&format!("{what}: {done} of {total}"));
    }
}

fn tick_line(elapsed_s: f64, row: &TickRow) -> String {
    format!(
        "{elapsed_s:7.1}s {:8} {:14.1} {:14.1} {:8.1} {:8.1} {:8.1} {:8.1} {:6.1} {:6.1} {:6.1} {:6.1} {}",
        row.failed_total,
        row.tps,
        row.tps_total,
        row.p50_ms,
        row.p95_ms,
        row.p99_ms,
        row.max_ms,
        row.fast_percent,
        row.medium_percent,
        row.slow_percent,
        row.ephemeral_percent,
        row.name,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick() -> Tick {
        let row = TickRow {
            name: "transfer",
            ok: 21_034,
            failed: 0,
            unknown: 0,
            failed_total: 0,
            tps: 21_034.0,
            tps_total: 21_034.0,
            p50_ms: 2.1,
            p95_ms: 4.9,
            p99_ms: 7.3,
            max_ms: 18.2,
            fast_percent: 98.9,
            medium_percent: 1.1,
            slow_percent: 0.0,
            ephemeral_percent: 0.0,
        };
        let total = TickRow { name: "total", ..row.clone() };
        Tick { elapsed_s: 1.0, is_warmup: false, by_type: vec![row], total }
    }

    #[test]
    fn a_tick_lines_up_under_its_heading() {
        let mut out = Vec::new();
        let mut progress = TextProgress::new(&mut out);
        for _ in 0..21 {
            assert_eq!(progress.tick(&tick()), ControlFlow::Continue(()));
        }
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<_> = text.lines().collect();
        let expected = "    1.0s        0        21034.0        21034.0      2.1      4.9      7.3     18.2   98.9    1.1    0.0    0.0 transfer";
        assert_eq!((lines[0], lines[1]), (HEADING, expected));
        assert_eq!(lines.iter().filter(|line| **line == HEADING).count(), 2);
    }
}
