//! A cluster under a test's hand: messages can be held, dropped, repeated and released; nodes killed and started; time moved.
//!
//! Everything runs through the same world, machines, ghosts and judge as a drawn run; only chance is replaced by the script.

use crate::checker::Rng;
use crate::list_append::{observations, versions};
use crate::options::{Generator, Layout, Options, Overrides, TICK};
use crate::report::{Counters, Violation};
use crate::world::World;
use protocol::message::Message;
use protocol::{Ballot, Chase, ClientOutcome, Command, Mutant, NodeId, Route, Scope, TxnId};

/// What a script does to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ruling {
    /// Delivers it.
    Pass,
    /// Loses it.
    Drop,
    /// Keeps it until it is released.
    Hold,
    /// Delivers it this often.
    Repeat {
        /// How often.
        copies: u32,
        /// Ticks until the first copy arrives.
        first: u64,
        /// Ticks between the copies.
        apart: u64,
    },
}

/// A message that a node has sent, whatever became of it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When, in ticks.
    pub at: u64,
    /// By whom.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// The message.
    pub message: Message,
}

pub(crate) type Rule = Box<dyn FnMut(NodeId, NodeId, &Message) -> Ruling>;

/// How a scripted cluster differs from the plain one.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Nodes and shards.
    pub layout: Layout,
    /// Stores per node.
    pub store_count: u16,
    /// Leave durable transactions out of dependencies.
    pub is_elided: bool,
    /// Forget finished commands.
    pub is_evicted: bool,
    /// Stable goes to readers only.
    pub is_thrifty: bool,
    /// Votes may decide at once.
    pub is_fast: bool,
    /// Ticks after which a PreAccept is refused as expired.
    pub expire: u64,
    /// Ticks before the progress log chases a transaction.
    pub progress: u64,
    /// Ticks after which a vote or a reader is slow; half as much again, and everything unanswered is sent again.
    pub timeout: u64,
    /// Ticks after which a client is told that the outcome is unknown.
    pub deadline: u64,
    /// A planted bug, to see the script's own checks fail.
    pub mutant: Option<Mutant>,
    /// Prints everything that happens to standard error.
    pub is_traced: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            layout: Layout::Three,
            store_count: 2,
            is_elided: true,
            is_evicted: true,
            is_thrifty: true,
            is_fast: true,
            expire: 1 << 40,
            progress: 500,
            timeout: 50,
            deadline: 1500,
            mutant: None,
            is_traced: false,
        }
    }
}

/// A scripted cluster. One tick is one millisecond of virtual time.
pub struct Script {
    world: World<'static>,
}

impl Script {
    /// A cluster at rest.
    pub fn new(setting: Setting) -> Self {
        let overrides = Overrides {
            generator: Some(Generator::Calm),
            layout: Some(setting.layout),
            mutant: setting.mutant,
            ..Overrides::default()
        };
        let options = Options::draw(&mut Rng::from_seed(7), &overrides);
        let options = Options {
            store_count: setting.store_count,
            is_batched: false,
            txn_count: 0,
            client_count: 0,
            keys: 0b1111,
            base: 1,
            sync: 0,
            skew: 0,
            timeout: setting.timeout,
            expire: setting.expire,
            progress: setting.progress,
            deadline: setting.deadline,
            is_medium: true,
            is_fast: setting.is_fast,
            is_elided: setting.is_elided,
            is_evicted: setting.is_evicted,
            is_thrifty: setting.is_thrifty,
            is_eager: false,
            ..options
        };
        let print: Option<&'static mut dyn FnMut(&str)> =
            if setting.is_traced { Some(Box::leak(Box::new(|line: &str| eprintln!("{line}")))) } else { None };
        let mut world = World::new(7, options, print);
        world.sent = Some(Vec::new());
        Self { world }
    }

    /// Judges every message from now on with `rule`.
    pub fn rule(&mut self, rule: impl FnMut(NodeId, NodeId, &Message) -> Ruling + 'static) {
        self.world.network.rule = Some(Box::new(rule));
    }

    /// Lets every message pass from now on, and those held as well.
    pub fn release(&mut self) {
        self.world.network.rule = None;
        self.release_where(|_, _, _| true);
    }

    /// Lets those held messages go that `which` accepts; the rule stays.
    pub fn release_where(&mut self, which: impl Fn(NodeId, NodeId, &Message) -> bool) {
        self.world.release_held(which);
    }

    /// Loses the held messages.
    pub fn drop_held(&mut self) {
        self.world.network.held.clear();
    }

    /// Begins a transaction at `node` that reads and appends to the keys of the two bit sets; gives its number.
    pub fn begin(&mut self, node: u32, reads: u8, appends: u8) -> u32 {
        self.world.begin_scripted(NodeId(node), reads, appends)
    }

    /// Delivers a message of the script's own making; the answer goes to `from`.
    pub fn deliver(&mut self, from: u32, to: u32, message: Message) {
        self.world.deliver_soon(NodeId(from), NodeId(to), message);
    }

