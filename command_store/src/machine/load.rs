//! Commands that are finished are forgotten, and read back from the log when somebody asks for one.

use super::{CommandStore, StoreInput, Tracked, Turn};
use crate::cfk::EntryStatus;
use protocol::{Command, Effect, Hooks, Scope, TxnId};
use std::collections::{BTreeMap, VecDeque};

/// Reloaded commands kept in memory before the oldest is forgotten again.
const RELOADED_MAX: usize = 256;

/// Inputs held for one command that is being loaded; more are dropped, as the network may drop them.
const HELD_MAX: usize = 64;

/// What is being read back.
#[derive(Clone, Debug, Default)]
pub(super) struct Loading {
    held: BTreeMap<TxnId, Vec<StoreInput>>,
    reloaded: VecDeque<TxnId>,
}

impl<H: Hooks> CommandStore<H> {
    /// Lets a finished command go from memory; its entries at its keys stay.
    pub(super) fn forget(&mut self, id: TxnId) {
        let is_asked_for = |tracked: &Tracked| !tracked.readers.is_empty();
        if self.config.evict && !self.commands.get(&id).is_some_and(is_asked_for) {
            self.commands.remove(&id);
        }
    }

    /// Whether `id` is finished here and no longer in memory.
    pub(super) fn must_load(&self, id: TxnId, scope: &Scope) -> bool {
        if self.commands.contains_key(&id) {
            return false;
        }
        let entry = |key| self.keys.get(key).and_then(|cfk| cfk.get(id));
        scope
            .keys()
            .iter()
            .filter(|key| self.owns(key))
            .any(|key| entry(key).is_some_and(|e| e.status > EntryStatus::Transitive))
    }

    /// Holds `input` until its command is back.
    pub(super) fn load_first(&mut self, turn: &mut Turn<'_>, input: StoreInput) {
        let id = match &input {
            StoreInput::Request { request, .. } => request.txn_id,
            StoreInput::Propagate(propagate) => propagate.txn_id,
            StoreInput::Rows { .. } | StoreInput::Loaded { .. } | StoreInput::InformDurable(_) => return,
        };
        let held = self.loading.held.entry(id).or_insert_with(|| {
            turn.out.push(Effect::Load { txn_id: id });
            Vec::new()
        });
        if held.len() < HELD_MAX {
            held.push(input);
        }
    }

    pub(super) fn on_loaded(&mut self, turn: &mut Turn<'_>, id: TxnId, command: Command) {
        self.commands.entry(id).or_insert_with(|| Tracked { command, is_scheduled: true, ..Tracked::default() });
        for input in self.loading.held.remove(&id).unwrap_or_default() {
            self.take(turn, input);
        }
        self.loading.reloaded.push_back(id);
        let is_full = self.loading.reloaded.len() > RELOADED_MAX;
        if is_full && let Some(oldest) = self.loading.reloaded.pop_front() {
            self.forget(oldest);
        }
    }
}
