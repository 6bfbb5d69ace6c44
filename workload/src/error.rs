//! What ends a workload command without a report.

use std::path::PathBuf;

/// Everything this crate reports.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Options that make no sense together; the text says which and why.
    #[error("{0}")]
    Usage(String),
    /// No session with the cluster.
    #[error("cannot reach the cluster: {0}")]
    Connect(#[source] client::Error),
    /// A statement the workload cannot do without.
    #[error("{what}: {source}")]
    Statement { what: String, source: client::Error },
    /// The server refuses what the workload sends; more of it would not help.
    #[error("cycle {cycle} ({kind}): the server refuses the statement: {source}")]
    Refused { cycle: u64, kind: &'static str, source: client::Error },
    /// A customer without rows: money would vanish without an error.
    #[error("customer {id} has no {account} row; run `workload simplebank init` with the same --customers first")]
    MissingRow { id: u64, account: &'static str },
    /// An answer that is not what the statement returns.
    #[error("{what}: the answer has {got}")]
    Answer { what: String, got: String },
    /// The ledger file.
    #[error("ledger {}: {reason}", path.display())]
    Ledger { path: PathBuf, reason: String },
    /// A worker task ended without a result.
    #[error("a worker stopped: {0}")]
    Worker(String),
}
