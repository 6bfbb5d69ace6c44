//! One store of one replica, handed requests by hand.

use command_store::{CommandStore, ProgressConfig, Slices, StoreConfig, StoreInput};
use protocol::message::*;
use protocol::*;
use std::sync::Arc;

/// What the wall clock of the replica says.
const WALL: u64 = 10_000;
/// A PreAccept this old is refused.
const PRE_ACCEPT_TIMEOUT: u64 = 5_000;

/// Reads nothing, and writes what it is told to.
struct Plain;

impl Semantics for Plain {
    fn read(&self, _: &Blob, _: &Key, rows: Option<&[u8]>, _: Timestamp) -> Vec<u8> {
        rows.unwrap_or_default().to_vec()
    }

    fn execute(&self, _: &Blob, _: TxnId, _: Timestamp, _: &[(Key, Bytes)]) -> Execution {
        Execution::default()
    }

    fn apply(&self, _: &Key, _: Timestamp, write: &[u8], _: Option<&[u8]>) -> Option<Vec<u8>> {
        Some(write.to_vec())
    }
}

pub(crate) fn key(number: u8) -> Key {
    Key::with_token(3, Token(i64::from(number)), TableId(1), &[number])
}

/// A write begun by node 2.
pub(crate) fn id(hlc: u64) -> TxnId {
    shaped(hlc, TxnShape { kind: TxnKind::Write, medium_path: true, ..TxnShape::default() })
}

pub(crate) fn shaped(hlc: u64, shape: TxnShape) -> TxnId {
    TxnId::new(Epoch(1), Hlc(hlc), NodeId(2), shape)
}

/// A write that is already too old to start.
pub(crate) fn expired() -> TxnId {
    id(WALL - PRE_ACCEPT_TIMEOUT)
}

pub(crate) fn time(hlc: u64) -> Timestamp {
    Timestamp::new(Epoch(1), Hlc(hlc), 0, NodeId(3))
}

pub(crate) fn ballot(hlc: u64) -> Ballot {
    Ballot::new(Epoch(1), Hlc(hlc), NodeId(3))
}

pub(crate) fn txn() -> Txn {
    Txn { body: Blob::default() }
}

/// The dependencies at the first key.
pub(crate) fn deps(ids: &[TxnId]) -> Deps {
    Deps::from_sets(vec![(key(1), DepSet::stable(ids.iter().copied()))])
}

pub(crate) fn pre_accept() -> Verb {
    Verb::PreAccept(PreAccept { txn: txn(), coordinator_vote: false, coordinator_deps: None })
}

pub(crate) fn accept(ballot: Ballot, execute_at: Timestamp, deps: Deps) -> Verb {
    Verb::Accept(Accept { kind: AcceptKind::Slow, ballot, execute_at, deps })
}

pub(crate) fn not_accept(ballot: Ballot) -> Verb {
    Verb::NotAccept(NotAccept { ballot })
}

pub(crate) fn commit(ballot: Ballot, execute_at: Timestamp, deps: Deps) -> Verb {
    Verb::Commit(Commit { ballot, execute_at, deps, txn: None })
}

/// With the definition; nobody is asked to read.
pub(crate) fn stable(kind: StableKind, ballot: Ballot, execute_at: Timestamp, deps: Deps) -> Verb {
    Verb::Stable(Stable { kind, ballot, execute_at, deps, txn: Some(txn()), readers: NodeSet::new() })
}

pub(crate) fn apply(ballot: Ballot, execute_at: Timestamp, deps: Deps) -> Verb {
    Verb::Apply(Apply { ballot, execute_at, deps, outcome: Outcome::default(), txn: Some(txn()) })
}

pub(crate) fn recover(ballot: Ballot) -> Verb {
    Verb::BeginRecovery(BeginRecovery { ballot, txn: txn() })
}

pub(crate) fn invalidate(ballot: Ballot) -> Verb {
    Verb::BeginInvalidation(BeginInvalidation { ballot })
}

pub(crate) fn commit_invalidate() -> Verb {
    Verb::CommitInvalidate(CommitInvalidate {})
}

/// Node 1 of three.
pub(crate) struct Replica {
    pub(crate) store: CommandStore<NoHooks>,
    hlc: NodeClock,
}

