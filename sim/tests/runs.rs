//! Drawn runs stay clean, and the same seed is the same run.

use sim::{Generator, Overrides, Summary, run_seed};

fn clean(generator: Generator, seeds: u64) -> Summary {
    let overrides = Overrides { generator: Some(generator), ..Overrides::default() };
    let mut summary = Summary::default();
    (1..=seeds).for_each(|seed| summary.take(run_seed(seed, &overrides, None)));
    assert_eq!(summary.failures, [], "{generator:?}");
    summary
}

#[test]
fn sim_swarm_is_clean() {
    let summary = clean(Generator::Swarm, 300);
    assert!(summary.counters.get("crash") > 0 && summary.counters.get("eviction reload") > 0);
    assert_eq!(summary.distinct_traces(), 300);
}

#[test]
fn sim_island_is_clean_and_recovers() {
    let summary = clean(Generator::Island, 300);
    for branch in ["FoundAccepted", "FoundCommitted", "FoundStable", "FoundApplied", "ProposedAtId", "RejectedByVotes"]
    {
        assert!(summary.counters.get(&format!("recovery {branch}")) > 0, "{branch}");
    }
}

#[test]
fn sim_duel_is_clean() {
    clean(Generator::Duel, 300);
}

#[test]
fn sim_orphan_is_clean() {
    clean(Generator::Orphan, 300);
}

/// Without faults the fast path is the rule, and nothing is lost.
#[test]
fn sim_calm_takes_the_fast_path() {
    let summary = clean(Generator::Calm, 300);
    assert!(summary.counters.get("path fast") > summary.counters.get("path slow"));
    assert_eq!(summary.counters.get("message lost"), 0);
}

#[test]
fn same_seed_same_trace() {
    for seed in 1..=100 {
        let overrides = Overrides::default();
        let (one, other) = (run_seed(seed, &overrides, None), run_seed(seed, &overrides, None));
        assert_eq!(one, other, "seed {seed}");
    }
}

#[test]
fn printing_a_trace_changes_nothing() {
    let mut lines = 0;
    let mut print = |_: &str| lines += 1;
    let printed = run_seed(11, &Overrides::default(), Some(&mut print));
    assert_eq!(printed, run_seed(11, &Overrides::default(), None));
    assert!(lines > 10);
}
