//! The workload driver: loads a bank over the native protocol, runs transactions on it, measures, and checks that no money was
//! made or lost.
//!
//! [`run`] serves the command line; [`simplebank`] is the same for a program that keeps the books in memory.

use std::path::Path;
use std::sync::Arc;

mod args;
mod books;
mod error;
mod histogram;
mod host;
mod mix;
mod outcome;
mod pool;
mod progress;
mod random;
mod report;
mod report_text;
mod scramble;
pub mod simplebank;
mod ticker;
mod zipf;

pub use args::{
    Action, Args, CheckArgs, Format, InitArgs, MixMode, Pairing, RunArgs, SimplebankArgs, TargetArgs, Workload,
};
pub use error::Error;
pub use histogram::Summary;
pub use host::Host;
pub use mix::{Kind, Mix};
pub use outcome::{Failure, FailureClass};
pub use progress::{Progress, TextProgress, Tick, TickRow};
pub use report::{CheckLine, CheckReport, Cluster, InitReport, Report, RunReport, TypeReport, WorkloadInfo};
pub use simplebank::Ledger;
pub use ticker::SeriesPoint;
pub use zipf::Zipf;

/// Runs a command of the command line; must be called inside a tokio runtime.
///
/// *Errors*: those that leave nothing to report. Broken invariants and failed transactions are part of the report.
pub async fn run(args: &Args, progress: &mut dyn Progress) -> Result<Report, Error> {
    let Workload::Simplebank(bank) = &args.workload;
    match &bank.action {
        Action::Init(args) => {
            let report = simplebank::init(args, progress).await?;
            if let Some(path) = &args.target.ledger {
                args.target.ledger()?.save(path)?;
            }
            Ok(Report::Init(report))
        }
        Action::Run(args) => run_with_file(args, progress).await,
        Action::Check(args) => {
            let ledger = args.target.ledger.as_deref().map(Ledger::load).transpose()?.map(Arc::new);
            simplebank::check(args, ledger.as_ref(), progress).await.map(Report::Check)
        }
    }
}

/// A run whose books go on from those in the ledger file, if there is one, and are written back whatever becomes of it.
async fn run_with_file(args: &RunArgs, progress: &mut dyn Progress) -> Result<Report, Error> {
    let path = args.target.ledger.as_deref();
    let known = path.filter(|path| Path::exists(path)).map(Ledger::load).transpose()?;
    let ledger = Arc::new(match known {
        Some(ledger) => ledger,
        None => args.target.ledger()?,
    });
    let outcome = simplebank::run(args, &ledger, progress).await;
    if let Some(path) = path {
        ledger.save(path)?;
    }
    outcome.map(|report| Report::Run(Box::new(report)))
}

impl Args {
    /// How the result should be printed.
    pub fn format(&self) -> Format {
        let Workload::Simplebank(bank) = &self.workload;
        match &bank.action {
            Action::Init(args) => args.target.format,
            Action::Run(args) => args.target.format,
            Action::Check(args) => args.target.format,
        }
    }
}
