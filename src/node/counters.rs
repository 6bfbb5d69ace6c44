//! What a node counts about itself, on its own thread.

use super::latency::{Histogram, Minute};
use protocol::codec::DecodeError;
use protocol::{ClientOutcome, Micros, NodeId, NotApplied, Note, Path};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use tracing::{debug, warn};

/// The ways a transaction ends for its client: the outcome, and the path or reason.
pub(crate) const ENDS: [(&str, &str); 12] = [
    ("applied", "fast"),
    ("applied", "medium"),
    ("applied", "slow"),
    ("applied", "ephemeral"),
    ("applied", "recovery"),
    ("not_applied", "overloaded"),
    ("not_applied", "invalidated"),
    ("not_applied", "rejected"),
    ("not_applied", "unavailable"),
    ("not_applied", "misplaced"),
    ("not_applied", "refused"),
    ("unknown", "unknown"),
];

/// Which of [`ENDS`] it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End(usize);

impl End {
    /// Not begun, since this node takes nothing just now.
    pub(crate) const REFUSED: Self = Self(10);

    pub(crate) fn of(outcome: &ClientOutcome) -> Self {
        Self(match outcome {
            ClientOutcome::Applied { path: Path::Fast, .. } => 0,
            ClientOutcome::Applied { path: Path::Medium, .. } => 1,
            ClientOutcome::Applied { path: Path::Slow, .. } => 2,
            ClientOutcome::Applied { path: Path::Ephemeral, .. } => 3,
            ClientOutcome::Applied { path: Path::Recovery, .. } => 4,
            ClientOutcome::NotApplied(NotApplied::Overloaded) => 5,
            ClientOutcome::NotApplied(NotApplied::Invalidated) => 6,
            ClientOutcome::NotApplied(NotApplied::Rejected) => 7,
            ClientOutcome::NotApplied(NotApplied::Unavailable) => 8,
            ClientOutcome::NotApplied(NotApplied::Misplaced) => 9,
            ClientOutcome::Unknown => 11,
        })
    }

    const fn is_applied(self) -> bool {
        self.0 < 5
    }
}

/// How the transactions of this node's clients ended, and how long the applied ones took.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    counts: [Cell<u64>; ENDS.len()],
    latencies: Histogram,
    latency_sum_us: Cell<u64>,
    minute: Minute<{ ENDS.len() }>,
}

impl Ends {
    pub(crate) fn count(&self, end: End, began: Micros, now: Micros) {
        let count = &self.counts[end.0];
        count.set(count.get() + 1);
        let latency = now.0.saturating_sub(began.0);
        if end.is_applied() {
            self.latencies.record(latency);
            self.latency_sum_us.set(self.latency_sum_us.get() + latency);
        }
        self.minute.record(now.0, end.0, end.is_applied().then_some(latency));
    }

    /// Since the start.
    pub(crate) fn counts(&self) -> [u64; ENDS.len()] {
        std::array::from_fn(|at| self.counts[at].get())
    }

    /// Times of the applied ones since the start, and their sum in microseconds.
    pub(crate) fn latencies(&self) -> (&Histogram, u64) {
        (&self.latencies, self.latency_sum_us.get())
    }

    pub(crate) fn last_minute(&self, now: Micros) -> ([u64; ENDS.len()], Histogram) {
        self.minute.sum(now.0)
    }
}

/// How far a peer's clock is seen to be ahead, over the last half to whole minute.
///
/// *Shape*: the highest of id minus own wall clock on arrival, in microseconds: the offset of the two clocks less the shortest way here,
/// so it understates by at most that.
#[derive(Clone, Copy, Debug, Default)]
struct ClockLead {
    period: u64,
    highest: Option<i64>,
    before: Option<i64>,
}

/// *Units*: microseconds over which the highest lead is taken.
const LEAD_PERIOD_US: u64 = 30_000_000;

