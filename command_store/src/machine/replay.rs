//! Coming back from the log: the state is the fold of the deltas, and no decision is made again.
//!
//! *Source*: [SPEC 2.2, S11].

use super::{CommandStore, StoreConfig, Tracked};
use crate::cfk::{Entry, EntryStatus};
use protocol::{
    Bytes, Command, CommandDiff, Durability, Hooks, Key, Micros, RowStore, Scope, Semantics, Status, TxnId,
};
use std::sync::Arc;

/// A store that is being rebuilt from its log.
pub struct Replay<H> {
    store: CommandStore<H>,
}

impl<H: Hooks> Replay<H> {
    /// Nothing replayed yet.
    pub fn new(config: StoreConfig, semantics: Arc<dyn Semantics>, hooks: H) -> Self {
        Self { store: CommandStore::new(config, semantics, hooks) }
    }

    /// Folds one delta, in append order. Writes that it applied are applied to `rows` again, which changes nothing if they hold
    /// them already.
    pub fn fold(&mut self, id: TxnId, diff: &CommandDiff, rows: &mut dyn RowStore) {
        let store = &mut self.store;
        if store.is_settled(id, diff.scope.as_ref()) {
            return;
        }
        let tracked = store.commands.entry(id).or_default();
        tracked.command.fold(diff);
        tracked.is_scheduled = tracked.command.status().is_terminal();
        if diff.status == Some(Status::Applied) {
            store.reapply(id, rows);
        }
        store.raise(id, diff);
        let command = &store.commands[&id].command;
        let is_settled = command.status() == Status::Invalidated
            || (command.status().is_terminal() && command.durability() >= Durability::Majority);
        if is_settled && store.config.evict {
            store.project(id);
            store.commands.remove(&id);
        }
    }

    /// The store as it was at the last durable position, its timers set anew from `now`.
    pub fn finish(mut self, now: Micros) -> CommandStore<H> {
        let ids = self.store.txn_ids();
        for id in &ids {
            self.store.project(*id);
        }
        for id in ids {
            self.store.resume(id, now);
        }
        self.store
    }
}

impl<H: Hooks> CommandStore<H> {
    /// Whether `id` was folded to its end before and let go: what comes later for it is in the log and changes nothing here.
    fn is_settled(&self, id: TxnId, scope: Option<&Scope>) -> bool {
        !self.commands.contains_key(&id) && scope.is_none() && self.config.evict
    }

    fn reapply(&self, id: TxnId, rows: &mut dyn RowStore) {
        let command = &self.commands[&id].command;
        let (Some(at), Some(outcome)) = (command.execute_at(), command.outcome()) else { return };
        let own: Vec<(Key, Bytes)> = outcome.writes.iter().filter(|(key, _)| self.owns(key)).cloned().collect();
        rows.apply(&*self.semantics, at, &own);
    }

    /// Every time that was ever witnessed, proposed or decided raises what later votes must pass.
    fn raise(&mut self, id: TxnId, diff: &CommandDiff) {
        let Some(at) = diff.execute_at else { return };
        for key in self.keys_of(id) {
            self.keys.entry(key).or_default().raise_max_conflict(at);
        }
    }

    fn project(&mut self, id: TxnId) {
        for key in self.keys_of(id) {
            let entry = Entry::project(id, &self.commands[&id].command, &key);
            if entry.status > EntryStatus::Transitive {
                for unheard in self.keys.entry(key.clone()).or_default().update(entry) {
                    self.name(unheard, &key, Micros(0));
                }
            }
        }
    }

    /// Takes up again what was under way.
    fn resume(&mut self, id: TxnId, now: Micros) {
        let Some(Tracked { command, .. }) = self.commands.get(&id) else { return };
        let Some(scope) = command.scope().cloned() else { return };
        let status = command.status();
        let is_done = is_done(command);
        if !is_done {
            let index = self.index_in_home_shard(&scope);
            self.progress.watch(id, &scope, now, index);
        }
        if matches!(status, Status::Stable | Status::PreApplied) {
            self.schedule(now, id);
        }
    }
}

/// Whether nothing is left to be done about it.
pub(super) fn is_done(command: &Command) -> bool {
    match command.status() {
        Status::Invalidated => true,
        status => status.is_terminal() && command.durability() >= Durability::Majority,
    }
}
