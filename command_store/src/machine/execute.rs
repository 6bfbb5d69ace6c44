//! Execution in order: a transaction is read and applied here once every conflict before it is done.
//!
//! *Source*: [SPEC 6].

use super::{CommandStore, Reader, Turn};
use protocol::message::{ReadOk, ReadSuperseded, Reply, ReplyVerb};
use protocol::{Bytes, CommandDiff, Effect, Hooks, Key, Micros, Mutant, Participants, Scope, Status, TxnId};
use smallvec::SmallVec;

impl<H: Hooks> CommandStore<H> {
    /// Computes what `id`, whose dependencies are final now, waits for at its own keys.
    pub(super) fn schedule(&mut self, now: Micros, id: TxnId) {
        let own = self.keys_of(id);
        let Some(tracked) = self.commands.get_mut(&id) else { return };
        let Some(at) = tracked.command.execute_at().filter(|_| !tracked.is_scheduled) else { return };
        tracked.is_scheduled = true;
        let mut waiting_on: SmallVec<[Key; 2]> = SmallVec::new();
        for key in own {
            let deps = tracked.command.deps().at(&key).cloned().unwrap_or_default();
            let Some(cfk) = self.keys.get_mut(&key) else { continue };
            if cfk.is_ready(id, at, &deps) || self.hooks.mutant(Mutant::ApplyBeforeDependencies) {
                continue;
            }
            cfk.wait(id, at);
            let scope = Scope::Part(Participants::of_keys(vec![key.clone()]));
            for blocker in cfk.undecided_before(id, at, &deps) {
                self.progress.watch_blocker(blocker, &scope, now);
            }
            waiting_on.push(key);
        }
        if waiting_on.is_empty() {
            self.runnable.push_back(id);
        }
        tracked.waiting_on = waiting_on;
    }

    /// Runs what may run, at most `most` of them.
    pub(super) fn run(&mut self, turn: &mut Turn<'_>, most: usize) {
        for _ in 0..most {
            let Some(id) = self.runnable.pop_front() else { return };
            self.run_one(turn, id);
        }
    }

    /// Runs `id` at once if nothing holds it back, so that the answer to its Apply can say so.
    pub(super) fn run_now(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        if self.is_free(id) {
            self.run_one(turn, id);
        }
    }

    fn is_free(&self, id: TxnId) -> bool {
        self.commands.get(&id).is_some_and(|tracked| tracked.is_scheduled && tracked.waiting_on.is_empty())
    }

    fn run_one(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        if !self.is_free(id) {
            return;
        }
        match self.commands.get(&id).map(|tracked| tracked.command.status()) {
            Some(Status::Stable) => self.ask_rows(turn, id),
            Some(Status::PreApplied) => self.apply_now(turn, id),
            _ => {}
        }
    }

    fn apply_now(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        let Some(tracked) = self.commands.get(&id) else { return };
        let (Some(at), Some(scope)) = (tracked.command.execute_at(), tracked.command.scope().cloned()) else { return };
        let outcome = tracked.command.outcome();
        let writes: Vec<(Key, Bytes)> = outcome.map_or_else(Vec::new, |outcome| {
            outcome.writes.iter().filter(|(key, _)| self.owns(key)).cloned().collect()
        });
        if !writes.is_empty() {
            turn.out.push(Effect::WriteRows { at, writes });
        }
        self.refuse_readers(turn, id);
        self.update(turn, id, &scope, CommandDiff { status: Some(Status::Applied), ..CommandDiff::default() });
    }

    /// `reader` wants the data of `id`, which is stable here or further.
    pub(super) fn add_reader(&mut self, turn: &mut Turn<'_>, id: TxnId, reader: Reader) {
        let Some(tracked) = self.commands.get_mut(&id) else { return };
        tracked.readers.retain(|other| (other.from, other.ballot) != (reader.from, reader.ballot));
        tracked.readers.push(reader);
        if tracked.command.status() >= Status::PreApplied {
            self.refuse_readers(turn, id);
        } else if self.is_free(id) {
            self.runnable.push_back(id);
        }
    }

    fn ask_rows(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        let keys = self.keys_of(id);
        let Some(tracked) = self.commands.get_mut(&id) else { return };
        if !tracked.readers.is_empty() && !tracked.rows_asked {
            tracked.rows_asked = true;
            turn.out.push(Effect::ReadRows { txn_id: id, keys: keys.into_vec() });
        }
    }

    pub(super) fn on_rows(&mut self, turn: &mut Turn<'_>, id: TxnId, rows: Vec<(Key, Option<Bytes>)>) {
        let Some(tracked) = self.commands.get_mut(&id) else { return };
        tracked.rows_asked = false;
        if tracked.command.status() != Status::Stable {
            return self.refuse_readers(turn, id);
        }
        let (Some(txn), Some(at)) = (tracked.command.txn(), tracked.command.execute_at()) else { return };
        let read = |(key, rows): (Key, Option<Bytes>)| {
            let data = self.semantics.read(&txn.body, &key, rows.as_deref(), at);
            (key, Bytes::from(data))
        };
        let data: Vec<(Key, Bytes)> = rows.into_iter().map(read).collect();
        for reader in std::mem::take(&mut tracked.readers) {
            let verb = ReplyVerb::ReadOk(ReadOk { data: data.clone() });
            let reply = Reply { txn_id: id, ballot: reader.ballot, verb };
            turn.out.reply(reader.from, reader.ticket, reply);
        }
    }

    /// The state before `id` is about to go, or has gone: its readers must ask elsewhere.
    fn refuse_readers(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        let Some(tracked) = self.commands.get_mut(&id) else { return };
        for reader in std::mem::take(&mut tracked.readers) {
            let verb = ReplyVerb::ReadSuperseded(ReadSuperseded {});
            let reply = Reply { txn_id: id, ballot: reader.ballot, verb };
            turn.out.reply(reader.from, reader.ticket, reply);
        }
    }
}
