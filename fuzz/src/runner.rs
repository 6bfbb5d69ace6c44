//! Runs a target with input after input.

use crate::corpus::{keep, kept};
use crate::mutate::{mutated, smaller};
use crate::rng::Rng;
use crate::{Outcome, Target};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Inputs that mutation starts from at most.
const POOL_MAX: usize = 4096;
/// Calls spent on making a failing input smaller.
const SHRINK_MAX: usize = 5_000;
/// Calls between two looks at the clock.
const CALLS_PER_LOOK: u64 = 16;

/// What a campaign did.
#[derive(Clone, Debug)]
pub struct Report {
    /// The target.
    pub name: &'static str,
    /// Inputs run.
    pub executions: u64,
    /// Different outcomes among them.
    pub outcomes: usize,
    /// Inputs kept, the start included.
    pub pool: usize,
    /// The slowest input.
    pub slowest: Duration,
    /// *Units*: bytes of that input.
    pub slowest_bytes: usize,
    /// Time spent.
    pub time: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, executions, outcomes, pool, slowest, slowest_bytes, time } = self;
        let rate = *executions as f64 / time.as_secs_f64().max(0.001);
        write!(
            f,
            "fuzz {name}: {executions} executions in {:.1} s ({rate:.0}/s), {outcomes} outcomes, {pool} inputs kept, \
             slowest {slowest:?} ({slowest_bytes} bytes)",
            time.as_secs_f64()
        )
    }
}

/// An input that breaks a law.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The smallest found.
    pub input: Vec<u8>,
    /// What the target said.
    pub message: String,
    /// Where it was written down; `None` if that failed.
    pub file: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, message, file } = self;
        let file = file.as_ref().map_or("not written down".to_owned(), |path| path.display().to_string());
        write!(f, "{message}\n{file}\n{:?}", input.escape_ascii().to_string())
    }
}

/// Runs `target` for `budget` with inputs drawn from `seed`.
///
/// *Errors*: the first input that panics, made smaller and kept in the corpus.
pub fn campaign(target: &Target, budget: Duration, seed: u64) -> Result<Report, Box<Failure>> {
    let start = Instant::now();
    let mut run = Run { target, pool: Vec::new(), seen: BTreeMap::new(), executions: 0, slowest: (Duration::ZERO, 0) };
    for input in (target.seeds)().into_iter().chain(kept(target).into_iter().map(|(_, input)| input)) {
        run.try_input(input, true)?;
    }
    run.try_input(Vec::new(), true)?;
    let mut rng = Rng::new(seed);
    while !run.executions.is_multiple_of(CALLS_PER_LOOK) || start.elapsed() < budget {
        let input = mutated(target, &run.pool, &mut rng);
        run.try_input(input, false)?;
    }
    let (slowest, slowest_bytes) = run.slowest;
    let (outcomes, pool, time) = (run.seen.len(), run.pool.len(), start.elapsed());
    if std::env::var_os("FUZZ_KEEP").is_some() {
        run.keep_shortest();
    }
    Ok(Report { name: target.name, executions: run.executions, outcomes, pool, slowest, slowest_bytes, time })
}

/// Runs every kept input once.
///
/// *Errors*: the first that panics.
pub fn replay(target: &Target) -> Result<usize, Box<Failure>> {
    let kept = kept(target);
    for (name, input) in &kept {
        if let Err(message) = call(target, input) {
            let file = Some(crate::directory(target).join(name));
            return Err(Box::new(Failure { input: input.clone(), message, file }));
        }
    }
    Ok(kept.len())
}

struct Run<'t> {
    target: &'t Target,
    pool: Vec<Vec<u8>>,
    /// Each outcome, and the shortest input that showed it.
    seen: BTreeMap<Outcome, Vec<u8>>,
    executions: u64,
    slowest: (Duration, usize),
}

impl Run<'_> {
    fn try_input(&mut self, input: Vec<u8>, is_start: bool) -> Result<(), Box<Failure>> {
        let start = Instant::now();
        let outcome = call(self.target, &input).map_err(|message| self.failure(&input, message))?;
        let took = start.elapsed();
        self.executions += 1;
        if took > self.slowest.0 {
            self.slowest = (took, input.len());
        }
        let shortest = self.seen.get(&outcome).map(Vec::len);
        if shortest.is_none_or(|len| input.len() < len) {
            self.seen.insert(outcome, input.clone());
        }
        if is_start || shortest.is_none_or(|len| input.len() < len / 2) {
            if self.pool.len() >= POOL_MAX {
                let place = self.executions as usize % POOL_MAX;
                self.pool.swap_remove(place);
            }
            self.pool.push(input);
        }
        Ok(())
    }

    fn failure(&self, input: &[u8], message: String) -> Box<Failure> {
        let mut smallest = (input.to_vec(), message);
        let mut calls = 0;
        'again: while calls < SHRINK_MAX {
            for cut in smaller(&smallest.0.clone()).take(SHRINK_MAX - calls) {
                calls += 1;
                if let Err(message) = call(self.target, &cut) {
                    smallest = (cut, message);
                    continue 'again;
                }
            }
            break;
        }
        let (input, message) = smallest;
        let file = keep(self.target, "failed", &input).ok();
        Box::new(Failure { input, message, file })
    }

    /// Adds the shortest input of each outcome to the corpus.
    fn keep_shortest(&self) {
        for input in self.seen.values() {
            if let Err(error) = keep(self.target, "outcome", input) {
                eprintln!("fuzz {}: cannot keep an input: {error}", self.target.name);
                return;
            }
        }
    }
}

fn call(target: &Target, input: &[u8]) -> Result<Outcome, String> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(run: fn(&[u8]) -> Outcome) -> Target {
        Target { name: "self-test", run, seeds: || vec![b"abcdef".to_vec()], dictionary: &[b"XY"], input_max: 64 }
    }

    #[test]
    fn a_broken_law_is_found_and_made_small() {
        let broken = target(|input| {
            assert!(!input.windows(2).any(|pair| pair == b"XY"), "X before Y");
            Outcome::of("fine")
        });
        let failure = campaign(&broken, Duration::from_secs(20), 1).expect_err("found");
        assert_eq!((&failure.input[..], &failure.message[..]), (&b"XY"[..], "X before Y"));
        let file = failure.file.expect("kept");
        assert_eq!(replay(&broken).expect_err("still broken").input, b"XY");
        std::fs::remove_file(&file).expect("removed");
        std::fs::remove_dir(file.parent().expect("a directory")).expect("removed");
    }

    #[test]
    fn the_same_seed_does_the_same() {
        let fine = target(|input| Outcome::of(&format!("{}", Outcome::letter(input.len()))));
        let [one, two] = [(), ()].map(|()| {
            let mut run = Run {
                target: &fine,
                pool: Vec::new(),
                seen: BTreeMap::new(),
                executions: 0,
                slowest: Default::default(),
            };
            run.try_input(b"abcdef".to_vec(), true).expect("fine");
            let mut rng = Rng::new(7);
            for _ in 0..2000 {
                let input = mutated(&fine, &run.pool, &mut rng);
                run.try_input(input, false).expect("fine");
            }
            (run.pool, run.seen)
        });
        assert_eq!(one, two);
        assert!(one.1.len() >= 6, "{:?}", one.1.len());
    }
}
