//! Turns of the machines, and the performance of every effect.

use super::{Event, World, effects_position, shown_diff};
use crate::node::{Held, Record};
use command_store::StoreInput;
use coordinator::CoordinatorInput;
use protocol::message::{Message, Verb};
use protocol::{Effect, Lsn, Machine, Micros, NodeId, NodeSet, StoreId};

impl World<'_> {
    pub(super) fn give_store(&mut self, node: NodeId, store: StoreId, input: StoreInput) {
        let incarnation = self.node(node).incarnation;
        let delay = if self.options.is_batched { self.schedule.below(2) } else { 0 };
        let state = &mut self.node(node).stores[usize::from(store.0)];
        state.inbox.push(input);
        if !std::mem::replace(&mut state.is_turn_queued, true) {
            self.after(delay, Event::StoreTurn(node, incarnation, store));
        }
    }

    pub(super) fn give_coordinator(&mut self, node: NodeId, input: CoordinatorInput) {
        let incarnation = self.node(node).incarnation;
        let delay = if self.options.is_batched { self.schedule.below(2) } else { 0 };
        let state = self.node(node);
        state.coordinator_inbox.push(input);
        if !std::mem::replace(&mut state.is_coordinator_turn_queued, true) {
            self.after(delay, Event::CoordinatorTurn(node, incarnation));
        }
    }

    pub(super) fn store_turn(&mut self, node: NodeId, store: StoreId) {
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

    pub(super) fn perform_store(&mut self, node: NodeId, store: StoreId, appended: Lsn, effect: Effect) {
        let at = (node, store);
        match effect {
            Effect::Append { txn_id, diff } => {
                self.trace.say(self.time, || format!("   {node} {store} {txn_id} {}", shown_diff(&diff)));
                self.ghost.on_append(at, txn_id, &diff);
                self.node(node).log.push(Record::Delta(store, appended, txn_id, Box::new(diff)));
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
                self.give_store(node, store, StoreInput::Rows { txn_id, rows });
            }
            Effect::WriteRows { at: time, writes } => {
                for (key, _) in &writes {
                    self.ghost.on_write(at, key, time);
                }
                let rows = &mut self.node(node).stores[usize::from(store.0)].rows;
                protocol::RowStore::apply(rows, &crate::list_append::ListAppend, time, &writes);
            }
            Effect::Chase(chase) => self.give_coordinator(node, CoordinatorInput::Chase(chase)),
            Effect::Fatal { why } => self.ghost.violate("I1", why),
            Effect::Note(note) => self.counters.note(note),
            Effect::Send { .. } | Effect::Answer { .. } | Effect::Propagate(_) => {
                self.ghost.violate("I12", format!("a store of {node} acts as a coordinator"));
            }
        }
    }

    pub(super) fn coordinator_turn(&mut self, node: NodeId) {
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

    pub(super) fn perform_coordinator(&mut self, node: NodeId, effect: Effect) {
        match effect {
            Effect::Send { to, message } => self.send_all(node, &to, &message),
            Effect::Answer { request, txn_id, outcome } => self.client_answer(request, txn_id, &outcome),
            Effect::Propagate(propagate) => {
                for store in 0..self.options.store_count {
                    self.give_store(node, StoreId(store), StoreInput::Propagate(propagate.clone()));
                }
            }
            Effect::Note(note) => self.counters.note(note),
            other => self.ghost.violate("I12", format!("the coordinator of {node} asks for {other:?}")),
        }
    }

    /// Sends to every recipient in a drawn order; the coordination may die at any of them.
    pub(super) fn send_all(&mut self, node: NodeId, to: &NodeSet, message: &Message) {
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

    pub(super) fn kill_sender(&mut self, node: NodeId, message: &Message) {
        if let Message::Request(request) = message {
            self.counters.add("coordination killed", 1);
            self.trace.say(self.time, || format!("!! {node} drops {} at {:?}", request.txn_id, request.verb.ballot()));
            self.node(node).coordinator.kill(request.txn_id, request.verb.ballot());
        }
    }

    pub(super) fn arm_store(&mut self, node: NodeId, store: StoreId) {
        let (time, incarnation) = (self.time, self.node(node).incarnation);
        let state = &mut self.node(node).stores[usize::from(store.0)];
        let due = state.machine.next_wakeup().map(|due| due.0.max(time));
        if due.is_some_and(|due| state.wake_at.is_none_or(|armed| armed.0 > due || armed.0 <= time)) {
            state.wake_at = due.map(Micros);
            self.at(due.unwrap_or(time), Event::StoreTurn(node, incarnation, store));
        }
    }

    pub(super) fn arm_coordinator(&mut self, node: NodeId) {
        let (time, incarnation) = (self.time, self.node(node).incarnation);
        let state = self.node(node);
        let due = state.coordinator.next_wakeup().map(|due| due.0.max(time));
        if due.is_some_and(|due| state.coordinator_wake_at.is_none_or(|armed| armed.0 > due || armed.0 <= time)) {
            state.coordinator_wake_at = due.map(Micros);
            self.at(due.unwrap_or(time), Event::CoordinatorTurn(node, incarnation));
        }
    }
}
