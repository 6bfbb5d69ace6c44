//! All coordinations of one node, live and recovering, keyed by transaction and ballot.

mod answer;
mod await_conflicts;
mod execute;
mod inquire;
mod invalidate;
mod look;
mod persist;
mod pre_accept;
mod propose;
mod recover;
mod stabilise;
mod subject;

use await_conflicts::Awaiting;
use execute::Executing;
use inquire::Inquiring;
use invalidate::{Invalidating, NotAccepting};
use persist::{DurableTellings, Persisting};
use pre_accept::PreAccepting;
use propose::Proposing;
use recover::Recovering;
use stabilise::Stabilising;
use subject::Subject;

pub use look::{CoordinatorLook, UnderWay};

use protocol::message::{Message, Reply, ReplyVerb};
use protocol::{
    Ballot, Blob, Cardinality, Chase, ClientOutcome, Domain, Effect, Effects, Hooks, Inbox, Key, Machine, Micros,
    NodeClock, NodeId, NodeSet, NotApplied, Note, Now, RequestId, Route, Scope, Semantics, Topology, Txn, TxnId,
    TxnKind, TxnShape,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a node coordinates.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    /// The node.
    pub node: NodeId,
    /// Who replicates what.
    pub topology: Arc<Topology>,
    /// An elector that has not voted after this long is slow.
    pub slow_pre_accept: Micros,
    /// A reader that has not answered after this long is slow.
    pub slow_read: Micros,
    /// Everything unanswered is sent again after this long, with back-off.
    pub rpc_timeout: Micros,
    /// How often a round is sent at most.
    pub attempts_max: u32,
    /// A client is told Unknown after this long.
    pub client_deadline: Micros,
    /// New transactions beyond this many in flight are refused.
    pub in_flight_max: usize,
    /// Votes at the id may decide at once.
    pub fast_path: bool,
    /// Votes at the id may spare the Commit round.
    pub medium_path: bool,
    /// Stable goes to the readers only; the others learn with the outcome.
    pub thrifty_stable: bool,
    /// Recover even while somebody says he is at work on it, and every other time without asking; for simulations.
    pub eager_recovery: bool,
    /// Stored outcomes are told in batches, at most this much later.
    pub inform_delay: Micros,
    /// A vote for a time further in the future than this counts as failed: one fast clock must not drag the others along.
    pub max_clock_skew: Micros,
}

impl CoordinatorConfig {
    /// The defaults for `node` in `topology`.
    pub fn new(node: NodeId, topology: Arc<Topology>) -> Self {
        Self {
            node,
            topology,
            slow_pre_accept: Micros::from_millis(50),
            slow_read: Micros::from_millis(100),
            rpc_timeout: Micros::from_millis(500),
            attempts_max: 4,
            client_deadline: Micros::from_secs(10),
            in_flight_max: 4096,
            fast_path: true,
            medium_path: true,
            thrifty_stable: true,
            eager_recovery: false,
            inform_delay: Micros::from_millis(5),
            max_clock_skew: Micros::from_secs(10),
        }
    }
}

/// What the coordinator takes in.
#[derive(Clone, Debug)]
pub enum CoordinatorInput {
    /// A client's transaction.
    Begin {
        /// Comes back with the answer.
        request: RequestId,
        /// Read or write.
        kind: TxnKind,
        /// Everything it touches.
        keys: Vec<Key>,
        /// What it does.
        body: Blob,
    },
    /// An answer of a node, the own one included.
    Reply {
        /// Who answers.
        from: NodeId,
        /// The answer.
        reply: Reply,
    },
    /// A store of this node wants a transaction looked after.
    Chase(Chase),
}

/// The phase of a coordination, with what it has gathered.
#[derive(Debug)]
enum Phase {
    PreAccept(PreAccepting),
    Propose(Proposing),
    Stabilise(Stabilising),
    Execute(Executing),
    Persist(Persisting),
    NotAccept(NotAccepting),
    Recover(Recovering),
    Await(Awaiting),
    Invalidate(Invalidating),
    Inquire(Inquiring),
}

