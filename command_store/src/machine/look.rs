//! What a store shows of itself to people: who is under way, and who waits for whom. Decides nothing and changes nothing.

use super::{CommandStore, Tracked};
use crate::cfk::EntryStatus;
use protocol::{Hooks, Status, TxnId};

/// Unfinished transactions looked at, at most; with more of them the counts are lower bounds.
const VISITS_MAX: usize = 10_000;

/// Blockers told of one transaction.
const BLOCKERS_MAX: usize = 16;

/// What one store holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoreLook {
    /// Commands in memory.
    pub command_count: usize,
    /// Keys with conflicts on record.
    pub key_count: usize,
    /// Transactions the progress log watches.
    pub watched_count: usize,
    /// Transactions that are ready to run but for others before them.
    pub blocked_count: usize,
    /// The lowest id among those.
    pub oldest_blocked: Option<TxnId>,
    /// Unfinished transactions, ascending by id, no more than asked for.
    pub unfinished: Vec<Unfinished>,
    /// Who waits for whom, by waiting id, no more than asked for.
    pub blocked: Vec<Blocked>,
}

/// A transaction that has not come to its end at a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// Which.
    pub txn_id: TxnId,
    /// How far it has come here; `None` if it is known only from others' dependencies.
    pub status: Option<Status>,
    /// Keys it touches, as far as known here.
    pub key_count: usize,
}

/// A transaction that has to wait for another at some key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// Who waits.
    pub txn_id: TxnId,
    /// For whom.
    pub by: TxnId,
    /// How far that one has come here.
    pub by_status: EntryStatus,
}

impl<H: Hooks> CommandStore<H> {
    /// Looks around; `most` bounds each list.
    pub fn look(&self, most: usize) -> StoreLook {
        let mut look = StoreLook {
            command_count: self.commands.len(),
            key_count: self.keys.len(),
            watched_count: self.progress.len(),
            ..StoreLook::default()
        };
        for id in self.progress.ids().take(VISITS_MAX) {
            let tracked = self.commands.get(&id);
            if look.unfinished.len() < most {
                let scope = tracked.and_then(|tracked| tracked.command.scope());
                let status = tracked.map(|tracked| tracked.command.status());
                let key_count = scope.map_or(0, |scope| scope.keys().len());
                look.unfinished.push(Unfinished { txn_id: id, status, key_count });
            }
            if let Some(tracked) = tracked.filter(|tracked| tracked.is_scheduled && !tracked.waiting_on.is_empty()) {
                look.blocked_count += 1;
                look.oldest_blocked.get_or_insert(id);
                self.add_blockers(id, tracked, most, &mut look.blocked);
            }
        }
        look
    }

    fn add_blockers(&self, id: TxnId, tracked: &Tracked, most: usize, blocked: &mut Vec<Blocked>) {
        let Some(at) = tracked.command.execute_at() else { return };
        let mut found: Vec<Blocked> = Vec::new();
        for key in &tracked.waiting_on {
            let Some(cfk) = self.keys.get(key) else { continue };
            let deps = tracked.command.deps().at(key).cloned().unwrap_or_default();
            for (by, by_status) in cfk.blockers_of(id, at, &deps) {
                if found.len() < BLOCKERS_MAX && found.iter().all(|known| known.by != by) {
                    found.push(Blocked { txn_id: id, by, by_status });
                }
            }
        }
        found.truncate(most.saturating_sub(blocked.len()));
        blocked.append(&mut found);
    }
}
