/// Why the shell ended before its input did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A word of the command line must be changed.
    #[error("cql: {0}")]
    Usage(String),
    /// The cluster, a file or the terminal did not play along; the text says what and where.
    #[error("cql: {0}")]
    Failed(String),
}