/// What a phase makes of an input.
enum Step {
    /// Goes on as it is.
    Stay(Phase),
    /// The next phase has begun.
    Enter(Phase),
    /// Nothing is left to do.
    End,
}

#[derive(Debug)]
struct Coordination {
    subject: Subject,
    phase: Phase,
    due: Micros,
}

type CoordinationId = (TxnId, Ballot);

/// A turn's clocks, effects and settings, as phases see them.
struct Env<'a, H> {
    now: Now,
    hlc: &'a NodeClock,
    out: &'a mut Effects,
    config: &'a CoordinatorConfig,
    semantics: &'a dyn Semantics,
    hooks: &'a H,
    durable: &'a mut DurableTellings,
}

impl<H> Env<'_, H> {
    fn send(&mut self, to: NodeSet, message: Message) {
        if !to.is_empty() {
            self.out.push(Effect::Send { to, message });
        }
    }

    fn note(&mut self, note: Note) {
        self.out.push(Effect::Note(note));
    }
}

/// The coordinations of one node.
pub struct Coordinator<H> {
    config: CoordinatorConfig,
    semantics: Arc<dyn Semantics>,
    hooks: H,
    coordinations: FxHashMap<CoordinationId, Coordination>,
    /// At most one coordination of a transaction runs at a node.
    by_txn: FxHashMap<TxnId, Ballot>,
    due: BTreeSet<(Micros, CoordinationId)>,
    /// Coordinations a client waits for; spreading an outcome counts no more.
    live_count: usize,
    durable: DurableTellings,
}

impl<H: Hooks> Coordinator<H> {
    /// No coordination yet.
    pub fn new(config: CoordinatorConfig, semantics: Arc<dyn Semantics>, hooks: H) -> Self {
        Self {
            config,
            semantics,
            hooks,
            coordinations: FxHashMap::default(),
            by_txn: FxHashMap::default(),
            due: BTreeSet::new(),
            live_count: 0,
            durable: DurableTellings::default(),
        }
    }

    /// How many coordinations run here.
    pub fn len(&self) -> usize {
        self.coordinations.len()
    }

    /// Whether none runs here.
    pub fn is_empty(&self) -> bool {
        self.coordinations.is_empty()
    }

    /// Whether `asker` may leave `id` to this node: somebody here is at work on it. Of two nodes that merely ask around, the lower
    /// goes on.
    pub fn is_coordinating(&self, id: TxnId, asker: NodeId) -> bool {
        let ballot = self.by_txn.get(&id);
        let coordination = ballot.and_then(|ballot| self.coordinations.get(&(id, *ballot)));
        coordination.is_some_and(|work| !matches!(work.phase, Phase::Inquire(_)) || self.config.node < asker)
    }

    /// The coordination of `id` at `ballot` dies without a trace, as with its node; for simulations.
    pub fn kill(&mut self, id: TxnId, ballot: Ballot) {
        self.remove((id, ballot));
    }

    fn begin(
        &mut self,
        turn: (Now, &NodeClock),
        out: &mut Effects,
        request: RequestId,
        kind: TxnKind,
        keys: Vec<Key>,
        body: Blob,
    ) {
        let refuse = |out: &mut Effects, why| {
            out.push(Effect::Answer { request, txn_id: None, outcome: ClientOutcome::NotApplied(why) });
        };
        if self.live_count >= self.config.in_flight_max {
            return refuse(out, NotApplied::Overloaded);
        }
        let is_placed = |key: &Key| self.config.topology.shard_of(key.routing).is_some();
        if keys.is_empty() || !keys.iter().all(is_placed) {
            return refuse(out, NotApplied::Misplaced);
        }
        let shape = TxnShape {
            domain: Domain::Key,
            kind,
            cardinality: if keys.len() == 1 { Cardinality::One } else { Cardinality::Any },
            medium_path: self.config.medium_path,
            ..TxnShape::default()
        };
        let Some(id) = turn.1.txn_id(turn.0, shape) else { return refuse(out, NotApplied::Overloaded) };
        let home = self.home(id, &keys);
        let route = Route::of_keys(keys, &home);
        let deadline = turn.0.mono + self.config.client_deadline;
        let subject = Subject::live(id, route, Txn { body }, &self.config.topology, request, deadline);
        self.live_count += 1;
        self.open(turn, out, subject, |subject, env| Phase::PreAccept(PreAccepting::start(subject, env)));
    }

