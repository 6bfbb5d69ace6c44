//! The sub-commands of the binary, one file each. Each returns the exit code of the process.

pub mod check_config;
pub mod config;
pub mod cql;
pub mod demo;
pub mod keygen;
pub mod probe_rows;
pub mod serve;
pub mod sim;
pub mod status;
pub mod workload;

use std::io::Write;

/// All is well.
pub const OK: u8 = 0;
/// A failure was found, an invariant is broken, or something cannot start.
pub const FAILED: u8 = 1;

/// Writes to standard output; whoever closed it wants no more, and the result counts still.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