impl ClockLead {
    fn turn_to(&mut self, period: u64) {
        if self.period != period {
            self.before = self.highest.filter(|_| self.period + 1 == period);
            (self.period, self.highest) = (period, None);
        }
    }
}

/// Counters of one node.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    notes: RefCell<BTreeMap<Note, u64>>,
    /// Messages of peers that are none.
    bad_messages: Cell<u64>,
    /// Messages that found no place on their link.
    pub(crate) unsent: Cell<u64>,
    pub(crate) ends: Ends,
    leads: RefCell<BTreeMap<NodeId, ClockLead>>,
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

    /// A fresh id of `peer` has arrived that reads `lead_us` above the own wall clock.
    pub(crate) fn note_lead(&self, peer: NodeId, lead_us: i64, now: Micros) {
        let mut leads = self.leads.borrow_mut();
        let lead = leads.entry(peer).or_default();
        lead.turn_to(now.0 / LEAD_PERIOD_US);
        lead.highest = lead.highest.max(Some(lead_us));
    }

    /// How far the clock of `peer` is ahead, less the way here; `None` if it has begun nothing lately. *Units*: microseconds.
    pub(crate) fn lead_of(&self, peer: NodeId, now: Micros) -> Option<i64> {
        let mut lead = self.leads.borrow().get(&peer).copied()?;
        lead.turn_to(now.0 / LEAD_PERIOD_US);
        lead.highest.max(lead.before)
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
            clock_skew: of(Note::ClockSkew),
            another_reader: of(Note::AnotherReader),
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
    /// Messages refused because their transaction's clock is too far ahead.
    pub clock_skew: u64,
    /// Reads asked of a second replica.
    pub another_reader: u64,
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
            clock_skew: self.clock_skew + other.clock_skew,
            another_reader: self.another_reader + other.another_reader,
            bad_messages: self.bad_messages + other.bad_messages,
            unsent_messages: self.unsent_messages + other.unsent_messages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Blob;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn every_end_is_counted_under_its_name() {
        let applied = |path| ClientOutcome::Applied { result: Blob::default(), path };
        let paths = [Path::Fast, Path::Medium, Path::Slow, Path::Ephemeral, Path::Recovery];
        for path in paths {
            assert_eq!(ENDS[End::of(&applied(path)).0], ("applied", path.name()));
        }
        assert_eq!(ENDS[End::of(&ClientOutcome::NotApplied(NotApplied::Rejected)).0], ("not_applied", "rejected"));
        assert_eq!(ENDS[End::of(&ClientOutcome::Unknown).0].0, "unknown");
        assert_eq!(ENDS[End::REFUSED.0].1, "refused");
    }

    #[test]
    fn only_applied_transactions_have_a_latency() {
        let ends = Ends::default();
        ends.count(End::of(&ClientOutcome::Unknown), Micros(0), Micros(10 * SECOND));
        ends.count(End(0), Micros(10), Micros(17));
        let (times, sum) = ends.latencies();
        assert_eq!((times.count(), sum), (1, 7));
        let (counts, minute) = ends.last_minute(Micros(10 * SECOND));
        assert_eq!((counts[0], counts[11], minute.quantile(0.99)), (1, 1, Some(7)));
    }

    #[test]
    fn the_highest_lead_counts_until_it_is_old() {
        let counters = Counters::default();
        let peer = NodeId(2);
        let at = |s: u64| Micros(s * SECOND);
        assert_eq!(counters.lead_of(peer, at(0)), None);
        counters.note_lead(peer, -300, at(1));
        counters.note_lead(peer, -900, at(2));
        assert_eq!(counters.lead_of(peer, at(29)), Some(-300));
        counters.note_lead(peer, -500, at(31));
        assert_eq!(counters.lead_of(peer, at(59)), Some(-300));
        assert_eq!(counters.lead_of(peer, at(61)), Some(-500));
        assert_eq!(counters.lead_of(peer, at(200)), None);
    }
}
