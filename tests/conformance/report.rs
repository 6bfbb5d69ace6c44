//! What came out: figures, failures and doubtful cases that were decided otherwise.

use super::compare::Miss;
use super::format::Case;
use std::io::{self, Write};
use std::time::Instant;

/// The outcome of all cases.
#[derive(Debug)]
pub(crate) struct Report {
    started: Instant,
    passed: usize,
    failed: Vec<String>,
    otherwise: Vec<String>,
    skipped: Vec<String>,
    left_out: usize,
}

impl Report {
    /// A report of no case yet; `missing` are files that could not be found.
    pub(crate) fn new(missing: Vec<String>) -> Self {
        let (failed, otherwise) = (Vec::new(), Vec::new());
        Self { started: Instant::now(), passed: 0, failed, otherwise, skipped: missing, left_out: 0 }
    }

    /// Takes the outcome of a case; a doubtful one that was decided otherwise is reported and does not count as failed.
    pub(crate) fn add(&mut self, case: &Case, outcome: Result<(), Miss>) {
        let text = |why: &str| format!("{}: {}\n    {why}\n", case.name, case.what);
        match outcome {
            Ok(()) => self.passed += 1,
            Err(Miss::Otherwise(why)) if case.doubtful => self.otherwise.push(text(&why)),
            Err(Miss::Otherwise(why)) => self.failed.push(text(&why)),
            Err(Miss::NoVerdict(why)) => self.failed.push(text(&format!("no verdict: {why}"))),
        }
    }

    /// Takes note of a file that cannot be used.
    pub(crate) fn add_broken(&mut self, file: &str, problem: &str) {
        self.failed.push(format!("{file}\n    {problem}\n"));
    }

    /// Takes note of something that does not run, and why.
    pub(crate) fn skip(&mut self, reason: String) {
        self.skipped.push(reason);
    }

    /// Takes note of a case that was not asked for.
    pub(crate) fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// Whether some case ran and none failed that is beyond doubt.
    pub(crate) fn is_good(&self) -> bool {
        self.failed.is_empty() && self.passed + self.otherwise.len() > 0
    }

    /// Writes everything past the capture of the test program: the figures are worth seeing when all is well, too.
    pub(crate) fn print(&self) {
        // nobody may be reading any more
        let _ = io::stdout().lock().write_all(self.text().as_bytes());
    }

    fn text(&self) -> String {
        let mut out = String::from("\n");
        self.failed.iter().for_each(|miss| out += &format!("FAILED {miss}"));
        self.otherwise.iter().for_each(|miss| out += &format!("DOUBTFUL, decided otherwise {miss}"));
        for reason in &self.skipped {
            out += &format!("SKIPPED {reason}\n");
        }
        if self.left_out > 0 {
            out += &format!("SKIPPED {} cases that CONFORMANCE_CASE does not name\n", self.left_out);
        }
        out += &format!(
            "conformance: {} passed, {} failed, {} doubtful decided otherwise, {} skipped, in {:.1} s\n",
            self.passed,
            self.failed.len(),
            self.otherwise.len(),
            self.skipped.len() + self.left_out,
            self.started.elapsed().as_secs_f64(),
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(is_doubtful: bool) -> Case {
        let text = format!("name = \"a\"\nwhat = \"w\"\nrun = []\ndoubtful = {is_doubtful}");
        toml::from_str(&text).expect("a case")
    }

    #[test]
    fn a_doubtful_case_is_listed_and_fails_nothing() {
        let mut report = Report::new(Vec::new());
        report.add(&case(true), Err(Miss::Otherwise("so".into())));
        assert!(report.is_good());
        assert!(report.text().contains("decided otherwise a: w\n    so"));
        report.add(&case(false), Err(Miss::Otherwise("wrong".into())));
        assert!(!report.is_good());
    }

    #[test]
    fn a_doubtful_case_without_verdict_fails() {
        let mut report = Report::new(Vec::new());
        report.add(&case(true), Err(Miss::NoVerdict("not yet".into())));
        assert!(!report.is_good());
    }

    #[test]
    fn no_case_at_all_is_no_success() {
        let mut report = Report::new(vec!["a file".into()]);
        report.leave_out();
        assert!(!report.is_good());
        assert!(report.text().contains("0 passed, 0 failed, 0 doubtful decided otherwise, 2 skipped"));
    }
}
