//! What a node counts about itself, on its own thread.

use protocol::codec::DecodeError;
use protocol::{NodeId, Note, Path};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use tracing::{debug, warn};

/// Counters of one node.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    notes: RefCell<BTreeMap<Note, u64>>,
    /// Messages of peers that are none.
    bad_messages: Cell<u64>,
    /// Messages that found no place on their link.
    pub(crate) unsent: Cell<u64>,
}

impl Counters {
    pub(crate) fn note(&self, note: Note) {
        *self.notes.borrow_mut().entry(note).or_default() += 1;
        if !matches!(note, Note::PathTaken(_)) {
            debug!(?note, "coordination");
        }
    }

    /// A well-sealed message that cannot be read: a peer of another version, or a bug. Dropped, as if it were lost.
    pub(crate) fn count_bad_message(&self, from: NodeId, error: &DecodeError) {
        let count = self.bad_messages.get() + 1;
        self.bad_messages.set(count);
        // a peer that sends nothing else must not fill the log
        if count.is_power_of_two() {
            warn!(%from, count, "message of {from} cannot be read and is dropped: {error}");
        }
    }

    /// Everything counted so far.
    pub(crate) fn figures(&self) -> Figures {
        let notes = self.notes.borrow();
        let path = |path| notes.get(&Note::PathTaken(path)).copied().unwrap_or(0);
        let of = |note| notes.get(&note).copied().unwrap_or(0);
        Figures {
            fast: path(Path::Fast),
            medium: path(Path::Medium),
            slow: path(Path::Slow),
            recoveries: of(Note::RecoveryStarted),
            invalidations: of(Note::InvalidationStarted),
            preempted: of(Note::Preempted),
            rejected: of(Note::Rejected),
            bad_messages: self.bad_messages.get(),
            unsent_messages: self.unsent.get(),
        }
    }
}

/// What a node has done since it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Transactions coordinated here that were decided on the fast path.
    pub fast: u64,
    /// The same on the medium path.
    pub medium: u64,
    /// The same on the slow path.
    pub slow: u64,
    /// Recoveries begun here.
    pub recoveries: u64,
    /// Invalidations begun here.
    pub invalidations: u64,
    /// Coordinations overtaken by a higher ballot.
    pub preempted: u64,
    /// Transactions a replica refused to let start.
    pub rejected: u64,
    /// Messages of peers that could not be read.
    pub bad_messages: u64,
    /// Messages to peers that found no place on their link.
    pub unsent_messages: u64,
}

impl std::ops::Add for Figures {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            fast: self.fast + other.fast,
            medium: self.medium + other.medium,
            slow: self.slow + other.slow,
            recoveries: self.recoveries + other.recoveries,
            invalidations: self.invalidations + other.invalidations,
            preempted: self.preempted + other.preempted,
            rejected: self.rejected + other.rejected,
            bad_messages: self.bad_messages + other.bad_messages,
            unsent_messages: self.unsent_messages + other.unsent_messages,
        }
    }
}
