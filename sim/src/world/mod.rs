//! The event loop: virtual time jumps from event to event, and every effect of a machine is performed here.

mod clients;
mod log;
mod messages;
mod scripts;
mod turns;

use crate::checker::Rng;
use crate::ghost::Ghost;
use crate::judge::{judge, times_are_unique};
use crate::network::Network;
use crate::node::SimNode;
use crate::options::{Options, Overrides, TICK};
use crate::report::{Counters, SeedReport, Violation};
use crate::script::Sent;
use crate::workload::Workload;
use command_store::StoreInput;
use protocol::message::Message;
use protocol::{ClientOutcome, Effects, Lsn, NodeId, StoreId, TxnId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// More events than this is no quiescence: a livelock.
const EVENTS_MAX: u64 = 200_000;

/// Closing reads of one key, before the run counts as unable to serve.
const CLOSING_MAX: u32 = 20;

enum Event {
    Deliver { from: NodeId, to: NodeId, message: Box<Message> },
    StoreTurn(NodeId, u32, StoreId),
    CoordinatorTurn(NodeId, u32),
    Synced(NodeId, u32, usize),
    Loaded(NodeId, u32, StoreId, TxnId),
    Client(u32, u32),
    Crash(NodeId, bool),
    Restart(NodeId),
}

struct Queued {
    time: u64,
    sequence: u64,
    event: Event,
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.sequence) == (other.time, other.sequence)
    }
}

impl Eq for Queued {}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}

/// Rolling digests of a run, and its text if somebody wants to read it.
struct Trace<'a> {
    hash: u64,
    shape: u64,
    print: Option<&'a mut dyn FnMut(&str)>,
}

impl Trace<'_> {
    fn mix(&mut self, time: u64, parts: &[u64]) {
        let fold = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        self.shape = parts.iter().fold(self.shape, |hash, part| fold(hash, *part));
        self.hash = parts.iter().fold(fold(self.hash, time), |hash, part| fold(hash, *part));
    }

    fn say(&mut self, time: u64, text: impl FnOnce() -> String) {
        if let Some(print) = &mut self.print {
            print(&format!("{:>10.3} {}", time as f64 / 1000.0, text()));
        }
    }
}

pub(crate) struct World<'a> {
    pub(crate) options: Options,
    pub(crate) time: u64,
    sequence: u64,
    events: u64,
    queue: BinaryHeap<Reverse<Queued>>,
    pub(crate) nodes: Vec<SimNode>,
    pub(crate) network: Network,
    schedule: Rng,
    workload: Workload,
    pub(crate) ghost: Ghost,
    pub(crate) counters: Counters,
    /// The id of every transaction begun, and what its client was told.
    pub(crate) ids: BTreeMap<u32, TxnId>,
    pub(crate) answers: BTreeMap<u32, ClientOutcome>,
    /// Every message sent, for scripts.
    pub(crate) sent: Option<Vec<Sent>>,
    trace: Trace<'a>,
    effects: Effects,
}

/// Runs one seed to its end; `print`, if given, takes the trace line by line.
pub fn run_seed(seed: u64, overrides: &Overrides, print: Option<&mut dyn FnMut(&str)>) -> SeedReport {
    let options = Options::draw(&mut stream(seed, 1), overrides);
    let mut world = World::new(seed, options, print);
    let shown = format!("{:?}", world.options);
    world.trace.say(0, || shown);
    world.run();
    if world.ghost.violation.is_none() {
        world.close();
    }
    world.report(seed)
}