    /// Lets `node` look after a transaction now, with what it knows of it: nothing but its keys, if it never heard of it.
    pub fn chase(&mut self, node: u32, number: u32) {
        let Some(txn_id) = self.txn_id(number) else { return };
        let known = self.commands(node, number).into_iter().find(|command| command.route().is_some());
        let keys = self.world.ghost.txns.get(&txn_id).and_then(|txn| txn.route.as_ref()).map(Route::participants);
        let Some(scope) = known.as_ref().and_then(|command| command.scope().cloned()).or(keys.map(Scope::Part)) else {
            return;
        };
        let txn = known.and_then(|command| command.txn().cloned());
        self.world.chase_scripted(NodeId(node), Chase { txn_id, scope, txn, attempt: 0 });
    }

    /// Runs until nothing is left to happen.
    pub fn run(&mut self) {
        self.world.run();
    }

    /// Runs for `ticks` of virtual time.
    pub fn run_for(&mut self, ticks: u64) {
        self.world.run_until(self.world.time + ticks * TICK);
    }

    /// Kills a node; what its log has not synced is lost.
    pub fn kill(&mut self, node: u32) {
        self.world.kill(NodeId(node));
    }

    /// Starts a killed node from its log.
    pub fn start(&mut self, node: u32) {
        self.world.restart(NodeId(node));
    }

    /// Whether syncs of `node`'s log finish.
    pub fn stall_syncs(&mut self, node: u32, is_stalled: bool) {
        self.world.stall_syncs(NodeId(node), is_stalled);
    }

    /// Shifts the wall clock of `node` by `ticks` from now on, back if negative.
    pub fn shift_clock(&mut self, node: u32, ticks: i64) {
        self.world.shift_clock(NodeId(node), ticks * TICK as i64);
    }

    /// The coordination of transaction `number` at ballot zero dies.
    pub fn kill_coordination(&mut self, number: u32) {
        if let Some(id) = self.txn_id(number) {
            self.world.node(id.node()).coordinator.kill(id, Ballot::ZERO);
        }
    }

    /// The id a transaction was given.
    pub fn txn_id(&self, number: u32) -> Option<TxnId> {
        self.world.ids.get(&number).copied()
    }

    /// What the client of a transaction was told, if anything.
    pub fn answer(&self, number: u32) -> Option<ClientOutcome> {
        self.world.answers.get(&number).cloned()
    }

    /// Whether the client was told that it took effect.
    pub fn is_applied(&self, number: u32) -> bool {
        matches!(self.answer(number), Some(ClientOutcome::Applied { .. }))
    }

    /// The lists a transaction read, by key, once its client was told that it took effect.
    pub fn reads(&self, number: u32) -> Option<Vec<(u32, Vec<u32>)>> {
        match self.world.answers.get(&number)? {
            ClientOutcome::Applied { result, .. } => Some(observations(result)),
            _ => None,
        }
    }

    /// Every message sent so far, in order.
    pub fn sent(&self) -> &[Sent] {
        self.world.sent.as_deref().unwrap_or_default()
    }

    /// What `node` knows of a transaction, at each of its stores that knows anything.
    pub fn commands(&self, node: u32, number: u32) -> Vec<Command> {
        let Some(id) = self.txn_id(number) else { return Vec::new() };
        let stores = &self.world.nodes[node as usize - 1].stores;
        stores.iter().filter_map(|store| store.machine.command(id).cloned()).collect()
    }

    /// The list `node` has stored for `key`.
    pub fn list(&self, node: u32, key: u32) -> Vec<u32> {
        let options = &self.world.options;
        let routed = crate::list_append::key_of(key, options.token_of(key));
        let store = options.slices().store_of(routed.routing);
        let rows = self.world.nodes[node as usize - 1].stores[usize::from(store.0)].rows.0.get(&routed);
        rows.map_or_else(Vec::new, |rows| versions(rows).into_iter().map(|(_, number)| number).collect())
    }

    /// What happened how often.
    pub fn counters(&self) -> &Counters {
        &self.world.counters
    }

    /// Virtual time in ticks.
    pub fn now(&self) -> u64 {
        self.world.time / TICK
    }

    /// What the checkers have found so far.
    pub fn violation(&self) -> Option<&Violation> {
        self.world.ghost.violation.as_ref()
    }

    /// Releases everything, starts every node, reads every key, and judges the end as a drawn run is judged.
    ///
    /// *Panics*: if a checker has found anything; the script is a test.
    pub fn finish(mut self) {
        self.release();
        for node in 1..=self.world.nodes.len() as u32 {
            if !self.world.nodes[node as usize - 1].is_up {
                self.start(node);
            }
        }
        self.run();
        if self.world.ghost.violation.is_none() {
            self.world.close();
        }
        if let Some(violation) = &self.world.ghost.violation {
            panic!("{}: {}", violation.checker, violation.verdict);
        }
    }
}
