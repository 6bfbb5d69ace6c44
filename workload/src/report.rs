//! Results: what a command found, as values that print as text or JSON.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;

use crate::args::{MixMode, Pairing, RunArgs};
use crate::books::{Books, PATHS, TypeBook};
use crate::histogram::Summary;
use crate::host::{Host, rfc3339};
use crate::outcome::FailureClass;
use crate::ticker::{SeriesPoint, rate};

/// Version of the JSON form.
const SCHEMA: u32 = 1;

/// The result of any command.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Report {
    Init(InitReport),
    Run(Box<RunReport>),
    Check(CheckReport),
}

impl Report {
    /// 0 if all is well, 1 if more failed than allowed, 3 if an invariant was broken.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Init(_) => 0,
            Self::Run(report) if !report.checks.iter().all(|check| check.ok) => 3,
            Self::Run(report) => u8::from(report.totals.failed_percent > report.errors_max),
            Self::Check(report) => {
                if report.is_ok() {
                    0
                } else {
                    3
                }
            }
        }
    }

    /// The JSON form, one object.
    pub fn json(&self) -> String {
        // Plain structs with text keys: nothing in them can fail to be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// One invariant and how it fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckLine {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

impl CheckLine {
    pub(crate) fn new(name: &'static str, ok: bool, detail: String) -> Self {
        Self { name, ok, detail }
    }
}

/// What `init` did.
#[derive(Debug, Clone, Serialize)]
pub struct InitReport {
    pub keyspace: String,
    pub customers: u64,
    /// Rows read back, two per customer.
    pub rows_counted: u64,
    /// Inserts that ended without an answer and were sent again.
    pub unknown_inserts: u64,
    pub load_s: f64,
    pub total_s: f64,
}

/// What `check` found.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    pub keyspace: String,
    pub customers: u64,
    pub rows: u64,
    pub sum: i128,
    /// Passes over all rows until the result stood.
    pub passes: u32,
    pub checks: Vec<CheckLine>,
}

impl CheckReport {
    /// Whether every invariant holds.
    pub fn is_ok(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }
}

/// What `run` measured.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    pub schema: u32,
    pub tool: &'static str,
    pub version: &'static str,
    pub started_at: String,
    pub host: Host,
    pub cluster: Cluster,
    pub workload: WorkloadInfo,
    pub totals: TypeReport,
    /// The types of the mix, by name.
    pub by_type: BTreeMap<&'static str, TypeReport>,
    pub series: Vec<SeriesPoint>,
    pub checks: Vec<CheckLine>,
    pub notes: Vec<String>,
    /// Whether it ended before its time.
    pub stopped_early: bool,
    /// Failures tolerated, in percent.
    pub errors_max: f64,
}

/// The cluster as the client knows it.
#[derive(Debug, Clone, Serialize)]
pub struct Cluster {
    /// Contact points given.
    pub nodes: usize,
    pub contacts: Vec<String>,
    pub rf: u8,
    pub config_digest: Option<String>,
    pub durability: Option<String>,
}

/// What was run.
#[derive(Debug, Clone, Serialize)]
pub struct WorkloadInfo {
    pub name: &'static str,
    pub keyspace: String,
    pub mix: String,
    pub mix_mode: &'static str,
    pub pairing: &'static str,
    pub theta: f64,
    pub customers: u64,
    pub initial_balance: i64,
    pub scramble: bool,
    pub seed: u64,
    /// `closed`: each client sends its next request when the last was answered.
    pub arrival: &'static str,
    pub rate: Option<f64>,
    pub threads: u32,
    pub statements: &'static str,
    pub protocol: u8,
    pub trace_every: u64,
    pub warmup_s: f64,
    /// Time measured; throughput is successes inside it divided by it.
    pub duration_s: f64,
    pub cycles: Option<u64>,
}

