//! Log lines to standard error; `RUST_LOG` says which.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging, once per process; `level` holds unless `RUST_LOG` says otherwise.
pub(crate) fn start(level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // a host that has a logger of its own, such as a test, keeps it
    let _ = lines.with_target(false).with_ansi(std::io::stderr().is_terminal()).try_init();
}
