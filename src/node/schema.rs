//! The schema in force at this node, and when the others have it too.
//!
//! A DDL statement is a transaction on the schema key, which every node stores. It is agreed on once this node has its version and
//! every peer that is connected has said, in its answer to Apply, that the outcome is stored there: the answers pass through here.

use arc_swap::ArcSwap;
use cql_server::PortHandle;
use cql_txn::{Schema, schema_key};
use protocol::message::{ApplyOutcome, Reply, ReplyVerb, Request, Verb};
use protocol::{Key, NodeId, NodeSet, TxnId};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{error, info};

/// Statements whose outcome is on its way; the oldest are given up beyond it.
const PENDING_MAX: usize = 64;

/// Looks after which a peer that stays silent is not waited for any more: it learns the outcome from its own progress log.
const LOOKS_MAX: u32 = 200;

struct Waiter {
    version: u64,
    agreed: Box<dyn FnOnce()>,
}

/// An outcome on its way.
struct Pending {
    /// Peers that have not yet said that they store it.
    silent: NodeSet,
    /// How often this was looked at.
    looks: u32,
}

/// Snapshot, statements on their way, and clients that wait for them.
pub(crate) struct SchemaBoard {
    key: Key,
    node: NodeId,
    current: Arc<ArcSwap<Schema>>,
    port: OnceCell<PortHandle>,
    pending: RefCell<BTreeMap<TxnId, Pending>>,
    waiters: RefCell<Vec<Waiter>>,
}

impl SchemaBoard {
    /// With the schema as stored, or that of a new cluster.
    ///
    /// *Errors*: stored bytes that are no schema of this build.
    pub(crate) fn new(node: NodeId, largest_group: u8, stored: Option<&[u8]>) -> Result<Self, cql_txn::Error> {
        let schema = stored.map_or_else(|| Ok(Schema::new(largest_group)), Schema::decode)?;
        Ok(Self {
            key: schema_key(largest_group),
            node,
            current: Arc::new(ArcSwap::from_pointee(schema)),
            port: OnceCell::new(),
            pending: RefCell::default(),
            waiters: RefCell::default(),
        })
    }

