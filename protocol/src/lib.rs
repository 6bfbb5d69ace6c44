//! The words and laws of Accord, and the seams between the rooms of this house.
//!
//! Pure: no clock, no randomness, no threads, no sockets, no hashing order. Everything that can be decided here is decided by value.
#![deny(missing_docs)]

mod bytes;
mod id;
mod key;
mod semantics;
mod timestamp;
mod txn;

pub use bytes::{Blob, Bytes};
pub use id::{NodeId, RequestId, StoreId};
pub use key::{Key, Range, RoutingKey, TableId, Token, murmur3};
pub use semantics::{Execution, Semantics};
pub use timestamp::{BadTimestamp, BadTxnId, Ballot, Epoch, Hlc, TIMESTAMP_BYTES, Timestamp, TxnId, TxnShape};
pub use txn::{Cardinality, Domain, FastPathKind, Txn, TxnKind};
