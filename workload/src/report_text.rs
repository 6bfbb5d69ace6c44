//! Reports as text for people.

use std::fmt::Write;

use crate::books::percent;
use crate::report::{CheckLine, InitReport, Report, RunReport, TypeReport};

const HEADING: &str =
    "_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total";

impl Report {
    /// The text form, several lines, ending in a line break.
    pub fn text(&self) -> String {
        match self {
            Self::Init(report) => init_text(report),
            Self::Run(report) => run_text(report),
            Self::Check(report) => {
                let head = format!(
                    "bank {}: {} customers, {} rows, sum {}, passes {}\n",
                    report.keyspace, report.customers, report.rows, report.sum, report.passes
                );
                head + &check_lines(&report.checks)
            }
        }
    }
}

fn init_text(report: &InitReport) -> String {
    let InitReport { keyspace, customers, rows_counted, unknown_inserts, load_s, total_s } = report;
    let mut text = format!(
        "bank {keyspace}: {customers} customers, {rows_counted} rows counted; loaded in {load_s:.1} s, {total_s:.1} s in all\n"
    );
    if *unknown_inserts > 0 {
        text += &format!(
            "warning: {unknown_inserts} inserts ended without an answer and were sent again; should the first one settle \
             late, it resets a balance. If `check` fails, drop the keyspace and run init again.\n"
        );
    }
    text
}

fn run_text(report: &RunReport) -> String {
    let elapsed_s = report.workload.duration_s;
    let mut text = format!("{HEADING}\n");
    for (name, result) in &report.by_type {
        text += &result_line(elapsed_s, name, result);
    }
    if report.by_type.len() != 1 {
        text += &result_line(elapsed_s, "total", &report.totals);
    }
    text + "\n" + &closing_block(report) + &check_lines(&report.checks)
}

fn result_line(elapsed_s: f64, name: &str, result: &TypeReport) -> String {
    let st = &result.st;
    format!(
        "{elapsed_s:7.1}s {:8} {:14} {:14.1} {:8.1} {:8.1} {:8.1} {:8.1} {:8.1}  {name}\n",
        result.ops - result.ok,
        result.ok,
        result.tps,
        st.mean,
        st.p50,
        st.p95,
        st.p99,
        st.max,
    )
}

fn closing_block(report: &RunReport) -> String {
    let (totals, workload) = (&report.totals, &report.workload);
    let mut lines = vec![
        format!(
            "throughput: {:.1} successes/s over {:.1} s, closed loop of {} clients; latency is service time of successes",
            totals.tps, workload.duration_s, workload.threads
        ),
        format!(
            "outcomes: {} ok, {} rejected, {} unknown, {} other errors ({:.3} % failed)",
            totals.ok,
            totals.rejected(),
            totals.unknown,
            totals.other_errors(),
            totals.failed_percent
        ),
        format!(
            "failures by class: {}",
            shares(totals.failures.iter().map(|(name, count)| (*name, *count)), totals.ops)
        ),
        format!(
            "paths of the traced: {}",
            shares(totals.paths.iter().map(|(name, count)| (*name, *count)), totals.paths.values().sum())
        ),
        format!(
            "workload: simplebank {}, theta {}, {} customers{}, pairing {}, {} statements, protocol v{}, seed {}",
            workload.mix,
            workload.theta,
            workload.customers,
            if workload.scramble { " scrambled" } else { "" },
            workload.pairing,
            workload.statements,
            workload.protocol,
            workload.seed
        ),
    ];
    if report.stopped_early {
        lines.push("stopped early: the figures are of what ran".to_owned());
    }
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n") + "\n"
}

fn shares<'a>(counts: impl Iterator<Item = (&'a str, u64)>, whole: u64) -> String {
    let parts: Vec<_> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count} ({:.2} %)", percent(count, whole)))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn check_lines(checks: &[CheckLine]) -> String {
    checks.iter().fold(String::new(), |mut text, check| {
        let verdict = if check.ok { "ok    " } else { "BROKEN" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "check {verdict} {}: {}", check.name, check.detail);
        text
    })
}
