//! `accordd workload`: the load driver on the command line.

use super::say;
use crate::Error;
use workload::{Args, Format, Progress, TextProgress};

/// Runs one workload command and prints its report.
///
/// *Errors*: what left nothing to report; broken invariants are part of the report and of the exit code.
pub fn run(args: &Args) -> Result<u8, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Failed(format!("cannot start a runtime: {error}")))?;
    let mut ticks = TextProgress::new(std::io::stderr());
    let mut silent = ();
    let progress: &mut dyn Progress = match args.format() {
        Format::Text => &mut ticks,
        Format::Json => &mut silent,
    };
    let report = runtime.block_on(workload::run(args, progress))?;
    match args.format() {
        Format::Text => say(&report.text()),
        Format::Json => say(&format!("{}\n", report.json())),
    }
    Ok(report.exit_code())
}
