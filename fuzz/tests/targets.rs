//! Every target: the kept inputs first, then new ones for as long as `FUZZ_SECONDS` says (2).
//!
//! `FUZZ_SEED` chooses other inputs, `FUZZ_KEEP=1` adds the shortest input of each outcome to the corpus.

use fuzz::{CountingAllocator, Target, campaign, replay, spent_by, targets};
use std::io::Write;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn attack(target: &Target) {
    replay(target).unwrap_or_else(|failure| panic!("{}: a kept input: {failure}", target.name));
    let budget = Duration::from_secs(number("FUZZ_SECONDS", 2));
    let report = campaign(target, budget, number("FUZZ_SEED", 1));
    let report = report.unwrap_or_else(|failure| panic!("{}: {failure}", target.name));
    // Past the harness, which keeps what a passing test prints to itself.
    let _ = writeln!(std::io::stderr(), "{report}");
    assert!(report.outcomes > 10, "{report}: most inputs come to the same");
}

#[test]
fn f1_client_frames() {
    attack(&targets::client_frames::TARGET);
}

#[test]
fn f2_cql() {
    attack(&targets::cql::TARGET);
}

#[test]
fn f3_peer_messages() {
    attack(&targets::peer_messages::TARGET);
}

#[test]
fn f4_journal() {
    attack(&targets::journal::TARGET);
}

#[test]
fn f6_config() {
    attack(&targets::config::TARGET);
}

#[test]
fn f8_operations() {
    attack(&targets::operations::TARGET);
}

#[test]
fn the_allocator_counts_what_a_call_holds_at_once() {
    let (_, spent) = spent_by(|| {
        let first = vec![0u8; 100_000];
        drop(first);
        vec![0u8; 50_000]
    });
    assert!((100_000..110_000).contains(&spent.peak) && spent.total >= 150_000, "{spent:?}");
}
