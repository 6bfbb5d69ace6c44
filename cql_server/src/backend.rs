//! The seam to the node: what this port needs of it.
//!
//! Used through `Rc<dyn Backend>` on one thread. Completions may be called at once, from within the call, or at any later turn of
//! the same thread; each exactly once. One that is dropped instead is answered as an unknown outcome.

use cql_txn::Schema;
use protocol::{Blob, Key, NodeId, TxnId, TxnKind};
use std::net::IpAddr;
use std::sync::Arc;

/// A transaction to coordinate.
#[derive(Clone, PartialEq, Debug)]
pub struct NewTxn {
    /// Read or write.
    pub kind: TxnKind,
    /// Whether it may go without a durable record: it reads one key and writes nothing.
    pub ephemeral_candidate: bool,
    /// All keys it touches, sorted, each once.
    pub keys: Vec<Key>,
    /// What to do, meaningful to the language.
    pub body: Blob,
    /// Whether the client asked how it went.
    pub wants_trace: bool,
}

/// Why a transaction was certainly not applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The node or its peers refuse new work for now.
    Overloaded,
    /// Recovery or a competing coordinator made sure that it never executes.
    Invalidated,
    /// Too few replicas of one of its keys are alive.
    Unavailable {
        /// Replicas needed.
        required: u32,
        /// Replicas believed alive.
        alive: u32,
    },
    /// The node is stopping.
    Stopping,
    /// The transaction breaks a rule of the node: too many keys, too large.
    Refused,
    /// A bug.
    Internal,
}

/// What became of a transaction.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// It executed; `result` is the language's, and may itself say "rejected".
    Applied {
        /// The result, to be read by `cql_txn::decode_result`.
        result: Blob,
        /// Its id.
        txn_id: TxnId,
        /// The way it took: fast, medium, slow, ephemeral or recovery.
        path: &'static str,
    },
    /// It did not and will not execute.
    NotApplied {
        /// Why.
        reason: Reason,
        /// The same in words, with what to do.
        text: String,
        /// Its id, if it got that far.
        txn_id: Option<TxnId>,
    },
    /// Nobody knows yet; it may still execute.
    Unknown {
        /// Its id, under which the outcome can be asked for later.
        txn_id: TxnId,
    },
}

/// A node as its clients see it.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeInfo {
    /// Its id.
    pub id: NodeId,
    /// Address of its client port, reachable by clients.
    pub address: IpAddr,
    /// Client port.
    pub port: u16,
    /// Peer port.
    pub peer_port: u16,
    /// Its places on the ring.
    pub tokens: Vec<i64>,
    /// Whether it is believed alive.
    pub is_up: bool,
    /// Version of the schema it last reported.
    pub schema_version: u64,
    /// Data centre.
    pub data_centre: String,
    /// Rack.
    pub rack: String,
}

/// A table of keyspace `accord`: what a node shows of itself, made when it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VirtualTable {
    /// All nodes, as this one sees them.
    Nodes,
    /// The command stores of this node.
    Stores,
    /// Transactions this node is at work on.
    Transactions,
    /// Who waits for whom.
    BlockedBy,
    /// The log.
    Journal,
    /// What is held in memory.
    Caches,
    /// The links to the other nodes.
    Peers,
    /// The configuration in force.
    Settings,
    /// Everything that is counted.
    Metrics,
}

/// A value of a virtual table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// A `text`.
    Text(String),
    /// An `int`.
    Int(i32),
    /// A `bigint`.
    Bigint(i64),
    /// A `boolean`.
    Boolean(bool),
}

/// A row of a virtual table, by column; a column left out is null.
pub type VirtualRow = Vec<(&'static str, Field)>;

/// The node behind this port.
pub trait Backend: 'static {
    /// The schema in force here, an immutable snapshot.
    fn schema(&self) -> Arc<Schema>;

    /// Coordinates `txn` and calls `answer` once.
    fn submit(&self, txn: NewTxn, answer: Box<dyn FnOnce(Answer)>);

    /// Calls `agreed` once all live nodes have the schema of `version` or a later one. The port keeps the deadline.
    fn when_schema_agreed(&self, version: u64, agreed: Box<dyn FnOnce()>);

    /// All nodes, this one included.
    fn nodes(&self) -> Vec<NodeInfo>;

    /// This node.
    fn local_node(&self) -> NodeId;

    /// Name of the cluster.
    fn cluster_name(&self) -> String;

    /// Calls `answer` once with all rows of `table`; a node that shows nothing of itself has none.
    fn look(&self, table: VirtualTable, answer: Box<dyn FnOnce(Vec<VirtualRow>)>) {
        let _ = table;
        answer(Vec::new());
    }
}
