//! One coordinator, handed clients and replies by hand.

use coordinator::{Coordinator, CoordinatorConfig, CoordinatorInput};
use protocol::message::*;
use protocol::*;
use std::sync::Arc;

const WALL: u64 = 1_000_000;

/// Writes every key it is given data of.
struct WriteAll;

impl Semantics for WriteAll {
    fn read(&self, _: &Blob, _: &Key, _: Option<&[u8]>, _: Timestamp) -> Vec<u8> {
        Vec::new()
    }

    fn execute(&self, body: &Blob, _: TxnId, _: Timestamp, data: &[(Key, Bytes)]) -> Execution {
        Execution { writes: data.to_vec(), result: body.clone() }
    }

    fn apply(&self, _: &Key, _: Timestamp, write: &[u8], _: Option<&[u8]>) -> Option<Vec<u8>> {
        Some(write.to_vec())
    }
}

/// Numbers below 128 lie in the lower half of the ring.
pub(crate) fn key(number: u8) -> Key {
    Key::with_token(3, Token(i64::from(number) - 128), TableId(1), &[number])
}

/// A write begun by node 2.
pub(crate) fn id(hlc: u64) -> TxnId {
    let shape = TxnShape { kind: TxnKind::Write, medium_path: true, ..TxnShape::default() };
    TxnId::new(Epoch(1), Hlc(hlc), NodeId(2), shape)
}

pub(crate) fn ballot(hlc: u64) -> Ballot {
    Ballot::new(Epoch(1), Hlc(hlc), NodeId(3))
}

pub(crate) fn body() -> Blob {
    Blob { kind: 1, version: 1, bytes: Bytes::copy_of(b"body") }
}

pub(crate) fn set(ids: &[TxnId]) -> DepSet {
    DepSet::stable(ids.iter().copied())
}

/// Dependencies at the first key.
pub(crate) fn deps(ids: &[TxnId]) -> Deps {
    Deps::from_sets(vec![(key(1), set(ids))])
}

pub(crate) fn nodes(numbers: std::ops::RangeInclusive<u32>) -> NodeSet {
    numbers.map(NodeId).collect()
}

fn shard(start: Option<Token>, end: i64, nodes: NodeSet) -> Shard {
    Shard { range: Range { group: 3, start, end: Token(end) }, electorate: nodes.clone(), nodes }
}

/// What a turn did.
#[derive(Debug)]
pub(crate) struct Done(Vec<Effect>);

impl Done {
    pub(crate) fn nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// The requests sent, with their recipients.
    pub(crate) fn sent(&self) -> Vec<(&NodeSet, &Request)> {
        let request = |effect| match effect {
            &Effect::Send { ref to, message: Message::Request(ref request) } => Some((to, request)),
            _ => None,
        };
        self.0.iter().filter_map(request).collect()
    }

    /// The one verb sent.
    pub(crate) fn verb(&self) -> &Verb {
        let sent = self.sent();
        assert_eq!(sent.len(), 1, "{self:?}");
        &sent[0].1.verb
    }

    pub(crate) fn sends(&self, name: &str) -> bool {
        self.sent().iter().any(|(_, request)| request.verb.name() == name)
    }

    pub(crate) fn accept(&self) -> &Accept {
        match self.verb() {
            Verb::Accept(accept) => accept,
            other => panic!("a proposal, not {other:?}"),
        }
    }

    pub(crate) fn commit(&self) -> &Commit {
        match self.verb() {
            Verb::Commit(commit) => commit,
            other => panic!("a commit, not {other:?}"),
        }
    }

    pub(crate) fn stable(&self) -> &Stable {
        match self.verb() {
            Verb::Stable(stable) => stable,
            other => panic!("final dependencies, not {other:?}"),
        }
    }

    pub(crate) fn answer(&self) -> Option<&ClientOutcome> {
        self.0.iter().find_map(|effect| match effect {
            Effect::Answer { outcome, .. } => Some(outcome),
            _ => None,
        })
    }

    pub(crate) fn notes(&self, note: Note) -> bool {
        self.0.contains(&Effect::Note(note))
    }

    pub(crate) fn informed(&self) -> Option<&NodeSet> {
        self.0.iter().find_map(|effect| match effect {
            Effect::Send { to, message: Message::InformDurable(_) } => Some(to),
            _ => None,
        })
    }
}

/// Node 1, at work on one transaction.
pub(crate) struct Stage {
    coordinator: Coordinator<NoHooks>,
    hlc: NodeClock,
    mono: Micros,
    pub(crate) config: CoordinatorConfig,
    pub(crate) id: TxnId,
    pub(crate) ballot: Ballot,
}

impl Stage {
    fn on(shards: Vec<Shard>, tune: impl FnOnce(&mut CoordinatorConfig)) -> Self {
        let topology = Topology::of_shards(Epoch(1), shards).expect("shards over the ring");
        let mut config = CoordinatorConfig::new(NodeId(1), Arc::new(topology));
        tune(&mut config);
        let hlc = NodeClock::new(NodeId(1), Epoch(1), Hlc(0));
        hlc.reserved(Hlc(10 * WALL));
        let coordinator = Coordinator::new(config.clone(), Arc::new(WriteAll), NoHooks);
        Self { coordinator, hlc, mono: Micros(0), config, id: TxnId::NONE, ballot: Ballot::ZERO }
    }

