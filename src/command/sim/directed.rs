//! Seeds that are known to reach the rare branches of recovery.
//!
//! Fresh seeds reach each of these once in some thousands of runs. The directed tier is run before them and counted apart, so that a
//! short run has seen every branch too. A seed that no longer reaches its branch fails the test below.

use super::choice::{Choice, GeneratorName, LayoutName};
use sim::{Counters, SeedReport, run_seed};

/// Seed, layout, and the branch it reaches; all of the island generator.
const SEEDS: [(u64, LayoutName, &str); 5] = [
    (2528, LayoutName::Five, "recovery AwaitedThenRejected"),
    (1980, LayoutName::Five, "recovery AwaitedUnknown"),
    (94, LayoutName::Five, "recovery RejectedByWitness"),
    (31, LayoutName::Five, "recovery AwaitedThenProposed"),
    (6701, LayoutName::FourOverlapping, "recovery AwaitedBareKeys"),
];

/// Runs the tier: each seed with what its replay needs, and what came of it.
pub(super) fn run() -> Vec<(Choice, SeedReport)> {
    let one = |(seed, layout, _): (u64, LayoutName, &str)| {
        let choice = Choice { generator: Some(GeneratorName::Island), layout: Some(layout) };
        (choice, run_seed(seed, &choice.overrides(), None))
    };
    SEEDS.into_iter().map(one).collect()
}

/// The branches of `missing` that `directed` has reached.
pub(super) fn supplied(missing: &[String], directed: &Counters) -> Vec<String> {
    missing.iter().filter(|name| directed.get(name) > 0).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_reaches_its_branch_and_is_clean() {
        for ((seed, _, branch), (_, report)) in SEEDS.into_iter().zip(run()) {
            assert_eq!(report.violation, None, "seed {seed}");
            assert!(report.counters.get(branch) > 0, "seed {seed} does not reach {branch}");
        }
    }
}