/// Results of one type, or of all.
#[derive(Debug, Clone, Serialize)]
pub struct TypeReport {
    /// Transactions that began in the window.
    pub ops: u64,
    pub ok: u64,
    /// Successes per second, of those that also ended in the window.
    pub tps: f64,
    pub failures: BTreeMap<&'static str, u64>,
    /// Failures, of any class, that may have taken effect.
    pub unknown: u64,
    pub failed_percent: f64,
    /// Service time of successes.
    pub st: Summary,
    /// Response and waiting time; a closed loop has no schedule to be late against, so none.
    pub rt: Option<Summary>,
    pub wt: Option<Summary>,
    /// Service time of failures.
    pub failed_st: Summary,
    /// Paths of the transactions that were traced.
    pub paths: BTreeMap<&'static str, u64>,
}

impl TypeReport {
    fn new(book: &TypeBook, measured_s: f64) -> Self {
        let failures = FailureClass::ALL.iter().map(|class| (class.name(), book.failures[class.index()]));
        Self {
            ops: book.ok + book.failed(),
            ok: book.ok,
            tps: rate(book.ok_inside, measured_s),
            failures: failures.filter(|(_, count)| *count > 0).collect(),
            unknown: book.unknown,
            failed_percent: book.failed_percent(),
            st: book.service.summary(),
            rt: None,
            wt: None,
            failed_st: book.failed_service.summary(),
            paths: PATHS.into_iter().zip(book.paths).collect(),
        }
    }

    /// Transactions turned away by backlog control.
    pub fn rejected(&self) -> u64 {
        self.failures.get(FailureClass::Rejected.name()).copied().unwrap_or(0)
    }

    /// Failures that are neither rejections nor of unknown outcome.
    pub fn other_errors(&self) -> u64 {
        let failed: u64 = self.failures.values().sum();
        failed.saturating_sub(self.rejected() + self.unknown)
    }
}

impl RunReport {
    pub(crate) fn new(
        args: &RunArgs,
        started_at: SystemTime,
        measured_s: f64,
        books: &Books,
        series: Vec<SeriesPoint>,
    ) -> Self {
        let kinds = args.mix().kinds().map(|kind| (kind.name(), kind.index())).collect::<Vec<_>>();
        let by_type =
            kinds.into_iter().map(|(name, at)| (name, TypeReport::new(&books.by_kind[at], measured_s))).collect();
        let contacts = args.target.contacts.clone();
        let cluster =
            Cluster { nodes: contacts.len(), contacts, rf: args.target.rf, config_digest: None, durability: None };
        Self {
            schema: SCHEMA,
            tool: "accordd workload",
            version: env!("CARGO_PKG_VERSION"),
            started_at: rfc3339(started_at),
            host: Host::read(),
            cluster,
            workload: WorkloadInfo::new(args, measured_s),
            totals: TypeReport::new(&books.total(), measured_s),
            by_type,
            series,
            checks: Vec::new(),
            notes: Vec::new(),
            stopped_early: false,
            errors_max: args.errors_max,
        }
    }
}

impl WorkloadInfo {
    fn new(args: &RunArgs, measured_s: f64) -> Self {
        let cycles = args.cycles.or(args.only_cycle.map(|_| 1));
        Self {
            name: "simplebank",
            keyspace: args.target.keyspace.clone(),
            mix: args.mix().to_string(),
            mix_mode: if args.mix_mode == MixMode::Deck { "deck" } else { "random" },
            pairing: if args.pairing == Pairing::Closed { "closed" } else { "open" },
            theta: args.theta,
            customers: args.target.customers,
            initial_balance: args.target.initial_balance,
            scramble: args.scramble,
            seed: args.seed,
            arrival: "closed",
            rate: None,
            threads: args.clients,
            statements: if args.literals { "literals" } else { "prepared" },
            protocol: args.target.protocol,
            trace_every: args.trace_every,
            warmup_s: if cycles.is_some() { 0.0 } else { args.warmup.as_secs_f64() },
            duration_s: measured_s,
            cycles,
        }
    }
}