impl Replica {
    pub(crate) fn new() -> Self {
        let nodes: NodeSet = [1, 2, 3].into_iter().map(NodeId).collect();
        let range = Range { group: 3, start: None, end: Token(i64::MAX) };
        let shard = Shard { range, electorate: nodes.clone(), nodes };
        let config = StoreConfig {
            node: NodeId(1),
            store: StoreId(0),
            slices: Slices::new(1),
            topology: Arc::new(Topology::of_shards(Epoch(1), vec![shard]).expect("one shard over the ring")),
            pre_accept_timeout: Micros(PRE_ACCEPT_TIMEOUT),
            max_clock_skew: Micros(PRE_ACCEPT_TIMEOUT),
            elide: true,
            evict: false,
            progress: ProgressConfig::default(),
        };
        let hlc = NodeClock::new(NodeId(1), Epoch(1), Hlc(0));
        Self { store: CommandStore::new(config, Arc::new(Plain), NoHooks), hlc }
    }

    /// The effects of one request about the first key.
    pub(crate) fn effects(&mut self, id: TxnId, verb: Verb) -> Vec<Effect> {
        self.effects_over(id, Scope::Full(Route::of_keys(vec![key(1)], &key(1))), verb)
    }

    pub(crate) fn effects_over(&mut self, id: TxnId, scope: Scope, verb: Verb) -> Vec<Effect> {
        let request = Request { txn_id: id, scope, verb };
        let input = StoreInput::Request { from: NodeId(2), ticket: Ticket(0), request };
        let mut out = Effects::after(self.store.appended());
        let now = Now { mono: Micros(WALL), wall: Micros(WALL) };
        self.store.turn(now, &self.hlc, vec![input], &mut out);
        out.drain().collect()
    }

    /// The one answer to a request about the first key.
    pub(crate) fn ask(&mut self, id: TxnId, verb: Verb) -> ReplyVerb {
        let effects = self.effects(id, verb);
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Fatal { .. })), "{effects:?}");
        let mut replies = effects.into_iter().filter_map(|effect| match effect {
            Effect::Reply { reply, .. } => Some(reply.verb),
            _ => None,
        });
        let reply = replies.next().expect("an answer");
        assert_eq!(replies.next(), None, "one answer only");
        reply
    }

    /// Whether a request is a contradiction that stops the node.
    pub(crate) fn is_fatal(&mut self, id: TxnId, verb: Verb) -> bool {
        self.effects(id, verb).iter().any(|effect| matches!(effect, Effect::Fatal { .. }))
    }

    pub(crate) fn command(&self, id: TxnId) -> Command {
        self.store.command(id).cloned().unwrap_or_default()
    }

    pub(crate) fn status(&self, id: TxnId) -> Status {
        self.command(id).status()
    }

    pub(crate) fn vote(&mut self, id: TxnId) -> PreAcceptOk {
        match self.ask(id, pre_accept()) {
            ReplyVerb::PreAcceptOk(ok) => ok,
            other => panic!("a vote, not {other:?}"),
        }
    }

    pub(crate) fn testimony(&mut self, id: TxnId, ballot: Ballot) -> RecoverOk {
        match self.ask(id, recover(ballot)) {
            ReplyVerb::RecoverOk(ok) => ok,
            other => panic!("a promise, not {other:?}"),
        }
    }

    pub(crate) fn proposal(&mut self, id: TxnId, verb: Verb) -> AcceptReply {
        match self.ask(id, verb) {
            ReplyVerb::AcceptReply(reply) => reply,
            other => panic!("an answer to a proposal, not {other:?}"),
        }
    }

    pub(crate) fn committed(&mut self, id: TxnId, verb: Verb) -> CommitOutcome {
        match self.ask(id, verb) {
            ReplyVerb::CommitReply(reply) => reply.outcome,
            ReplyVerb::StableReply(reply) => reply.outcome,
            other => panic!("an answer to a decision, not {other:?}"),
        }
    }

    pub(crate) fn applied(&mut self, id: TxnId, verb: Verb) -> ApplyReply {
        match self.ask(id, verb) {
            ReplyVerb::ApplyReply(reply) => reply,
            other => panic!("an answer to an outcome, not {other:?}"),
        }
    }
}
