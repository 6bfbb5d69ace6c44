//! The seam to the language: what may be asked of an opaque transaction body.

use crate::bytes::{Blob, Bytes};
use crate::key::Key;
use crate::timestamp::{Timestamp, TxnId};

/// What executing a transaction yields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Execution {
    /// One opaque write per written key, sorted by key, each key once.
    pub writes: Vec<(Key, Bytes)>,
    /// What the client is told; a refusal by the language ("rejected, because …") is a result with no writes.
    pub result: Blob,
}

/// The meaning of transaction bodies, write sets and rows, all opaque to the protocol.
///
/// Every method is a pure function of its arguments: recovery may run any of them again on another node, replay may run `apply`
/// again on rows that already hold the write, and both must come to the same bytes.
pub trait Semantics: Send + Sync + 'static {
    /// What `body` needs to see of `key`, whose partition currently holds `rows` (`None`: nothing stored), just before `at`.
    ///
    /// An empty answer means that nothing is read there.
    fn read(&self, body: &Blob, key: &Key, rows: Option<&[u8]>, at: Timestamp) -> Vec<u8>;

    /// Runs the transaction over the data read, sorted by key, one entry for each of its keys.
    fn execute(&self, body: &Blob, id: TxnId, at: Timestamp, data: &[(Key, Bytes)]) -> Execution;

    /// An execution that changes nothing and tells the client `why`; without content where a language has no words for it.
    fn refuse(&self, _why: &str) -> Execution {
        Execution::default()
    }

    /// The partition after the write of a transaction executing at `at`; `None` if nothing remains stored.
    ///
    /// Idempotent: applied again over its own outcome, or over the outcome of later writes, it changes nothing. Every cell carries
    /// the version (`at`, sub) with sub 0 for a deletion and 1 for an assignment.
    fn apply(&self, key: &Key, at: Timestamp, write: &[u8], rows: Option<&[u8]>) -> Option<Vec<u8>>;
}
