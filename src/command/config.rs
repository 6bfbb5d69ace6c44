//! `accordd config`: every key, its default and what it means.

use super::{OK, say};
use crate::Error;
use crate::config::{Config, reference_text};
use std::path::PathBuf;

/// Options of `config`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Print what this file comes to, defaults included, instead of the reference.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Prints the reference, or a file with its defaults filled in.
///
/// *Errors*: a file that is refused.
pub fn run(args: &Args) -> Result<u8, Error> {
    match &args.file {
        Some(file) => say(&Config::read(file)?.to_text()),
        None => say(&reference_text()),
    }
    Ok(OK)
}