    /// A key this node replicates, if there is one: its own progress log watches best.
    fn home(&self, id: TxnId, keys: &[Key]) -> Key {
        let own: Vec<&Key> = keys.iter().filter(|key| self.config.topology.replicates(self.config.node, key)).collect();
        let candidates = if own.is_empty() { keys.iter().collect() } else { own };
        candidates[(id.hlc().0 % candidates.len() as u64) as usize].clone()
    }

    fn chase(&mut self, turn: (Now, &NodeClock), out: &mut Effects, chase: Chase) {
        if self.by_txn.contains_key(&chase.txn_id) {
            return;
        }
        let Some(ballot) = turn.1.ballot(turn.0, Ballot::ZERO) else { return };
        let mut subject = Subject::seeking(chase.txn_id, ballot, chase.scope, &self.config.topology);
        subject.txn = chase.txn;
        let is_known = subject.txn.is_some() && subject.scope.route().is_some();
        let recovers_at_once = self.config.eager_recovery && chase.attempt % 2 == 1 && is_known;
        self.open(turn, out, subject, |subject, env| {
            if recovers_at_once {
                Phase::Recover(Recovering::start(subject, env))
            } else {
                Phase::Inquire(Inquiring::start(subject, env))
            }
        });
    }

    fn open(
        &mut self,
        (now, hlc): (Now, &NodeClock),
        out: &mut Effects,
        subject: Subject,
        start: impl FnOnce(&mut Subject, &mut Env<'_, H>) -> Phase,
    ) {
        let mut subject = subject;
        let mut env = Env {
            now,
            hlc,
            out,
            config: &self.config,
            semantics: &*self.semantics,
            hooks: &self.hooks,
            durable: &mut self.durable,
        };
        let phase = start(&mut subject, &mut env);
        let id = (subject.txn_id, subject.ballot);
        let due = phase.due();
        self.by_txn.insert(id.0, id.1);
        self.due.insert((due, id));
        self.coordinations.insert(id, Coordination { subject, phase, due });
    }

    /// Takes a coordination out, lets `with` move it, and puts it back unless it has ended.
    fn step(
        &mut self,
        (now, hlc): (Now, &NodeClock),
        out: &mut Effects,
        id: CoordinationId,
        with: impl FnOnce(Phase, &mut Subject, &mut Env<'_, H>) -> Step,
    ) {
        let Some(mut coordination) = self.coordinations.remove(&id) else { return };
        let mut env = Env {
            now,
            hlc,
            out,
            config: &self.config,
            semantics: &*self.semantics,
            hooks: &self.hooks,
            durable: &mut self.durable,
        };
        let was_waited_for = coordination.subject.client.is_some();
        let step = with(coordination.phase, &mut coordination.subject, &mut env);
        let is_waited_for = coordination.subject.client.is_some() && !matches!(step, Step::End);
        self.live_count -= usize::from(was_waited_for && !is_waited_for);
        match step {
            Step::Stay(phase) | Step::Enter(phase) => {
                let new_id = (id.0, coordination.subject.ballot);
                let due = phase.due();
                if (due, new_id) != (coordination.due, id) {
                    self.due.remove(&(coordination.due, id));
                    self.due.insert((due, new_id));
                }
                self.by_txn.insert(new_id.0, new_id.1);
                (coordination.phase, coordination.due) = (phase, due);
                self.coordinations.insert(new_id, coordination);
            }
            Step::End => {
                self.due.remove(&(coordination.due, id));
                self.by_txn.remove(&id.0);
            }
        }
    }

    fn remove(&mut self, id: CoordinationId) {
        if let Some(coordination) = self.coordinations.remove(&id) {
            self.due.remove(&(coordination.due, id));
            self.by_txn.remove(&id.0);
            self.live_count -= usize::from(coordination.subject.client.is_some());
        }
    }
}

impl Phase {
    fn due(&self) -> Micros {
        match self {
            Self::PreAccept(phase) => phase.due,
            Self::Propose(phase) => phase.round.due,
            Self::Stabilise(phase) => phase.round.due,
            Self::Execute(phase) => phase.due,
            Self::Persist(phase) => phase.round.due,
            Self::NotAccept(phase) => phase.round.due,
            Self::Recover(phase) => phase.round.due,
            Self::Await(phase) => phase.due,
            Self::Invalidate(phase) => phase.round.due,
            Self::Inquire(phase) => phase.due,
        }
    }

    fn on_reply<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>, from: NodeId, verb: ReplyVerb) -> Step {
        match (self, verb) {
            (Self::PreAccept(phase), verb) => phase.on_reply(subject, env, from, verb),
            (Self::Propose(phase), ReplyVerb::AcceptReply(reply)) => phase.on_reply(subject, env, from, reply),
            (Self::Stabilise(phase), ReplyVerb::CommitReply(reply)) => phase.on_reply(subject, env, from, reply),
            (Self::Execute(phase), verb) => phase.on_reply(subject, env, from, verb),
            (Self::Persist(phase), ReplyVerb::ApplyReply(reply)) => phase.on_reply(subject, env, from, reply),
            (Self::NotAccept(phase), ReplyVerb::AcceptReply(reply)) => phase.on_reply(subject, env, from, reply),
            (Self::Recover(phase), verb) => phase.on_reply(subject, env, from, verb),
            (Self::Await(phase), ReplyVerb::RecoverAwaitReply(reply)) => phase.on_reply(subject, env, reply),
            (Self::Invalidate(phase), ReplyVerb::InvalidateReply(reply)) => phase.on_reply(subject, env, from, reply),
            (Self::Inquire(phase), ReplyVerb::CheckStatusReply(reply)) => phase.on_reply(subject, env, from, reply),
            (Self::Inquire(phase), ReplyVerb::Unavailable(_)) => phase.on_unavailable(subject, env, from),
            // a late answer to an earlier phase
            (phase, _) => Step::Stay(phase),
        }
    }

    fn on_timer<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        match self {
            Self::PreAccept(phase) => phase.on_timer(subject, env),
            Self::Propose(phase) => phase.on_timer(subject, env),
            Self::Stabilise(phase) => phase.on_timer(subject, env),
            Self::Execute(phase) => phase.on_timer(subject, env),
            Self::Persist(phase) => phase.on_timer(subject, env),
            Self::NotAccept(phase) => phase.on_timer(subject, env),
            Self::Recover(phase) => phase.on_timer(subject, env),
            Self::Await(phase) => phase.on_timer(subject, env),
            Self::Invalidate(phase) => phase.on_timer(subject, env),
            Self::Inquire(phase) => phase.on_timer(subject, env),
        }
    }
}