    /// The key under which it is stored.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn current(&self) -> Arc<Schema> {
        self.current.load_full()
    }

    /// From now on clients are told of changes.
    pub(crate) fn open(&self, port: PortHandle) {
        let _ = self.port.set(port);
    }

    /// The schema key was written at this node.
    pub(crate) fn written(&self, rows: &[u8]) {
        let schema = match Schema::decode(rows) {
            Ok(schema) => schema,
            // a newer build wrote it: statements go on with what is known here
            Err(error) => return error!("the schema that was stored cannot be read: {error}; start a newer accordd"),
        };
        if schema.version <= self.current().version {
            return;
        }
        info!(version = schema.version, "new schema");
        self.current.store(Arc::new(schema));
        if let Some(port) = self.port.get() {
            port.schema_changed();
        }
    }

    /// A request of this node's coordinator leaves.
    pub(crate) fn on_request(&self, to: &NodeSet, request: &Request) {
        if matches!(request.verb, Verb::Apply(_)) && request.scope.keys() == [self.key.clone()] {
            let mut pending = self.pending.borrow_mut();
            let silent = || to.iter().filter(|node| *node != self.node).collect();
            pending.entry(request.txn_id).or_insert_with(|| Pending { silent: silent(), looks: 0 });
            if pending.len() > PENDING_MAX {
                pending.pop_first();
            }
        }
    }

    /// An answer for this node's coordinator arrives.
    pub(crate) fn on_reply(&self, from: NodeId, reply: &Reply) {
        let ReplyVerb::ApplyReply(apply) = &reply.verb else { return };
        let mut pending = self.pending.borrow_mut();
        if let Some(outcome) = pending.get_mut(&reply.txn_id)
            && apply.outcome != ApplyOutcome::Insufficient
        {
            outcome.silent.remove(from);
        }
    }

    /// Calls `agreed` from [`SchemaBoard::settle`] once all live nodes have `version`.
    pub(crate) fn when_agreed(&self, version: u64, agreed: Box<dyn FnOnce()>) {
        self.waiters.borrow_mut().push(Waiter { version, agreed });
    }

    /// Answers those whose version is everywhere; `is_live` tells which peers count. To be called every now and then.
    pub(crate) fn settle(&self, is_live: impl Fn(NodeId) -> bool) {
        let mut pending = self.pending.borrow_mut();
        pending.retain(|_, outcome| {
            outcome.looks += 1;
            outcome.silent = outcome.silent.iter().filter(|node| is_live(*node)).collect();
            !outcome.silent.is_empty() && outcome.looks < LOOKS_MAX
        });
        if !pending.is_empty() {
            return;
        }
        drop(pending);
        let version = self.current().version;
        let (ready, rest): (Vec<Waiter>, Vec<Waiter>) =
            self.waiters.take().into_iter().partition(|waiter| waiter.version <= version);
        *self.waiters.borrow_mut() = rest;
        for waiter in ready {
            (waiter.agreed)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::message::{Apply, ApplyReply};
    use protocol::{Ballot, Deps, Epoch, Hlc, Outcome, Participants, Scope, Timestamp, TxnShape};
    use std::cell::Cell;
    use std::rc::Rc;

    fn board() -> SchemaBoard {
        SchemaBoard::new(NodeId(1), 3, None).expect("new")
    }

    fn id() -> TxnId {
        TxnId::new(Epoch(1), Hlc(5), NodeId(1), TxnShape::default())
    }

    fn apply(board: &SchemaBoard) -> Request {
        let apply = Apply {
            ballot: Ballot::ZERO,
            execute_at: Timestamp::NONE,
            deps: Deps::NONE,
            outcome: Outcome::default(),
            txn: None,
        };
        let scope = Scope::Part(Participants::of_keys(vec![board.key().clone()]));
        Request { txn_id: id(), scope, verb: Verb::Apply(apply) }
    }

    fn schema_of(version: u64) -> Vec<u8> {
        let mut schema = Schema::new(3);
        schema.version = version;
        schema.encode()
    }

    #[test]
    fn a_version_is_agreed_once_stored_here_and_at_every_connected_peer() {
        let board = board();
        let to = [1, 2, 3].into_iter().map(NodeId).collect();
        board.on_request(&to, &apply(&board));
        let agreed = Rc::new(Cell::new(false));
        let told = Rc::clone(&agreed);
        board.when_agreed(1, Box::new(move || told.set(true)));
        let is_live = |node: NodeId| node != NodeId(3);
        board.written(&schema_of(1));
        board.settle(is_live);
        assert!(!agreed.get(), "node 2 has not answered");
        let reply = |outcome| {
            let verb = ReplyVerb::ApplyReply(ApplyReply { outcome, race: false });
            Reply { txn_id: id(), ballot: Ballot::ZERO, verb }
        };
        board.on_reply(NodeId(2), &reply(ApplyOutcome::Insufficient));
        board.settle(is_live);
        assert!(!agreed.get(), "node 2 lacks something");
        board.on_reply(NodeId(2), &reply(ApplyOutcome::Applied));
        board.settle(is_live);
        assert!(agreed.get() && board.waiters.borrow().is_empty());
    }

    #[test]
    fn a_waiter_for_a_later_version_waits_on() {
        let board = board();
        board.when_agreed(2, Box::new(|| panic!("told too early")));
        board.written(&schema_of(1));
        board.settle(|_| true);
        assert_eq!(board.waiters.borrow().len(), 1);
    }

    #[test]
    fn an_older_schema_never_replaces_a_newer_one() {
        let board = board();
        board.written(&schema_of(4));
        board.written(&schema_of(3));
        board.written(b"garbage");
        assert_eq!(board.current().version, 4);
    }
}
