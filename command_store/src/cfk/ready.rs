//! When a stable transaction may run at this key.
//!
//! *Source*: [SPEC 6.2, 6.3].

use super::{CommandsForKey, Entry, EntryStatus};
use protocol::{DepSet, Timestamp, TxnId, TxnKind};

impl CommandsForKey {
    /// Whether every conflict that must come before `id`, stable to execute at `at` with `deps`, is done here.
    ///
    /// Decided conflicts with a lower execution time are waited for even if `deps` does not name them: a total order cannot
    /// deadlock. Undecided ones are waited for only if named; the others will end up later, by completeness of `deps`.
    pub fn is_ready(&self, id: TxnId, at: Timestamp, deps: &DepSet) -> bool {
        !self.entries[self.quiet..].iter().any(|entry| blocks(entry, id, at, deps))
    }

    /// The undecided conflicts that hold `id` back.
    pub fn undecided_before(&self, id: TxnId, at: Timestamp, deps: &DepSet) -> Vec<TxnId> {
        let blocking = self.entries[self.quiet..].iter().filter(|entry| blocks(entry, id, at, deps));
        blocking.filter(|entry| !entry.status.is_decided()).map(|entry| entry.id).collect()
    }

    /// Everything that holds `id` back, decided or not, and how far it has come.
    pub(crate) fn blockers_of(
        &self,
        id: TxnId,
        at: Timestamp,
        deps: &DepSet,
    ) -> impl Iterator<Item = (TxnId, EntryStatus)> {
        let blocking = self.entries[self.quiet..].iter().filter(move |entry| blocks(entry, id, at, deps));
        blocking.map(|entry| (entry.id, entry.status))
    }

    /// `id`, stable to execute at `at`, waits to be woken by [`CommandsForKey::wake`].
    pub fn wait(&mut self, id: TxnId, at: Timestamp) {
        if let Err(place) = self.waiting.binary_search(&(at, id)) {
            self.waiting.insert(place, (at, id));
        }
    }

    /// Takes out of the waiting list whoever may run now, in order of execution time.
    pub fn wake(&mut self) -> Vec<TxnId> {
        let mut woken = Vec::new();
        let mut place = 0;
        while let Some((at, id)) = self.waiting.get(place).copied() {
            let deps = self.get(id).and_then(|entry| entry.deps.clone()).unwrap_or_default();
            if self.is_ready(id, at, &deps) {
                self.waiting.remove(place);
                woken.push(id);
            } else if id.kind() == TxnKind::Write {
                // nothing after an unapplied write can run
                break;
            } else {
                place += 1;
            }
        }
        woken
    }

    /// Whether anything waits here.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

fn blocks(entry: &Entry, id: TxnId, at: Timestamp, deps: &DepSet) -> bool {
    if entry.id == id || !id.witnesses(entry.id) {
        return false;
    }
    match entry.status {
        EntryStatus::Applied | EntryStatus::Invalidated => false,
        EntryStatus::Committed | EntryStatus::Stable => entry.at < at,
        // compare with the execution time and not the id: a slow transaction executes after ids above its own
        _ => entry.id.as_timestamp() < at && deps.contains(entry.id),
    }
}
