//! The one place where a record changes: fold, append, index, wake.

use super::replay::is_done;
use super::{CommandStore, Tracked, Turn};
use crate::cfk::Entry;
use protocol::{Command, CommandDiff, Hooks, Key, Micros, Mutant, Participants, Scope, Status, TxnId};
use smallvec::SmallVec;

impl<H: Hooks> CommandStore<H> {
    /// The record of `id`, empty if it was never heard of.
    pub(super) fn record(&self, id: TxnId) -> Command {
        self.commands.get(&id).map(|tracked| tracked.command.clone()).unwrap_or_default()
    }

    /// Takes one step of `id`: the delta is folded and appended, and everything derived from the record follows.
    pub(super) fn update(&mut self, turn: &mut Turn<'_>, id: TxnId, scope: &Scope, mut diff: CommandDiff) {
        let tracked = self.commands.entry(id).or_default();
        let is_wider = matches!((tracked.command.scope(), scope), (None, _) | (Some(Scope::Part(_)), Scope::Full(_)));
        if is_wider {
            diff.scope = Some(scope.clone());
        }
        if let Err(why) = tracked.command.allows(&diff)
            && !self.hooks.is_planted()
        {
            return self.violation(turn, id, &why);
        }
        tracked.command.fold(&diff);
        if self.hooks.mutant(Mutant::PromiseNotPersisted) {
            (diff.promised, diff.accepted) = (None, None);
        }
        turn.out.append(id, diff);
        self.index(turn, id);
        self.look_after(turn, id);
        self.answer_waiters(turn, id);
    }

    /// Every own key of `id` that is known here.
    pub(super) fn keys_of(&self, id: TxnId) -> SmallVec<[Key; 2]> {
        let scope = self.commands.get(&id).and_then(|tracked| tracked.command.scope());
        scope.map_or_else(SmallVec::new, |scope| self.own_keys(scope.keys()))
    }

    /// Projects the record onto its keys, and wakes whoever waited for it there.
    fn index(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        let mut keys = self.keys_of(id);
        if let Some(named) = self.named.get(&id) {
            keys.extend(named.iter().filter(|key| !keys.contains(key)).cloned().collect::<Vec<_>>());
        }
        for key in &keys {
            self.index_at(turn, id, key);
        }
        if self.commands.get(&id).is_some_and(|tracked| tracked.command.status().is_terminal()) {
            self.named.remove(&id);
        }
    }

    /// Projects the record onto `key`.
    pub(super) fn index_at(&mut self, turn: &mut Turn<'_>, id: TxnId, key: &Key) {
        let Some(tracked) = self.commands.get(&id) else { return };
        let entry = Entry::project(id, &tracked.command, key);
        let execute_at = tracked.command.execute_at();
        let cfk = self.keys.entry(key.clone()).or_default();
        if let Some(at) = execute_at {
            cfk.raise_max_conflict(at);
        }
        for unheard in cfk.update(entry) {
            self.name(unheard, key, turn.now.mono);
        }
        self.wake(key);
    }

    /// `id` was never heard of at `key` before somebody's dependencies named it there.
    pub(super) fn name(&mut self, id: TxnId, key: &Key, now: Micros) {
        let known = self.commands.get(&id).map(|tracked| &tracked.command);
        let known = known.filter(|command| command.status() != Status::NotDefined);
        if !known.is_some_and(|command| command.status().is_terminal()) {
            self.named.entry(id).or_default().push(key.clone());
        }
        if let Some(command) = known {
            // heard of at other keys only: what is known holds here too
            let entry = Entry::project(id, command, key);
            self.keys.entry(key.clone()).or_default().update(entry);
        } else {
            let scope = Scope::Part(Participants::of_keys(vec![key.clone()]));
            self.progress.watch_blocker(id, &scope, now);
        }
    }

    /// Lets whoever may run now at `key` know.
    fn wake(&mut self, key: &Key) {
        let Some(cfk) = self.keys.get_mut(key).filter(|cfk| cfk.has_waiting()) else { return };
        for id in cfk.wake() {
            let Some(tracked) = self.commands.get_mut(&id) else { continue };
            tracked.waiting_on.retain(|waited| waited != key);
            if tracked.waiting_on.is_empty() {
                self.runnable.push_back(id);
            }
        }
    }

    /// Watches what is under way, and lets go of what is done.
    fn look_after(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        let Some(Tracked { command, .. }) = self.commands.get(&id) else { return };
        if is_done(command) {
            self.progress.done(id);
            self.forget(id);
        } else if let Some(scope) = command.scope() {
            let index = self.index_in_home_shard(scope);
            self.progress.watch(id, scope, turn.now.mono, index);
        }
    }

    /// This replica's place in the home shard; behind all of them elsewhere.
    pub(super) fn index_in_home_shard(&self, scope: &Scope) -> usize {
        let home = scope.route().and_then(|route| self.config.topology.shard_of(route.home().routing));
        let nodes =
            home.map(|shard| shard.nodes.iter().position(|node| node == self.config.node).unwrap_or(shard.nodes.len()));
        nodes.unwrap_or(0)
    }
}
