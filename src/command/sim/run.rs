//! `accordd sim run`: many seeds on several threads.

use super::choice::Choice;
use super::seeds::{self, parse_seed};
use super::{FAILED, OK, crash, directed, say};
use crate::Error;
use sim::{Counters, Summary, run_seed};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// After so many failures the rest would say nothing new.
const FAILURES_MAX: usize = 20;

#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Threads; as many as there are cores if not given.
    #[arg(long, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// First seed; taken from the clock and printed if not given.
    #[arg(long, value_name = "SEED", value_parser = parse_seed)]
    from: Option<u64>,
    /// Run the seeds of this file instead, one a line.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "from", "generator", "layout"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    choice: Choice,
}

/// The seeds of a run, by their place.
enum Plan {
    Span { from: u64, count: u64, choice: Choice },
    List(Vec<(u64, Choice)>),
}

impl Plan {
    fn seed(&self, at: usize) -> Option<(u64, Choice)> {
        match self {
            Self::Span { from, count, choice } => {
                ((at as u64) < *count).then(|| (from.wrapping_add(at as u64), *choice))
            }
            Self::List(seeds) => seeds.get(at).copied(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Error> {
    let plan = match &args.file {
        Some(file) => Plan::List(seeds::read_file(file)?),
        None => {
            let from = args.from.unwrap_or_else(seeds::fresh);
            say(&format!("{} seeds from {from}{}\n", args.seeds, args.choice));
            Plan::Span { from, count: args.seeds, choice: args.choice }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(cores, usize::from);
    let started = Instant::now();
    let mut rare = Summary::default();
    let mut failures = Vec::new();
    for (choice, report) in directed::run() {
        failures.extend(report.violation.clone().map(|found| (report.seed, choice, found)));
        rare.take(report);
    }
    let (summary, found) = run_plan(&plan, jobs);
    failures.extend(found);
    say(&told(&summary, &rare.counters, &failures, jobs, started.elapsed()));
    Ok(if failures.is_empty() { OK } else { FAILED })
}

/// A failing seed: its number, what its replay needs, and what was found.
type Failure = (u64, Choice, sim::Violation);

fn run_plan(plan: &Plan, jobs: usize) -> (Summary, Vec<Failure>) {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut summary = Summary::default();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(|| work(plan, &next, &failed))).collect();
        for worker in workers {
            // a panic has ended the process before it can end a worker
            if let Ok((part, found)) = worker.join() {
                summary.merge(part);
                failures.extend(found);
            }
        }
    });
    failures.sort_by_key(|(seed, ..)| *seed);
    (summary, failures)
}

fn work(plan: &Plan, next: &AtomicUsize, failed: &AtomicUsize) -> (Summary, Vec<Failure>) {
    let mut summary = Summary::default();
    let mut failures = Vec::new();
    while failed.load(Ordering::Relaxed) < FAILURES_MAX {
        let Some((seed, choice)) = plan.seed(next.fetch_add(1, Ordering::Relaxed)) else { break };
        crash::running(seed, &choice);
        let report = run_seed(seed, &choice.overrides(), None);
        if let Some(found) = &report.violation {
            failed.fetch_add(1, Ordering::Relaxed);
            failures.push((seed, choice, found.clone()));
        }
        summary.take(report);
    }
    (summary, failures)
}

fn told(summary: &Summary, rare: &Counters, failures: &[Failure], jobs: usize, took: Duration) -> String {
    let Summary { seeds, txns, events, events_max, .. } = summary;
    let distinct = summary.distinct_traces();
    let mut text = format!(
        "{seeds} seeds: {txns} transactions, {events} events (at most {events_max} in one), {distinct} distinct traces; \
         {jobs} jobs, {:.1} s\n{}",
        took.as_secs_f64(),
        summary.counters
    );
    let missing = summary.counters.missing();
    if missing.is_empty() {
        text.push_str("missing: nothing\n");
    } else {
        let _ = writeln!(text, "missing: {}", missing.join(", "));
        let _ =
            writeln!(text, "of these reached by the directed tier: {}", directed::supplied(&missing, rare).join(", "));
    }
    for (seed, choice, found) in failures {
        let _ = writeln!(text, "FAILED seed {seed}: {}: {}", found.checker, found.verdict);
        let _ = writeln!(text, "  accordd sim replay {seed}{choice}");
    }
    let _ = writeln!(text, "{} passed, {} failed", (*seeds).saturating_sub(failures.len() as u64), failures.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(from: u64, count: u64) -> Plan {
        Plan::Span { from, count, choice: Choice::default() }
    }

    #[test]
    fn number_of_jobs_changes_nothing_but_the_time() {
        let text = |jobs| {
            let (summary, failures) = run_plan(&plan(1, 12), jobs);
            told(&summary, &Counters::default(), &failures, 1, Duration::ZERO)
        };
        assert_eq!(text(1), text(3));
        assert!(text(1).starts_with("12 seeds: "), "{}", text(1));
    }

    #[test]
    fn failure_is_told_with_its_replay_line() {
        let choice = Choice { generator: Some(super::super::choice::GeneratorName::Island), layout: None };
        let found = sim::Violation { checker: "order", verdict: "two orders".into() };
        let mut summary = Summary::default();
        summary.seeds = 1;
        let text = told(&summary, &Counters::default(), &[(9, choice, found)], 1, Duration::ZERO);
        assert!(
            text.contains("FAILED seed 9: order: two orders\n  accordd sim replay 9 --generator island\n"),
            "{text}"
        );
        assert!(text.ends_with("0 passed, 1 failed\n"), "{text}");
    }

    #[test]
    fn list_and_span_end() {
        assert_eq!(plan(5, 2).seed(1).map(|(seed, _)| seed), Some(6));
        assert!(plan(5, 2).seed(2).is_none());
        assert!(Plan::List(vec![(3, Choice::default())]).seed(1).is_none());
    }
}
