//! What this key testifies to the recovery of a transaction: who saw it, and who must be decided before anyone can tell.
//!
//! *Source*: [SPEC 5.3, 7.2].

use super::{CommandsForKey, Entry, EntryStatus};
use protocol::{Timestamp, TxnId};

/// What one conflicting transaction says about the recovered one, over the keys they share here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Witness {
    /// How far it has come.
    pub(crate) status: EntryStatus,
    /// Proposed or decided.
    pub(crate) at: Timestamp,
    /// Whether its dependencies say anything about the recovered transaction, and if so, whether they name it at every shared key.
    pub(crate) names: Option<bool>,
}

impl Witness {
    /// The same witness met at another shared key.
    pub(crate) fn and(self, other: Self) -> Self {
        let names = match (self.names, other.names) {
            (Some(here), Some(there)) => Some(here && there),
            (one, other) => one.or(other),
        };
        Self { names, ..self }
    }
}

impl CommandsForKey {
    /// Every conflicting transaction at this key that must witness `id`, with what it says.
    ///
    /// `count_unstable` is a planted bug: UNSTABLE entries order execution and are no testimony.
    pub(crate) fn witnesses(&self, id: TxnId, count_unstable: bool) -> impl Iterator<Item = (TxnId, Witness)> + '_ {
        let others = self
            .entries
            .iter()
            .filter(move |entry| entry.id != id && entry.status != EntryStatus::Transitive && entry.id.witnesses(id));
        others.map(move |entry| (entry.id, testimony(entry, id, count_unstable)))
    }
}

fn testimony(entry: &Entry, id: TxnId, count_unstable: bool) -> Witness {
    let known_before = if entry.status.is_committed() { entry.at } else { entry.id.as_timestamp() };
    let says_nothing = entry.status == EntryStatus::Invalidated || known_before <= id.as_timestamp();
    let deps = entry.deps.as_ref().filter(|_| !says_nothing);
    let names = deps.map(|deps| if count_unstable { deps.contains(id) } else { deps.contains_stable(id) });
    Witness { status: entry.status, at: entry.at, names }
}