impl<H: Hooks> Machine for Coordinator<H> {
    type Input = CoordinatorInput;

    fn turn(&mut self, now: Now, hlc: &NodeClock, inbox: Inbox<CoordinatorInput>, out: &mut Effects) {
        for input in inbox {
            match input {
                CoordinatorInput::Begin { request, kind, keys, body } => {
                    self.begin((now, hlc), out, request, kind, keys, body);
                }
                CoordinatorInput::Reply { from, reply } => {
                    let id = (reply.txn_id, reply.ballot);
                    self.step((now, hlc), out, id, |phase, subject, env| {
                        phase.on_reply(subject, env, from, reply.verb)
                    });
                }
                CoordinatorInput::Chase(chase) => self.chase((now, hlc), out, chase),
            }
        }
        while let Some((_, id)) = self.due.first().copied().filter(|(due, _)| *due <= now.mono) {
            self.step((now, hlc), out, id, |phase, subject, env| phase.on_timer(subject, env));
        }
        self.durable.flush_due(now.mono, out);
    }

    fn next_wakeup(&self) -> Option<Micros> {
        let timer = self.due.first().map(|(due, _)| *due);
        match (timer, self.durable.due()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

/// The scope of a message about a transaction whose route is known.
fn full(route: &Route) -> Scope {
    Scope::Full(route.clone())
}
