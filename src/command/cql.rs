//! `accordd cql`: the shell on the command line.

use crate::Error;

pub use cql_shell::Args;

/// Runs the shell until its input ends; 1 if a statement of a script failed.
///
/// *Errors*: a file that cannot be read, no node that answers.
pub fn run(args: &Args) -> Result<u8, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Failed(format!("cannot start a runtime: {error}")))?;
    runtime.block_on(cql_shell::run(args)).map_err(|error| match error {
        cql_shell::Error::Usage(_) => Error::Config(error.to_string()),
        error => Error::Failed(error.to_string()),
    })
}
