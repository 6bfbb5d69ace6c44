/// Why a command did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or flag must be changed first; the text names place, key and remedy.
    #[error("{0}")]
    Config(String),
    /// The machine, a peer or a file did not play along; the text says what, where and what to do.
    #[error("{0}")]
    Failed(String),
    /// The load driver has no report to show.
    #[error("workload: {0}")]
    Workload(#[from] workload::Error),
}

impl Error {
    /// 2 if the words of the user are at fault, else 1.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Workload(workload::Error::Usage(_)) => 2,
            Self::Failed(_) | Self::Workload(_) => 1,
        }
    }
}
