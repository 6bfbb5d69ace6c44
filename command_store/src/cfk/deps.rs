//! Which transactions a new one must come after, and how many of them are not applied yet.
//!
//! *Source*: [SPEC 5.2, 5.5, 10].

use super::{CommandsForKey, Entry, EntryStatus};
use protocol::message::Backlog;
use protocol::{DepSet, Timestamp, TxnId, TxnKind};
use smallvec::SmallVec;

/// What a visit of the conflicts at one key yields.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Conflicts {
    /// The dependencies.
    pub(crate) deps: DepSet,
    /// Those of them that are not applied here.
    pub(crate) backlog: Backlog,
}

/// The quiet entries that elision cannot leave out: the write with the highest execution time among them, and whatever it does
/// not cover. Small, whatever the number of quiet entries.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct QuietFrontier {
    frontier: SmallVec<[(TxnId, Timestamp); 1]>,
    last_write: Option<(TxnId, Timestamp)>,
}

impl QuietFrontier {
    /// Takes in the next quiet entry, in id order.
    pub(super) fn pass(&mut self, entry: &Entry) {
        if entry.status == EntryStatus::Invalidated {
            return;
        }
        let passed = (entry.id, entry.at);
        if entry.id.kind() == TxnKind::Write && self.last_write.is_none_or(|(_, at)| at < entry.at) {
            self.last_write = Some(passed);
            self.frontier.retain(|(id, at)| !(*id < passed.0 && *at < passed.1));
        }
        // never covered by an earlier write: ids rise
        self.frontier.push(passed);
    }
}

impl CommandsForKey {
    /// The dependencies of `id` among transactions with an id below `bound`.
    ///
    /// With `elide`, those that are durably committed and lie below the highest stable write before `bound` are left out: they are
    /// reached through it.
    pub(crate) fn conflicts(&self, id: TxnId, bound: Timestamp, elide: bool) -> Conflicts {
        let cover = if elide { self.covering_write(bound) } else { None };
        let mut found = Conflicts::default();
        let mut deps: SmallVec<[TxnId; 8]> = SmallVec::new();
        let is_covered = |other: TxnId, at: Timestamp| {
            cover.is_some_and(|(write, write_at)| other != write && other < write && at < write_at)
        };
        let is_conflict = |other: TxnId| other != id && other.as_timestamp() < bound && id.witnesses(other);
        let quiet_is_covered = self.quiet_writes.last_write.is_some_and(|(_, at)| at < bound);
        if elide && quiet_is_covered {
            let frontier = self.quiet_writes.frontier.iter();
            deps.extend(
                frontier.filter(|(other, at)| is_conflict(*other) && !is_covered(*other, *at)).map(|(id, _)| *id),
            );
        }
        let visited = if elide && quiet_is_covered { &self.entries[self.quiet..] } else { &self.entries[..] };
        for entry in visited {
            let is_named_only = matches!(entry.status, EntryStatus::Transitive | EntryStatus::Invalidated);
            let is_elided = entry.is_durable && entry.status.is_committed() && is_covered(entry.id, entry.at);
            if is_named_only || !is_conflict(entry.id) || is_elided {
                continue;
            }
            deps.push(entry.id);
            if !entry.status.is_done() {
                count(&mut found.backlog, id, entry.id);
            }
        }
        deps.sort_unstable();
        found.deps = DepSet::stable(deps);
        found
    }

    /// The stable write with the highest execution time below `bound`.
    fn covering_write(&self, bound: Timestamp) -> Option<(TxnId, Timestamp)> {
        let quiet = self.quiet_writes.last_write.filter(|(_, at)| *at < bound);
        let visited = if quiet.is_some() { &self.entries[self.quiet..] } else { &self.entries[..] };
        let is_cover = |entry: &&Entry| {
            entry.id.kind() == TxnKind::Write
                && entry.status >= EntryStatus::Stable
                && entry.status != EntryStatus::Invalidated
                && entry.at < bound
        };
        let recent = visited.iter().filter(is_cover).map(|entry| (entry.id, entry.at));
        recent.chain(quiet).max_by_key(|(_, at)| *at)
    }
}

fn count(backlog: &mut Backlog, id: TxnId, unapplied: TxnId) {
    let age = id.hlc().0.saturating_sub(unapplied.hlc().0);
    backlog.count += 1;
    backlog.max_age = backlog.max_age.max(age);
    backlog.sum_age = backlog.sum_age.saturating_add(age);
}
