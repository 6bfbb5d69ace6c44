//! The event loop: virtual time jumps from event to event, and every effect of a machine is performed here.

use crate::checker::Rng;
use crate::ghost::Ghost;
use crate::judge::{judge, times_are_unique};
use crate::network::{Network, subject_of};
use crate::node::{Held, Record, SimNode};
use crate::options::{Options, Overrides, TICK};
use crate::report::{Counters, SeedReport, Violation};
use crate::workload::{Begun, Workload};
use command_store::StoreInput;
use coordinator::CoordinatorInput;
use protocol::message::{CheckStatusReply, Message, Reply, ReplyVerb, Request, Verb};
use protocol::{ClientOutcome, Effect, Effects, Key, Lsn, Machine, Micros, NodeId, NodeSet, RequestId, StoreId, TxnId};
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
            let spread = if self.options.is_duel { 6 } else { 40 };
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
                    self.to_store(node, store, StoreInput::Loaded { txn_id: id, command });
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

    // ---- messages ---------------------------------------------------------------------------------------------------------

    fn send(&mut self, from: NodeId, to: NodeId, message: &Message) {
        let is_faulty = self.is_faulty();
        let fate = self.network.fate(&self.options, is_faulty, from, to, message);
        if fate.is_empty() {
            self.counters.add("message lost", 1);
            self.trace.say(self.time, || format!("   lost {from}->{to} {}", shown(message)));
        }
        for delay in fate {
            self.after(delay, Event::Deliver { from, to, message: Box::new(message.clone()) });
        }
    }

    fn deliver(&mut self, from: NodeId, to: NodeId, message: Message) {
        if !self.node(to).is_up {
            return;
        }
        let (subject, kind) = (subject_of(&message).unwrap_or_default(), kind_of(&message));
        self.trace.mix(self.time, &[u64::from(from.0) << 8 | u64::from(to.0), u64::from(kind), subject.hlc().0]);
        self.trace.say(self.time, || format!("{from}->{to} {}", shown(&message)));
        match message {
            Message::Request(request) => self.spread(from, to, request),
            Message::Reply(reply) => self.to_coordinator(to, CoordinatorInput::Reply { from, reply }),
            Message::InformDurable(inform) => {
                for store in 0..self.options.store_count {
                    self.to_store(to, StoreId(store), StoreInput::InformDurable(inform.clone()));
                }
            }
        }
    }

    fn spread(&mut self, from: NodeId, to: NodeId, request: Request) {
        let mut inputs: Vec<(StoreId, StoreInput)> = Vec::new();
        let topology = std::sync::Arc::clone(&self.options.topology);
        let asks_coordinator = matches!(request.verb, Verb::CheckStatus(_));
        let (id, ballot) = (request.txn_id, request.verb.ballot());
        let owns = |key: &Key| topology.replicates(to, key);
        self.node(to).fan_in.spread(from, request, owns, |store, input| inputs.push((store, input)));
        if inputs.is_empty() && asks_coordinator {
            let verb = ReplyVerb::CheckStatusReply(CheckStatusReply { is_coordinating: false, slices: Vec::new() });
            return self.answer(to, from, Reply { txn_id: id, ballot, verb });
        }
        for (store, input) in inputs {
            self.to_store(to, store, input);
        }
    }

    /// A node's answer leaves: what it testifies to is remembered for ever.
    fn answer(&mut self, node: NodeId, to: NodeId, mut reply: Reply) {
        if let ReplyVerb::CheckStatusReply(status) = &mut reply.verb {
            status.is_coordinating = self.node(node).coordinator.is_coordinating(reply.txn_id);
        }
        self.ghost.on_reply(node, &reply);
        self.send(node, to, &Message::Reply(reply));
    }

    fn release(&mut self, node: NodeId) {
        for Held { store, to, ticket, reply, .. } in self.node(node).release() {
            self.ghost.on_store_reply((node, store), &reply);
            if let Some(reply) = self.node(node).fan_in.reduce(ticket, reply) {
                self.answer(node, to, reply);
            }
        }
    }

    // ---- turns ------------------------------------------------------------------------------------------------------------

    fn to_store(&mut self, node: NodeId, store: StoreId, input: StoreInput) {
        let incarnation = self.node(node).incarnation;
        let delay = if self.options.is_batched { self.schedule.below(2) } else { 0 };
        let state = &mut self.node(node).stores[usize::from(store.0)];
        state.inbox.push(input);
        if !std::mem::replace(&mut state.is_turn_queued, true) {
            self.after(delay, Event::StoreTurn(node, incarnation, store));
        }
    }

    fn to_coordinator(&mut self, node: NodeId, input: CoordinatorInput) {
        let incarnation = self.node(node).incarnation;
        let delay = if self.options.is_batched { self.schedule.below(2) } else { 0 };
        let state = self.node(node);
        state.coordinator_inbox.push(input);
        if !std::mem::replace(&mut state.is_coordinator_turn_queued, true) {
            self.after(delay, Event::CoordinatorTurn(node, incarnation));
        }
    }

    fn store_turn(&mut self, node: NodeId, store: StoreId) {
        let time = self.time;
        let mut effects = std::mem::take(&mut self.effects);
        let state = self.node(node);
        let now = state.now(time);
        let target = &mut state.stores[usize::from(store.0)];
        let inbox = std::mem::take(&mut target.inbox);
        effects.restart(target.machine.appended());
        target.machine.turn(now, &state.clock, inbox, &mut effects);
        let before = Lsn(effects.appended().0 - u64::from(effects.has_batch()));
        let mut appended = before;
        for effect in effects.drain() {
            if let Effect::Append { .. } = effect {
                appended = effects_position(before);
            }
            self.perform_store(node, store, appended, effect);
        }
        self.effects = effects;
        self.sync_soon(node);
        self.release(node);
        self.arm_store(node, store);
    }

    fn perform_store(&mut self, node: NodeId, store: StoreId, appended: Lsn, effect: Effect) {
        let at = (node, store);
        match effect {
            Effect::Append { txn_id, diff } => {
                self.trace.say(self.time, || format!("   {node} {store} {txn_id} {}", shown_diff(&diff)));
                self.ghost.on_append(at, txn_id, &diff);
                self.node(node).log.push(Record::Delta(store, appended, txn_id, diff));
            }
            Effect::Reply { to, ticket, reply, after } => {
                if reply.verb.is_testimony() && after != appended {
                    let verdict = format!(
                        "{node} answers {} of {} after {after:?}, not {appended:?}",
                        reply.verb.name(),
                        reply.txn_id
                    );
                    self.ghost.violate("I6", verdict);
                }
                self.node(node).held.push(Held { store, after, to, ticket, reply });
            }
            Effect::Load { txn_id } => {
                let (incarnation, delay) = (self.node(node).incarnation, self.schedule.below(5));
                self.counters.add("eviction reload", 1);
                self.after(delay, Event::Loaded(node, incarnation, store, txn_id));
            }
            Effect::ReadRows { txn_id, keys } => {
                let rows = &self.node(node).stores[usize::from(store.0)].rows;
                let rows = keys.into_iter().map(|key| (key.clone(), rows.0.get(&key).cloned())).collect();
                self.to_store(node, store, StoreInput::Rows { txn_id, rows });
            }
            Effect::WriteRows { at: time, writes } => {
                for (key, _) in &writes {
                    self.ghost.on_write(at, key, time);
                }
                let rows = &mut self.node(node).stores[usize::from(store.0)].rows;
                protocol::RowStore::apply(rows, &crate::list_append::ListAppend, time, &writes);
            }
            Effect::Chase(chase) => self.to_coordinator(node, CoordinatorInput::Chase(chase)),
            Effect::Fatal { why } => self.ghost.violate("I1", why),
            Effect::Note(note) => self.counters.note(note),
            Effect::Send { .. } | Effect::Answer { .. } | Effect::Propagate(_) => {
                self.ghost.violate("I12", format!("a store of {node} acts as a coordinator"));
            }
        }
    }

    fn coordinator_turn(&mut self, node: NodeId) {
        let time = self.time;
        let mut effects = std::mem::take(&mut self.effects);
        effects.restart(Lsn::default());
        let state = self.node(node);
        let now = state.now(time);
        let inbox = std::mem::take(&mut state.coordinator_inbox);
        state.coordinator.turn(now, &state.clock, inbox, &mut effects);
        for effect in effects.drain() {
            self.perform_coordinator(node, effect);
        }
        self.effects = effects;
        self.sync_soon(node);
        self.arm_coordinator(node);
    }

    fn perform_coordinator(&mut self, node: NodeId, effect: Effect) {
        match effect {
            Effect::Send { to, message } => self.send_all(node, &to, &message),
            Effect::Answer { request, txn_id, outcome } => self.client_answer(request, txn_id, &outcome),
            Effect::Propagate(propagate) => {
                for store in 0..self.options.store_count {
                    self.to_store(node, StoreId(store), StoreInput::Propagate(propagate.clone()));
                }
            }
            Effect::Note(note) => self.counters.note(note),
            other => self.ghost.violate("I12", format!("the coordinator of {node} asks for {other:?}")),
        }
    }

    /// Sends to every recipient in a drawn order; the coordination may die at any of them.
    fn send_all(&mut self, node: NodeId, to: &NodeSet, message: &Message) {
        if let Message::Request(request) = message {
            if matches!(request.verb, Verb::Apply(_)) && request.verb.ballot().is_zero() {
                self.counters.add("executed live", 1);
            }
            if let Verb::PreAccept(pre_accept) = &request.verb {
                self.ids.insert(crate::list_append::number_of_body(&pre_accept.txn.body), request.txn_id);
            }
            let incarnation = self.node(node).incarnation;
            let groups = self.options.topology.voting_groups(request.scope.keys());
            self.ghost.on_request(node, incarnation, request, &groups);
        }
        let mut order: Vec<NodeId> = to.iter().collect();
        let turn = self.schedule.index(order.len());
        order.rotate_left(turn);
        let is_faulty = self.is_faulty();
        let doomed = self.network.islands.is_doomed(&self.options, &mut self.schedule, message).filter(|_| is_faulty);
        let reached = if doomed.is_some() { self.schedule.index(order.len() + 1) } else { order.len() };
        for to in order.iter().take(reached) {
            if is_faulty && self.schedule.below(1000) < self.options.death_permille {
                return self.kill_sender(node, message);
            }
            self.send(node, *to, message);
        }
        if let Some(id) = doomed {
            // it may still hear the answers of this round, and decide on them
            if self.schedule.percent(50) { self.kill_sender(node, message) } else { self.network.islands.spare(id) }
        }
    }

    fn kill_sender(&mut self, node: NodeId, message: &Message) {
        if let Message::Request(request) = message {
            self.counters.add("coordination killed", 1);
            self.trace.say(self.time, || format!("!! {node} drops {} at {:?}", request.txn_id, request.verb.ballot()));
            self.node(node).coordinator.kill(request.txn_id, request.verb.ballot());
        }
    }

    fn arm_store(&mut self, node: NodeId, store: StoreId) {
        let (time, incarnation) = (self.time, self.node(node).incarnation);
        let state = &mut self.node(node).stores[usize::from(store.0)];
        let due = state.machine.next_wakeup().map(|due| due.0.max(time));
        if due.is_some_and(|due| state.wake_at.is_none_or(|armed| armed.0 > due || armed.0 <= time)) {
            state.wake_at = due.map(Micros);
            self.at(due.unwrap_or(time), Event::StoreTurn(node, incarnation, store));
        }
    }

    fn arm_coordinator(&mut self, node: NodeId) {
        let (time, incarnation) = (self.time, self.node(node).incarnation);
        let state = self.node(node);
        let due = state.coordinator.next_wakeup().map(|due| due.0.max(time));
        if due.is_some_and(|due| state.coordinator_wake_at.is_none_or(|armed| armed.0 > due || armed.0 <= time)) {
            state.coordinator_wake_at = due.map(Micros);
            self.at(due.unwrap_or(time), Event::CoordinatorTurn(node, incarnation));
        }
    }

    // ---- the log ----------------------------------------------------------------------------------------------------------

    fn sync_soon(&mut self, node: NodeId) {
        let time = self.time;
        let delay = self.schedule.below(self.options.sync + 1);
        let state = self.node(node);
        if let Some(upto) = state.clock.reservation_due(state.now(time))
            && !state.log[state.synced..].iter().any(|record| matches!(record, Record::Reserved(_)))
        {
            state.log.push(Record::Reserved(upto));
        }
        if state.synced < state.log.len() && !state.is_syncing {
            state.is_syncing = true;
            let (incarnation, upto) = (state.incarnation, state.log.len());
            self.after(delay, Event::Synced(node, incarnation, upto));
        }
    }

    fn synced(&mut self, node: NodeId, upto: usize) {
        let state = self.node(node);
        if state.is_stalled {
            return;
        }
        state.sync_upto(upto);
        state.is_syncing = false;
        self.release(node);
        self.sync_soon(node);
    }

    fn crash(&mut self, node: NodeId, is_permanent: bool) {
        if !self.node(node).is_up {
            return;
        }
        let down = self.nodes.iter().filter(|node| !node.is_up).count() + 1;
        let is_too_many = self.options.topology.shards().iter().any(|shard| down > (shard.nodes.len() - 1) / 2);
        if is_permanent && is_too_many {
            return;
        }
        self.counters.add("crash", 1);
        self.trace.say(self.time, || format!("!! {node} crashes{}", if is_permanent { " for ever" } else { "" }));
        self.node(node).crash();
        self.node(node).is_lost = is_permanent;
        if !is_permanent {
            let delay = 5 + self.schedule.below(300);
            self.after(delay, Event::Restart(node));
        }
    }

    pub(crate) fn restart(&mut self, node: NodeId) {
        self.trace.say(self.time, || format!("^^ {node} restarts"));
        let restarted = self.nodes[node.0 as usize - 1].restarted(&self.options, self.time);
        let applied = |store: &crate::node::SimStore| -> BTreeSet<TxnId> { applied_ids(store) };
        let applied: Vec<(StoreId, BTreeSet<TxnId>)> =
            restarted.stores.iter().enumerate().map(|(at, store)| (StoreId(at as u16), applied(store))).collect();
        let deltas = restarted.log.iter().filter_map(|record| match record {
            Record::Delta(store, _, id, diff) => Some((*store, *id, diff)),
            Record::Reserved(_) => None,
        });
        self.ghost.on_restart(node, applied.into_iter(), deltas);
        *self.node(node) = restarted;
        for store in 0..self.options.store_count {
            self.store_turn(node, StoreId(store));
        }
        self.coordinator_turn(node);
    }

    // ---- scripts ----------------------------------------------------------------------------------------------------------

    pub(crate) fn begin_scripted(&mut self, node: NodeId, reads: u8, appends: u8) -> u32 {
        let event = self.events;
        self.events += 1;
        let begun = self.workload.scripted(&self.options, event, reads, appends);
        let number = begun.request.0 as u32;
        self.begin(node, begun);
        number
    }

    pub(crate) fn release_held(&mut self, which: impl Fn(NodeId, NodeId, &Message) -> bool) {
        let held = std::mem::take(&mut self.network.held);
        let (free, held): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|(from, to, message)| which(*from, *to, message));
        self.network.held = held;
        for (from, to, message) in free {
            self.after(1, Event::Deliver { from, to, message: Box::new(message) });
        }
    }

    pub(crate) fn kill(&mut self, node: NodeId) {
        self.node(node).crash();
    }

    pub(crate) fn stall_syncs(&mut self, node: NodeId, is_stalled: bool) {
        self.node(node).is_stalled = is_stalled;
        if !is_stalled {
            self.node(node).is_syncing = false;
            self.sync_soon(node);
        }
    }

    pub(crate) fn shift_clock(&mut self, node: NodeId, micros: u64) {
        self.node(node).clock_offset += micros;
    }

    // ---- clients ----------------------------------------------------------------------------------------------------------

    fn client(&mut self, client: u32, generation: u32) {
        if !self.workload.is_current(client, generation) {
            return;
        }
        let up: Vec<NodeId> = self.nodes.iter().filter(|node| node.is_up).map(|node| node.id).collect();
        if up.is_empty() {
            return self.after(50, Event::Client(client, generation));
        }
        let generation = self.workload.advance(client);
        let node = self.workload.pick(&up);
        let begun = self.workload.begin(&self.options, client, self.events);
        let patience = self.workload.patience();
        self.after(patience, Event::Client(client, generation));
        self.begin(node, begun);
    }

    fn begin(&mut self, node: NodeId, begun: Begun) {
        let Begun { request, kind, keys, body } = begun;
        self.trace.say(self.time, || format!("** op {} {kind:?} at {node}", request.0));
        self.to_coordinator(node, CoordinatorInput::Begin { request, kind, keys, body });
    }

    fn client_answer(&mut self, request: RequestId, id: Option<TxnId>, outcome: &ClientOutcome) {
        self.trace.say(self.time, || format!("** op {} is {outcome:?}", request.0));
        self.answers.insert(request.0 as u32, outcome.clone());
        match (id, outcome) {
            (Some(id), ClientOutcome::Applied { .. }) => self.ghost.on_success(id),
            (Some(id), ClientOutcome::NotApplied(_)) => self.ghost.on_failure(id),
            _ => {}
        }
        if let Some(client) = self.workload.answered(request, outcome, self.events) {
            let generation = self.workload.advance(client);
            let pause = self.workload.pause();
            self.after(pause, Event::Client(client, generation));
        }
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