/// An independent source of chance per purpose, so that one more draw here shifts nothing there.
fn stream(seed: u64, purpose: u64) -> Rng {
    Rng::from_seed(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl<'a> World<'a> {
    pub(crate) fn new(seed: u64, options: Options, print: Option<&'a mut dyn FnMut(&str)>) -> Self {
        let mut clocks = stream(seed, 2);
        let nodes = options.node_ids().into_iter().map(|id| {
            let offset = clocks.below(options.skew + 1) * TICK;
            SimNode::new(id, &options, offset)
        });
        let mut world = Self {
            time: 0,
            sequence: 0,
            events: 0,
            queue: BinaryHeap::new(),
            nodes: nodes.collect(),
            network: Network::new(stream(seed, 3), &options),
            schedule: stream(seed, 4),
            workload: Workload::new(stream(seed, 5), &options),
            ghost: Ghost::new(options.outcome_only, options.slices(), std::sync::Arc::clone(&options.topology)),
            counters: Counters::default(),
            ids: BTreeMap::new(),
            answers: BTreeMap::new(),
            sent: None,
            trace: Trace { hash: seed, shape: 0, print },
            effects: Effects::default(),
            options,
        };
        world.plan(&mut stream(seed, 6));
        world
    }

    /// Puts the clients' starts and the crashes into the queue.
    fn plan(&mut self, faults: &mut Rng) {
        for client in 0..self.workload.client_count() {
            let spread = if self.options.hears_bare_quorum { 6 } else { 40 };
            let delay = faults.below(spread);
            self.after(delay, Event::Client(client, 0));
        }
        let losses = u32::from(self.options.has_permanent_loss);
        for nth in 0..self.options.crashes + losses {
            let delay = faults.below(self.options.fault_end);
            let node = NodeId(1 + faults.below(self.nodes.len() as u64) as u32);
            self.after(delay, Event::Crash(node, nth >= self.options.crashes));
        }
    }

    pub(crate) fn node(&mut self, id: NodeId) -> &mut SimNode {
        &mut self.nodes[id.0 as usize - 1]
    }

    fn is_faulty(&self) -> bool {
        self.time < self.options.fault_end * TICK
    }

    fn after(&mut self, ticks: u64, event: Event) {
        self.at(self.time + ticks * TICK, event);
    }

    fn at(&mut self, time: u64, event: Event) {
        self.sequence += 1;
        self.queue.push(Reverse(Queued { time: time.max(self.time), sequence: self.sequence, event }));
    }

    /// Runs until nothing is left to happen.
    pub(crate) fn run(&mut self) {
        self.run_until(u64::MAX);
    }

    /// Runs until virtual time `end`, or until nothing is left to happen.
    pub(crate) fn run_until(&mut self, end: u64) {
        while self.queue.peek().is_some_and(|Reverse(next)| next.time <= end) {
            let Some(Reverse(Queued { time, event, .. })) = self.queue.pop() else { return };
            self.time = time;
            self.events += 1;
            if self.events > EVENTS_MAX {
                self.ghost.violate("L1", format!("no rest after {EVENTS_MAX} events"));
            }
            if self.ghost.violation.is_some() {
                return;
            }
            self.take(event);
        }
        if end != u64::MAX {
            // nothing happens until then, and a script may ask what time it is
            self.time = self.time.max(end);
        }
    }

    /// Reads every key once more, which also tells replicas what they missed, and judges.
    pub(crate) fn close(&mut self) {
        self.time = self.time.max(self.options.fault_end * TICK);
        let keys = self.options.keys;
        for key in (0..8).filter(|key| keys >> key & 1 == 1) {
            let mut tries = 0;
            loop {
                let event = self.events;
                let begun = self.workload.closing_read(&self.options, key, event);
                let number = begun.request.0 as u32;
                let up: Vec<NodeId> = self.nodes.iter().filter(|node| node.is_up).map(|node| node.id).collect();
                // each in turn: a coordinator with a slow clock may be refused by replicas that count its id as expired
                let node = up[tries as usize % up.len()];
                self.begin(node, begun);
                self.run();
                tries += 1;
                if self.ghost.violation.is_some() || self.workload.is_ok(number) {
                    break;
                }
                if tries >= CLOSING_MAX {
                    self.ghost.violate("L2", format!("key {key} cannot be read when all faults are over"));
                    break;
                }
            }
        }
        if self.ghost.violation.is_none() {
            judge(&self.options, &self.nodes, &mut self.ghost, &self.workload);
        }
        if let Some((one, other)) = times_are_unique(&self.ghost) {
            self.ghost.violate("I3", format!("{one} and {other} execute at the same time"));
        }
    }

    fn report(mut self, seed: u64) -> SeedReport {
        let violation = self.ghost.violation.take();
        if let Some(Violation { checker, verdict }) = &violation {
            self.trace.say(self.time, || format!("VIOLATION {checker}: {verdict}"));
        }
        SeedReport {
            seed,
            events: self.events,
            txns: self.workload.ops.len() as u64,
            trace_hash: self.trace.hash,
            shape_hash: self.trace.shape,
            counters: self.counters,
            violation,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Deliver { from, to, message } => self.deliver(from, to, *message),
            Event::StoreTurn(node, incarnation, store) => {
                if self.is_alive(node, incarnation) {
                    let store_state = &mut self.node(node).stores[usize::from(store.0)];
                    store_state.is_turn_queued = false;
                    self.store_turn(node, store);
                }
            }
            Event::CoordinatorTurn(node, incarnation) => {
                if self.is_alive(node, incarnation) {
                    self.node(node).is_coordinator_turn_queued = false;
                    self.coordinator_turn(node);
                }
            }
            Event::Synced(node, incarnation, upto) => {
                if self.is_alive(node, incarnation) {
                    self.synced(node, upto);
                }
            }
            Event::Loaded(node, incarnation, store, id) => {
                if self.is_alive(node, incarnation) {
                    let command = Box::new(self.node(node).load(store, id));
                    self.give_store(node, store, StoreInput::Loaded { txn_id: id, command });
                }
            }
            Event::Client(client, generation) => self.client(client, generation),
            Event::Crash(node, is_permanent) => self.crash(node, is_permanent),
            Event::Restart(node) => self.restart(node),
        }
    }

    fn is_alive(&self, node: NodeId, incarnation: u32) -> bool {
        let node = &self.nodes[node.0 as usize - 1];
        node.is_up && node.incarnation == incarnation
    }
}

/// The position of the one batch a turn may append, after `before`.
fn effects_position(before: Lsn) -> Lsn {
    Lsn(before.0 + 1)
}

/// What a restarted store has applied, as its conflicts show.
fn applied_ids(store: &crate::node::SimStore) -> BTreeSet<TxnId> {
    store.machine.applied_ids().into_iter().collect()
}

fn kind_of(message: &Message) -> u8 {
    match message {
        Message::Request(request) => request.verb.kind(),
        Message::Reply(reply) => reply.verb.kind(),
        Message::InformDurable(_) => 16,
    }
}

fn shown(message: &Message) -> String {
    match message {
        Message::Request(request) => format!("{} {:?}", request.txn_id, request.verb),
        Message::Reply(reply) => format!("{} {:?} {:?}", reply.txn_id, reply.ballot, reply.verb),
        Message::InformDurable(inform) => format!("{inform:?}"),
    }
}

fn shown_diff(diff: &protocol::CommandDiff) -> String {
    let mut shown = String::new();
    if let Some(status) = diff.status {
        shown += &format!("{status:?} ");
    }
    if let Some(promised) = diff.promised {
        shown += &format!("promised {promised:?} ");
    }
    if let Some(at) = diff.execute_at {
        shown += &format!("at {at} ");
    }
    if let Some((known, deps)) = &diff.deps {
        let ids: Vec<TxnId> = deps.ids().collect();
        shown += &format!("{known:?} {ids:?} ");
    }
    if let Some(durability) = diff.durability {
        shown += &format!("{durability:?}");
    }
    shown
}
