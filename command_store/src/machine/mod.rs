//! The replica as a pure machine: one command store, the owner of its keys and the unit of atomicity.
//!
//! One file per family of requests; each handler reads the record, asks the transition table of [SPEC 2.4] and ends in
//! [`CommandStore::update`], the only place where a record changes.

mod accept;
mod apply;
mod check_status;
mod commit;
mod execute;
mod invalidate;
mod load;
mod look;
mod pre_accept;
mod recover;
mod replay;
mod update;
mod wait;

use crate::cfk::{CommandsForKey, EntryStatus};
use crate::progress_log::{ProgressConfig, ProgressLog};
use crate::stores::Slices;
pub use look::{Blocked, StoreLook, Unfinished};
pub use replay::Replay;

use load::Loading;
use protocol::message::{InformDurable, Reply, ReplyVerb, Request, Unavailable, Verb};
use protocol::{
    Ballot, Bytes, Chase, Command, Effect, Effects, Hooks, Inbox, Key, Lsn, Machine, Micros, Mutant, NodeClock, NodeId,
    Now, Propagate, Semantics, StoreId, Ticket, Topology, TxnId,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use wait::Waiter;

/// How a store behaves.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The node it belongs to.
    pub node: NodeId,
    /// Which of the node's stores it is.
    pub store: StoreId,
    /// How the node's stores split the ring.
    pub slices: Slices,
    /// Who replicates what.
    pub topology: Arc<Topology>,
    /// A PreAccept older than this is refused: bounds how long a lost one can linger.
    pub pre_accept_timeout: Micros,
    /// A PreAccept from further in the future than this is refused.
    pub max_clock_skew: Micros,
    /// Leave durably committed transactions out of dependencies where a later write covers them.
    pub elide: bool,
    /// Forget finished commands; they are loaded from the log when somebody asks.
    pub evict: bool,
    /// Timers of the progress log.
    pub progress: ProgressConfig,
}

/// What a store takes in.
#[derive(Clone, Debug)]
pub enum StoreInput {
    /// A request of a node, the own one included.
    Request {
        /// Who asks.
        from: NodeId,
        /// Comes back with the answer.
        ticket: Ticket,
        /// What is asked.
        request: Request,
    },
    /// Outcomes that are stored at enough replicas.
    InformDurable(InformDurable),
    /// The answer to [`Effect::ReadRows`].
    Rows {
        /// The transaction it was asked for.
        txn_id: TxnId,
        /// What each partition holds.
        rows: Vec<(Key, Option<Bytes>)>,
    },
    /// The answer to [`Effect::Load`].
    Loaded {
        /// The transaction.
        txn_id: TxnId,
        /// The fold of its deltas.
        command: Box<Command>,
    },
    /// Decided facts that the node's coordinator has found elsewhere.
    Propagate(Box<Propagate>),
}

/// A command in memory, and what waits for it here.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Tracked {
    command: Command,
    /// Own keys at which earlier conflicts are not done; meaningful from Stable on.
    waiting_on: SmallVec<[Key; 2]>,
    /// Its dependencies are final and `waiting_on` has been computed.
    is_scheduled: bool,
    /// Who wants the data of its keys.
    readers: Vec<Reader>,
    /// The rows have been asked for.
    rows_asked: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Reader {
    from: NodeId,
    ticket: Ticket,
    ballot: Ballot,
}

/// A turn's clocks and effects.
pub(crate) struct Turn<'a> {
    now: Now,
    hlc: &'a NodeClock,
    out: &'a mut Effects,
}

/// A request being answered.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    from: NodeId,
    ticket: Ticket,
    txn_id: TxnId,
    ballot: Ballot,
}

/// One command store.
pub struct CommandStore<H> {
    config: StoreConfig,
    semantics: Arc<dyn Semantics>,
    hooks: H,
    commands: FxHashMap<TxnId, Tracked>,
    keys: FxHashMap<Key, CommandsForKey>,
    /// Keys at which a transaction is known only from somebody's dependencies, whatever is known of where it takes part.
    named: BTreeMap<TxnId, SmallVec<[Key; 2]>>,
    /// Nothing left to wait for: to be read or applied.
    runnable: VecDeque<TxnId>,
    /// RecoverAwait requests, by the transaction they wait for.
    waiters: BTreeMap<TxnId, Vec<Waiter>>,
    progress: ProgressLog,
    loading: Loading,
    appended: Lsn,
}

/// Commands run or applied in one turn; the rest goes on in the next.
const RUN_MAX: usize = 64;

/// Transactions handed to the coordinator in one turn.
const CHASE_MAX: usize = 64;

impl<H: Hooks> CommandStore<H> {
    /// An empty store.
    pub fn new(config: StoreConfig, semantics: Arc<dyn Semantics>, hooks: H) -> Self {
        Self {
            progress: ProgressLog::new(config.progress),
            config,
            semantics,
            hooks,
            commands: FxHashMap::default(),
            keys: FxHashMap::default(),
            named: BTreeMap::new(),
            runnable: VecDeque::new(),
            waiters: BTreeMap::new(),
            loading: Loading::default(),
            appended: Lsn::default(),
        }
    }

    /// The last batch this store has appended.
    pub fn appended(&self) -> Lsn {
        self.appended
    }

    /// The record of `id`, if it is in memory.
    pub fn command(&self, id: TxnId) -> Option<&Command> {
        self.commands.get(&id).map(|tracked| &tracked.command)
    }

    /// The conflicts at `key`.
    pub fn commands_for_key(&self, key: &Key) -> Option<&CommandsForKey> {
        self.keys.get(key)
    }

