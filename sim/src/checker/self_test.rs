//! The judges on trial: on tiny random histories they must agree with brute force, every time.

use std::collections::BTreeMap;
use std::fmt;

use super::anomaly::Anomaly;
use super::brute::brute_force;
use super::corrupt::corrupt;
use super::generate::{Shape, generate};
use super::history::History;
use super::per_key::check_per_key;
use super::rng::{Rng, splitmix64};
use super::serializable::check_serializable;

const OPS_MAX: u64 = 7;
const KEYS_MAX: u64 = 3;
/// Draws of an edit before a history is left correct.
const EDIT_ATTEMPTS: u32 = 4;

/// A history on which a judge and brute force differ.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Number of the history in its run, from 0.
    pub number: u64,
    /// Function that erred.
    pub judge: &'static str,
    pub history: History,
    /// What brute force says.
    pub is_correct: bool,
    pub verdict: Result<(), Anomaly>,
}

/// Counts of one self-test.
#[derive(Clone, Debug, Default)]
pub struct SelfTestReport {
    pub count: u64,
    pub seed: u64,
    /// Histories that received an edit.
    pub edited_count: u64,
    /// Histories that brute force calls strictly serializable.
    pub correct_count: u64,
    /// Single-key histories that brute force calls linearizable; there are `count` of them.
    pub single_key_correct_count: u64,
    /// Verdicts of `check_serializable` by class.
    pub class_counts: BTreeMap<&'static str, u64>,
    /// Verdicts, of any judge, that brute force contradicts.
    pub disagreement_count: u64,
    pub first_disagreement: Option<Disagreement>,
}

impl SelfTestReport {
    pub fn is_clean(&self) -> bool {
        self.disagreement_count == 0
    }

    fn compare(&mut self, number: u64, judge: &'static str, history: &History, verdict: Result<(), Anomaly>) -> bool {
        // Tiny by construction; a declined history would show as a disagreement, not pass silently.
        let answer = brute_force(history);
        let is_correct = answer == Some(true);
        if answer != Some(verdict.is_ok()) {
            self.disagreement_count += 1;
            let found = || Disagreement { number, judge, history: history.clone(), is_correct, verdict };
            self.first_disagreement.get_or_insert_with(found);
        }
        is_correct
    }
}

impl fmt::Display for SelfTestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "checker self-test: seed {}, {} histories, {} edited, {} correct, {} correct on one key, {} disagreements",
            self.seed,
            self.count,
            self.edited_count,
            self.correct_count,
            self.single_key_correct_count,
            self.disagreement_count
        )?;
        for (class, count) in &self.class_counts {
            writeln!(f, "  {class}: {count}")?;
        }
        if let Some(first) = &self.first_disagreement {
            let (number, judge, is_correct) = (first.number, first.judge, first.is_correct);
            writeln!(f, "  history {number}, {judge}: correct {is_correct}, verdict {:?}", first.verdict)?;
            writeln!(f, "  {:?}", first.history)?;
        }
        Ok(())
    }
}

/// Judges `count` random tiny histories, about half of them edited, and compares each verdict with brute force.
///
/// *Shape*: history `i` of `seed` is the same in every run, whatever `count`. Each history is judged whole by
/// [`check_serializable`], and cut down to one of its keys by [`check_per_key`] and `check_serializable` both.
pub fn self_test(count: u64, seed: u64) -> SelfTestReport {
    let mut report = SelfTestReport { count, seed, ..SelfTestReport::default() };
    for number in 0..count {
        let mut rng = Rng::from_seed(splitmix64(seed) ^ number);
        judge_one(number, &mut rng, &mut report);
    }
    report
}

fn judge_one(number: u64, rng: &mut Rng, report: &mut SelfTestReport) {
    let mut history = generate(&draw_shape(rng), rng);
    if rng.percent(50) && (0..EDIT_ATTEMPTS).any(|_| corrupt(&mut history, rng)) {
        report.edited_count += 1;
    }
    let verdict = check_serializable(&history);
    let class = verdict.as_ref().err().map_or("none", |anomaly| anomaly.class.label());
    *report.class_counts.entry(class).or_default() += 1;
    report.correct_count += u64::from(report.compare(number, "check_serializable", &history, verdict));

    let key = rng.below(KEYS_MAX) as u32;
    let single = restrict(&history, key);
    let verdict = check_per_key(&single, &[]);
    report.single_key_correct_count += u64::from(report.compare(number, "check_per_key", &single, verdict));
    report.compare(number, "check_serializable on one key", &single, check_serializable(&single));
}

fn draw_shape(rng: &mut Rng) -> Shape {
    let key_count = 1 + rng.below(KEYS_MAX) as u32;
    Shape {
        op_count: 1 + rng.below(OPS_MAX) as u32,
        key_count,
        reads_max: 1 + rng.below(2) as u32,
        appends_max: 1 + rng.below(2) as u32,
        overlap: rng.below(5),
        unknown_percent: 20,
        not_applied_percent: 5,
        compact_percent: 50,
    }
}

/// What is left of a history when only one key is looked at.
fn restrict(history: &History, key: u32) -> History {
    let mut single = history.clone();
    single.finals.retain(|&other, _| other == key);
    for op in &mut single.ops {
        op.reads.retain(|read| read.key == key);
        op.appends.retain(|&other| other == key);
    }
    single
}

#[cfg(test)]
mod tests {
    use super::super::history::{Op, Outcome};
    use super::*;

    #[test]
    fn a_wrong_verdict_is_counted_and_kept() {
        let mut report = SelfTestReport::default();
        let op = Op {
            id: 1,
            client: 0,
            invoke: 1,
            complete: Some(2),
            outcome: Outcome::Ok,
            reads: vec![],
            appends: vec![4],
        };
        let lost = History { ops: vec![op], finals: BTreeMap::new() };
        assert!(!report.compare(0, "yes-man", &lost, Ok(())));
        assert!(!report.compare(1, "check_serializable", &lost, check_serializable(&lost)));
        assert_eq!(report.disagreement_count, 1);
        assert_eq!(report.first_disagreement.as_ref().map(|first| first.judge), Some("yes-man"));
        assert!(report.to_string().contains("yes-man"));
    }

    #[test]
    fn the_same_seed_gives_the_same_counts() {
        let (a, b) = (self_test(500, 3), self_test(500, 3));
        assert_eq!(a.class_counts, b.class_counts);
        assert_ne!(a.class_counts, self_test(500, 4).class_counts);
    }
}
