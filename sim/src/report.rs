//! What a run has to say.

use protocol::{Note, Path, RecoveryBranch};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A checker has found something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The checker, by its name in reliability.md 4.6.
    pub checker: &'static str,
    /// One sentence.
    pub verdict: String,
}

/// How often something happened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Counts `note`.
    pub fn note(&mut self, note: Note) {
        let name = match note {
            Note::PathTaken(path) => format!("path {}", path.name()),
            Note::Recovery(branch) => format!("recovery {branch:?}"),
            other => format!("{other:?}"),
        };
        self.add(&name, 1);
    }

    /// Counts `count` of `name`.
    pub fn add(&mut self, name: &str, count: u64) {
        if let Some(so_far) = self.0.get_mut(name) {
            *so_far += count;
        } else {
            self.0.insert(name.to_owned(), count);
        }
    }

    /// How often `name` happened.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The paths and recovery branches that never happened.
    pub fn missing(&self) -> Vec<String> {
        let paths = [Path::Fast, Path::Medium, Path::Slow].map(|path| format!("path {}", path.name()));
        let branches = RecoveryBranch::ALL.map(|branch| format!("recovery {branch:?}"));
        paths.into_iter().chain(branches).filter(|name| self.get(name) == 0).collect()
    }

    fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(name, count)| self.add(name, *count));
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, count)| writeln!(f, "  {name:<32} {count:>10}"))
    }
}

/// One seed's run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeedReport {
    /// The seed.
    pub seed: u64,
    /// Events taken from the queue.
    pub events: u64,
    /// Transactions begun.
    pub txns: u64,
    /// Of everything that happened, with its time.
    pub trace_hash: u64,
    /// Of what happened in which order, without times.
    pub shape_hash: u64,
    /// What happened how often.
    pub counters: Counters,
    /// What was found.
    pub violation: Option<Violation>,
}

/// Many seeds' runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Seeds run.
    pub seeds: u64,
    /// Events taken from queues.
    pub events: u64,
    /// Transactions begun.
    pub txns: u64,
    /// The most events of one seed.
    pub events_max: u64,
    /// What happened how often.
    pub counters: Counters,
    /// Seeds on which something was found.
    pub failures: Vec<(u64, Violation)>,
    shapes: BTreeSet<u64>,
}

impl Summary {
    /// Takes in one seed.
    pub fn take(&mut self, report: SeedReport) {
        self.seeds += 1;
        self.events += report.events;
        self.txns += report.txns;
        self.events_max = self.events_max.max(report.events);
        self.counters.merge(&report.counters);
        self.shapes.insert(report.shape_hash);
        if let Some(violation) = report.violation {
            self.failures.push((report.seed, violation));
        }
    }

    /// Takes in another summary.
    pub fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.txns += other.txns;
        self.events_max = self.events_max.max(other.events_max);
        self.counters.merge(&other.counters);
        self.shapes.extend(other.shapes);
        self.failures.extend(other.failures);
    }

    /// How many different orders of events were seen.
    pub fn distinct_traces(&self) -> usize {
        self.shapes.len()
    }
}
