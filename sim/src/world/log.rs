//! Logs: syncs that finish later, crashes that lose what was not synced, and restarts from the rest.

use super::{Event, World, applied_ids};
use crate::node::{Record, SimStore};
use protocol::{NodeId, StoreId, TxnId};
use std::collections::BTreeSet;

impl World<'_> {
    pub(super) fn sync_soon(&mut self, node: NodeId) {
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

    pub(super) fn synced(&mut self, node: NodeId, upto: usize) {
        let state = self.node(node);
        if state.is_stalled {
            return;
        }
        state.sync_upto(upto);
        state.is_syncing = false;
        self.release(node);
        self.sync_soon(node);
    }

    pub(super) fn crash(&mut self, node: NodeId, is_permanent: bool) {
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
        let applied = |store: &SimStore| -> BTreeSet<TxnId> { applied_ids(store) };
        let applied: Vec<(StoreId, BTreeSet<TxnId>)> =
            restarted.stores.iter().enumerate().map(|(at, store)| (StoreId(at as u16), applied(store))).collect();
        let deltas = restarted.log.iter().filter_map(|record| match record {
            Record::Delta(store, _, id, diff) => Some((*store, *id, &**diff)),
            Record::Reserved(_) => None,
        });
        self.ghost.on_restart(node, applied.into_iter(), deltas);
        *self.node(node) = restarted;
        for store in 0..self.options.store_count {
            self.store_turn(node, StoreId(store));
        }
        self.coordinator_turn(node);
    }
}
