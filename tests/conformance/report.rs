//! What came out: figures, failures and doubtful cases that were decided otherwise.

use std::io::{self, Write};
use std::time::Instant;

/// A case that did not hold.
#[derive(Debug)]
struct Miss {
    name: String,
    what: String,
    why: String,
}

/// The outcome of all cases.
#[derive(Debug)]
pub(crate) struct Report {
    started: Instant,
    passed: usize,
    failed: Vec<Miss>,
    otherwise: Vec<Miss>,
    skipped: Vec<String>,
    left_out: usize,
}

impl Report {
    /// A report of no case yet; `missing` are files that could not be found.
    pub(crate) fn new(missing: Vec<String>) -> Self {
        let (failed, otherwise) = (Vec::new(), Vec::new());
        Self { started: Instant::now(), passed: 0, failed, otherwise, skipped: missing, left_out: 0 }
    }

    /// Takes the outcome of a case; a doubtful one is reported and does not count as failed.
    pub(crate) fn add(&mut self, name: &str, what: &str, is_doubtful: bool, outcome: Result<(), String>) {
        let Err(why) = outcome else {
            self.passed += 1;
            return;
        };
        let miss = Miss { name: name.to_owned(), what: what.to_owned(), why };
        if is_doubtful { self.otherwise.push(miss) } else { self.failed.push(miss) }
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
        for miss in &self.failed {
            out += &format!("FAILED {}: {}\n    {}\n", miss.name, miss.what, miss.why);
        }
        for miss in &self.otherwise {
            out += &format!("DOUBTFUL, decided otherwise {}: {}\n    {}\n", miss.name, miss.what, miss.why);
        }
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

    #[test]
    fn a_doubtful_case_is_listed_and_fails_nothing() {
        let mut report = Report::new(Vec::new());
        report.add("a", "w", true, Err("otherwise".into()));
        assert!(report.is_good());
        assert!(report.text().contains("decided otherwise a: w"));
        report.add("b", "w", false, Err("wrong".into()));
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
