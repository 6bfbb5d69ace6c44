use std::io;

/// Why a listener or an endpoint could not be set up.
///
/// Failures of single connections are not here: they are logged, counted and tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot listen on peer address {address}: {source}")]
    Bind { address: String, source: io::Error },
    #[error("[peer_port] {0}")]
    Settings(String),
    #[error("node {0} is not in the key ring; add its identity record to the configuration")]
    UnknownPeer(u32),
}
