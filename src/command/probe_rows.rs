//! `accordd probe-rows DIR`: opens and reads a row directory, in a process that may die of it.

use super::OK;
use crate::Error;
use std::path::PathBuf;

/// Options of `probe-rows`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Reads every row.
///
/// *Errors*: [`Error::Failed`] if one cannot be read.
pub fn run(args: &Args) -> Result<u8, Error> {
    journal::probe(&args.dir).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(OK)
}
