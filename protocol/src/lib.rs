//! The words and laws of Accord, and the seams between the rooms of this house.
//!
//! Pure: no clock, no randomness, no threads, no sockets, no hashing order. Everything that can be decided here is decided by value.
#![deny(missing_docs)]

mod bytes;
pub mod codec;
mod command;
mod deps;
mod effect;
mod hlc;
mod hooks;
mod id;
mod invariant;
mod key;
mod latest_deps;
mod machine;
pub mod message;
mod numbered;
mod outcome;
pub mod quorum;
mod route;
mod rows;
mod semantics;
mod status;
mod tell;
mod time;
mod timestamp;
mod topology;
mod txn;

pub use bytes::{Blob, Bytes};
pub use command::{Command, CommandDiff, Outcome};
pub use deps::{Dep, DepSet, Deps};
pub use effect::{Chase, Effect, Effects, Learned, Lsn, Note, Propagate, RecoveryBranch, Ticket};
pub use hlc::{NodeClock, RESERVATION};
pub use hooks::{Hooks, Mutant, NoHooks};
pub use id::{NodeId, RequestId, StoreId};
pub use key::{Key, Range, RoutingKey, TableId, Token, murmur3};
pub use latest_deps::{LatestAt, LatestDeps};
pub use machine::{Inbox, Machine};
pub use outcome::{ClientOutcome, NotApplied, Path};
pub use route::{Participants, Route, Scope};
pub use rows::RowStore;
pub use semantics::{Execution, Semantics};
pub use status::{DepsKnown, Durability, Phase, Status};
pub use tell::Tell;
pub use time::{Micros, Now};
pub use timestamp::{BadTimestamp, BadTxnId, Ballot, Epoch, Hlc, TIMESTAMP_BYTES, Timestamp, TxnId, TxnShape};
pub use topology::{BadTopology, GROUP_MAX, NodeSet, Shard, Topology, VotingGroup};
pub use txn::{Cardinality, Domain, FastPathKind, Txn, TxnKind};