    /// How many commands are in memory.
    pub fn command_count(&self) -> usize {
        self.commands.len()
    }

    /// How many transactions the progress log watches.
    pub fn watched_count(&self) -> usize {
        self.progress.len()
    }

    /// The ids in memory, ascending; for checks.
    pub fn txn_ids(&self) -> Vec<TxnId> {
        let mut ids: Vec<TxnId> = self.commands.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Every transaction applied here, in memory or not, ascending; for checks.
    pub fn applied_ids(&self) -> Vec<TxnId> {
        let entries = self.keys.values().flat_map(|cfk| cfk.entries());
        let mut ids: Vec<TxnId> =
            entries.filter(|entry| entry.status == EntryStatus::Applied).map(|entry| entry.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether this store votes for `key`.
    pub(crate) fn owns(&self, key: &Key) -> bool {
        self.config.slices.store_of(key.routing) == self.config.store
            && self.config.topology.replicates(self.config.node, key)
    }

    pub(crate) fn own_keys(&self, keys: &[Key]) -> SmallVec<[Key; 2]> {
        keys.iter().filter(|key| self.owns(key)).cloned().collect()
    }

    fn take(&mut self, turn: &mut Turn<'_>, input: StoreInput) {
        match input {
            StoreInput::Request { from, ticket, request } => self.on_request(turn, from, ticket, request),
            StoreInput::InformDurable(inform) => self.on_inform_durable(turn, &inform),
            StoreInput::Rows { txn_id, rows } => self.on_rows(turn, txn_id, rows),
            StoreInput::Loaded { txn_id, command } => self.on_loaded(turn, txn_id, *command),
            StoreInput::Propagate(propagate) => self.on_propagate(turn, *propagate),
        }
    }

    fn on_request(&mut self, turn: &mut Turn<'_>, from: NodeId, ticket: Ticket, request: Request) {
        let subject = match &request.verb {
            Verb::RecoverAwait(_) => None,
            _ => Some(request.txn_id),
        };
        if subject.is_some_and(|id| self.must_load(id, &request.scope)) {
            return self.load_first(turn, StoreInput::Request { from, ticket, request });
        }
        let asked = Asked { from, ticket, txn_id: request.txn_id, ballot: request.verb.ballot() };
        let scope = request.scope;
        match request.verb {
            Verb::PreAccept(pre_accept) => self.on_pre_accept(turn, asked, scope, pre_accept),
            Verb::Accept(accept) => self.on_accept(turn, asked, scope, accept),
            Verb::NotAccept(not_accept) => self.on_not_accept(turn, asked, scope, not_accept),
            Verb::Commit(commit) => self.on_commit(turn, asked, scope, commit),
            Verb::Stable(stable) => self.on_stable(turn, asked, scope, stable),
            Verb::Apply(apply) => self.on_apply(turn, asked, scope, apply),
            Verb::CommitInvalidate(_) => self.on_commit_invalidate(turn, asked.txn_id, &scope),
            Verb::BeginRecovery(begin) => self.on_begin_recovery(turn, asked, scope, begin),
            Verb::BeginInvalidation(begin) => self.on_begin_invalidation(turn, asked, scope, begin),
            Verb::RecoverAwait(wait) => self.on_recover_await(turn, asked, &scope, wait),
            Verb::CheckStatus(_) => self.on_check_status(turn, asked, &scope),
        }
    }

    /// Answers; `is_repeated` tells an answer that made no record of its own.
    fn answer(&self, turn: &mut Turn<'_>, asked: Asked, verb: ReplyVerb, is_repeated: bool) {
        let reply = Reply { txn_id: asked.txn_id, ballot: asked.ballot, verb };
        let is_early =
            self.hooks.mutant(Mutant::ReplyBeforeSync) || (is_repeated && self.hooks.mutant(Mutant::ReackBeforeSync));
        if is_early {
            let after = Lsn::default();
            turn.out.push(Effect::Reply { to: asked.from, ticket: asked.ticket, reply, after });
        } else {
            turn.out.reply(asked.from, asked.ticket, reply);
        }
    }

    fn refuse(&self, turn: &mut Turn<'_>, asked: Asked, why: &str) {
        self.answer(turn, asked, ReplyVerb::Unavailable(Unavailable { why: why.to_owned() }), false);
    }

    /// A message contradicts what is decided here: agreement is broken, and going on would spread it.
    fn violation(&self, turn: &mut Turn<'_>, id: TxnId, what: &str) {
        let why = format!("{} {}: {id}: {what}", self.config.node, self.config.store);
        turn.out.push(Effect::Fatal { why });
    }
}

impl<H: Hooks> Machine for CommandStore<H> {
    type Input = StoreInput;

    fn turn(&mut self, now: Now, hlc: &NodeClock, inbox: Inbox<StoreInput>, out: &mut Effects) {
        let mut turn = Turn { now, hlc, out };
        for input in inbox {
            self.take(&mut turn, input);
            self.run(&mut turn, RUN_MAX);
        }
        self.run(&mut turn, RUN_MAX);
        for (txn_id, scope, attempt) in self.progress.fire(now.mono, CHASE_MAX) {
            let txn = self.command(txn_id).and_then(|command| command.txn().cloned());
            turn.out.push(Effect::Chase(Chase { txn_id, scope, txn, attempt }));
        }
        self.appended = turn.out.appended();
    }

    fn next_wakeup(&self) -> Option<Micros> {
        if self.runnable.is_empty() { self.progress.next_due() } else { Some(Micros(0)) }
    }
}
