//! `accordd sim`: the deterministic cluster on the command line.
//!
//! A seed stands for everything that happens in a run; with the same flags it happens again, in any process.

mod choice;
mod crash;
mod directed;
mod run;
mod seeds;

use super::{FAILED, OK, say};
use crate::Error;
use choice::Choice;
use seeds::parse_seed;
use sim::{SeedReport, run_seed};
use std::fmt::Write;

/// Options of `sim`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum Action {
    /// Run many seeds and stop at what a checker finds.
    Run(run::Args),
    /// Run one seed again.
    Replay(ReplayArgs),
    /// Run every seed twice and compare.
    Determinism(DeterminismArgs),
    /// Plant each known bug and count the seeds until a checker finds it.
    #[cfg(feature = "mutants")]
    Mutants(MutantsArgs),
    /// Hold the checkers against brute force on tiny histories.
    Selftest(SelftestArgs),
}

#[derive(Debug, Clone, clap::Args)]
struct ReplayArgs {
    #[arg(value_parser = parse_seed)]
    seed: u64,
    #[command(flatten)]
    choice: Choice,
    /// Print what happens, line by line.
    #[arg(long)]
    trace: bool,
}

#[derive(Debug, Clone, clap::Args)]
struct DeterminismArgs {
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// First seed; taken from the clock if not given.
    #[arg(long, value_name = "SEED", value_parser = parse_seed)]
    from: Option<u64>,
    #[command(flatten)]
    choice: Choice,
}

#[cfg(feature = "mutants")]
#[derive(Debug, Clone, clap::Args)]
struct MutantsArgs {
    /// Seeds tried per bug before it counts as missed.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// First seed; taken from the clock if not given.
    #[arg(long, value_name = "SEED", value_parser = parse_seed)]
    from: Option<u64>,
    /// Only the bugs whose name holds this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    choice: Choice,
}

#[derive(Debug, Clone, clap::Args)]
struct SelftestArgs {
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    histories: u32,
    /// Taken from the clock if not given.
    #[arg(long, value_parser = parse_seed)]
    seed: Option<u64>,
}

/// Runs one of the actions; 1 if a checker found something.
///
/// *Errors*: a seed file that cannot be read.
pub fn run(args: &Args) -> Result<u8, Error> {
    crash::name_the_seed();
    match &args.action {
        Action::Run(args) => run::run(args),
        Action::Replay(args) => Ok(replay(args)),
        Action::Determinism(args) => Ok(determinism(args)),
        #[cfg(feature = "mutants")]
        Action::Mutants(args) => Ok(mutants(args)),
        Action::Selftest(args) => Ok(selftest(args)),
    }
}

fn replay(args: &ReplayArgs) -> u8 {
    crash::running(args.seed, &args.choice);
    let mut print = |line: &str| say(&format!("{line}\n"));
    let report = run_seed(args.seed, &args.choice.overrides(), args.trace.then_some(&mut print));
    say(&told(&report));
    if report.violation.is_some() { FAILED } else { OK }
}

fn told(report: &SeedReport) -> String {
    let SeedReport { seed, txns, events, trace_hash, .. } = report;
    let mut text = format!("seed {seed}: {txns} transactions, {events} events, trace {trace_hash:016x}\n");
    let _ = write!(text, "{}", report.counters);
    match &report.violation {
        Some(found) => _ = writeln!(text, "FAILED {}: {}", found.checker, found.verdict),
        None => text.push_str("ok\n"),
    }
    text
}

fn determinism(args: &DeterminismArgs) -> u8 {
    let from = args.from.unwrap_or_else(seeds::fresh);
    let overrides = args.choice.overrides();
    let mut differing = 0;
    for seed in seeds::span(from, args.seeds) {
        crash::running(seed, &args.choice);
        let (first, second) = (run_seed(seed, &overrides, None), run_seed(seed, &overrides, None));
        if first != second {
            differing += 1;
            let hashes = format!("traces {:016x} and {:016x}", first.trace_hash, second.trace_hash);
            say(&format!("seed {seed}: two runs differ, {hashes}\n"));
        }
    }
    say(&format!("{} seeds from {from} run twice, {differing} differ\n", args.seeds));
    if differing > 0 { FAILED } else { OK }
}

#[cfg(feature = "mutants")]
fn mutants(args: &MutantsArgs) -> u8 {
    let from = args.from.unwrap_or_else(seeds::fresh);
    say(&format!("seeds from {from}, at most {} per bug\n", args.seeds));
    let mut survivors = 0;
    let wanted = |name: &str| args.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    for mutant in sim::Mutant::ALL.into_iter().filter(|mutant| wanted(&format!("{mutant:?}"))) {
        let overrides = sim::Overrides { mutant: Some(mutant), ..args.choice.overrides() };
        let killed = seeds::span(from, args.seeds).zip(1u64..).find_map(|(seed, count)| {
            crash::running(seed, &args.choice);
            run_seed(seed, &overrides, None).violation.map(|found| (seed, count, found.checker))
        });
        let name = format!("{mutant:?}");
        match killed {
            Some((seed, count, checker)) => {
                say(&format!("{name:<32} killed after {count:>6} by {checker} (seed {seed})\n"))
            }
            None => {
                survivors += 1;
                say(&format!("{name:<32} SURVIVED {} seeds\n", args.seeds));
            }
        }
    }
    if survivors > 0 { FAILED } else { OK }
}

fn selftest(args: &SelftestArgs) -> u8 {
    let seed = args.seed.unwrap_or_else(seeds::fresh);
    let report = sim::checker::self_test(args.histories as _, seed);
    say(&format!("seed {seed}\n{report}\n"));
    if report.is_clean() { OK } else { FAILED }
}