    fn turn(&mut self, inbox: Vec<CoordinatorInput>) -> Done {
        let now = Now { mono: self.mono, wall: Micros(WALL) };
        let mut out = Effects::default();
        self.coordinator.turn(now, &self.hlc, inbox, &mut out);
        Done(out.drain().collect())
    }

    /// A client's write, PreAccept sent; one shard of `n` nodes.
    pub(crate) fn write(n: u32) -> Self {
        Self::write_tuned(n, |_| {})
    }

    pub(crate) fn write_tuned(n: u32, tune: impl FnOnce(&mut CoordinatorConfig)) -> Self {
        Self::on(vec![shard(None, i64::MAX, nodes(1..=n))], tune).begun(vec![key(1)])
    }

    /// A client's write of one key of nodes 1 to 3 and one of nodes 3 to 5.
    pub(crate) fn write_over_two_shards() -> Self {
        let shards = vec![shard(None, -1, nodes(1..=3)), shard(Some(Token(-1)), i64::MAX, nodes(3..=5))];
        Self::on(shards, |_| {}).begun(vec![key(1), key(200)])
    }

    fn begun(mut self, keys: Vec<Key>) -> Self {
        let begin = CoordinatorInput::Begin { request: RequestId(7), kind: TxnKind::Write, keys, body: body() };
        let done = self.turn(vec![begin]);
        assert_eq!(done.verb().name(), "PreAccept");
        self.id = done.sent()[0].1.txn_id;
        self
    }

    /// A recovery of another node's write, BeginRecovery sent to three nodes.
    pub(crate) fn recovery(id: TxnId, keys: Vec<Key>) -> Self {
        let one = vec![shard(None, i64::MAX, nodes(1..=3))];
        let mut stage = Self::on(one, |config| config.eager_recovery = true);
        let scope = Scope::Full(Route::of_keys(keys.clone(), &keys[0]));
        let chase = Chase { txn_id: id, scope, txn: Some(Txn { body: body() }), attempt: 1 };
        let done = stage.turn(vec![CoordinatorInput::Chase(chase)]);
        assert_eq!(done.verb().name(), "BeginRecovery");
        (stage.id, stage.ballot) = (id, done.verb().ballot());
        stage
    }

    pub(crate) fn at_id(&self) -> Timestamp {
        self.id.as_timestamp()
    }

    /// A time of another node, behind the id.
    pub(crate) fn later(&self, by: u64) -> Timestamp {
        Timestamp::new(Epoch(1), Hlc(self.id.hlc().0 + by), 0, NodeId(9))
    }

    pub(crate) fn reply(&mut self, from: u32, verb: ReplyVerb) -> Done {
        let reply = Reply { txn_id: self.id, ballot: self.ballot, verb };
        self.turn(vec![CoordinatorInput::Reply { from: NodeId(from), reply }])
    }

    /// Time goes on by `span`, and nothing else happens.
    pub(crate) fn wait(&mut self, span: Micros) -> Done {
        self.mono = self.mono + span;
        self.turn(Vec::new())
    }

    /// A vote for the id.
    pub(crate) fn vote(&mut self, from: u32, deps: Deps) -> Done {
        let at = self.at_id();
        self.vote_at(from, at, deps)
    }

    pub(crate) fn vote_at(&mut self, from: u32, witnessed_at: Timestamp, deps: Deps) -> Done {
        let ok = PreAcceptOk { witnessed_at, rejected: false, soft_reject: None, deps, deps_applied: false };
        self.reply(from, ReplyVerb::PreAcceptOk(ok))
    }

    pub(crate) fn refuse_to_start(&mut self, from: u32) -> Done {
        let witnessed_at = self.later(1);
        let ok = PreAcceptOk { witnessed_at, rejected: true, soft_reject: None, deps: Deps::NONE, deps_applied: false };
        self.reply(from, ReplyVerb::PreAcceptOk(ok))
    }

    pub(crate) fn unavailable(&mut self, from: u32) -> Done {
        self.reply(from, ReplyVerb::Unavailable(Unavailable { why: String::new() }))
    }

    pub(crate) fn proposal(&mut self, from: u32, outcome: AcceptOutcome, deps: Deps) -> Done {
        let promised = (outcome == AcceptOutcome::RejectedBallot).then(|| ballot(99));
        self.reply(from, ReplyVerb::AcceptReply(AcceptReply { outcome, promised, deps, committed_at: None }))
    }

    pub(crate) fn accepted(&mut self, from: u32) -> Done {
        self.proposal(from, AcceptOutcome::Success, Deps::NONE)
    }

    pub(crate) fn committed(&mut self, from: u32, outcome: CommitOutcome) -> Done {
        self.reply(from, ReplyVerb::CommitReply(CommitReply { outcome, promised: Ballot::ZERO }))
    }

    pub(crate) fn data(&mut self, from: u32, keys: &[Key]) -> Done {
        let data = keys.iter().map(|key| (key.clone(), Bytes::default())).collect();
        self.reply(from, ReplyVerb::ReadOk(ReadOk { data }))
    }

    pub(crate) fn applied(&mut self, from: u32, race: bool) -> Done {
        self.reply(from, ReplyVerb::ApplyReply(ApplyReply { outcome: ApplyOutcome::Applied, race }))
    }
}
