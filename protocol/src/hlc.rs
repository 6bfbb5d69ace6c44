//! The node's hybrid logical clock: one atomic word, and a reservation in the journal that no restart reissues.
//!
//! *Source*: [SPEC 1.3].

use crate::id::NodeId;
use crate::time::{Micros, Now};
use crate::timestamp::{Ballot, Epoch, Hlc, Timestamp, TxnId, TxnShape};
use std::sync::atomic::{AtomicU64, Ordering};

/// How far ahead of the wall clock a reservation reaches. A node that restarts at once comes back with a clock at most this far ahead.
pub const RESERVATION: Micros = Micros::from_secs(2);

/// How far a foreign ballot may pull the reservation ahead of the wall clock.
const LEAD_MAX: Micros = Micros::from_secs(60);

/// Issued values may pass the durable reservation by this much before issuing stops; the journal record already includes it.
const SLACK: u64 = 500_000;

/// The clock of one node, shared by its stores and coordinators and handed to each turn.
///
/// Every value it issues is unique on the node, and with the node id unique in the cluster. Ids and ballots leave the node without
/// a record of their own, so they are issued only up to the durable reservation; a witnessed timestamp is journalled before it
/// leaves and needs none.
#[derive(Debug)]
pub struct NodeClock {
    node: NodeId,
    epoch: Epoch,
    last: AtomicU64,
    reserved: AtomicU64,
    wanted: AtomicU64,
}

impl NodeClock {
    /// A clock that resumes above everything below `resume_at`, the highest reservation or own timestamp found in the journal.
    ///
    /// It issues nothing until [`NodeClock::reserved`] has been told of a durable reservation.
    pub fn new(node: NodeId, epoch: Epoch, resume_at: Hlc) -> Self {
        Self { node, epoch, last: AtomicU64::new(resume_at.0), reserved: AtomicU64::new(0), wanted: AtomicU64::new(0) }
    }

    /// The node it belongs to.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The epoch stamped on what it issues.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The current reading, without issuing anything.
    pub fn read(&self, now: Now) -> Hlc {
        Hlc(self.last.load(Ordering::Relaxed).max(now.wall.0))
    }

    /// The reservation to make durable now, if the present one runs out within half its span.
    pub fn reservation_due(&self, now: Now) -> Option<Hlc> {
        let asked = self.wanted.load(Ordering::Relaxed).min(now.wall.0 + LEAD_MAX.0);
        let wanted = self.read(now).0.max(asked) + RESERVATION.0;
        (wanted > self.reserved.load(Ordering::Relaxed) + RESERVATION.0 / 2).then_some(Hlc(wanted + SLACK))
    }

    /// A reservation up to `upto` is durable.
    pub fn reserved(&self, upto: Hlc) {
        self.reserved.fetch_max(upto.0.saturating_sub(SLACK), Ordering::Relaxed);
    }

    /// A fresh value for an id or ballot; `None` while the reservation is used up (a journal that does not sync).
    fn issue(&self, now: Now) -> Option<Hlc> {
        let reserved = self.reserved.load(Ordering::Relaxed);
        let next = now.wall.0.min(reserved).max(self.last.load(Ordering::Relaxed) + 1);
        if reserved == 0 || next > reserved + SLACK {
            return None;
        }
        self.last.store(next, Ordering::Relaxed);
        Some(Hlc(next))
    }

    /// A fresh transaction id.
    pub fn txn_id(&self, now: Now, shape: TxnShape) -> Option<TxnId> {
        self.issue(now).map(|hlc| TxnId::new(self.epoch, hlc, self.node, shape))
    }

    /// A fresh ballot, above `above`; `None` until the reservation has followed a ballot that lies ahead of it.
    pub fn ballot(&self, now: Now, above: Ballot) -> Option<Ballot> {
        let floor = above.as_timestamp().hlc().0;
        if floor <= self.reserved.load(Ordering::Relaxed) {
            self.last.fetch_max(floor, Ordering::Relaxed);
        } else {
            self.wanted.fetch_max(floor, Ordering::Relaxed);
        }
        let hlc = self.issue(now).filter(|hlc| hlc.0 > floor)?;
        Some(Ballot::new(self.epoch.max(above.as_timestamp().epoch()), hlc, self.node))
    }

    /// A timestamp of this node, unique and with an hlc above that of `other`.
    pub fn unique_after(&self, now: Now, other: Timestamp) -> Timestamp {
        let next = now.wall.0.max(self.last.load(Ordering::Relaxed) + 1).max(other.hlc().0 + 1);
        self.last.store(next, Ordering::Relaxed);
        Timestamp::new(self.epoch.max(other.epoch()), Hlc(next), 0, self.node)
    }

    /// The last value issued; for restarts and checks.
    pub fn last(&self) -> Hlc {
        Hlc(self.last.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(wall: u64) -> Now {
        Now { mono: Micros(0), wall: Micros(wall) }
    }

    fn clock() -> NodeClock {
        NodeClock::new(NodeId(1), Epoch(1), Hlc(0))
    }

    #[test]
    fn nothing_is_issued_before_a_reservation_is_durable() {
        let clock = clock();
        let wall = 10_000_000;
        assert_eq!(clock.txn_id(now(wall), TxnShape::default()), None);
        clock.reserved(clock.reservation_due(now(wall)).expect("due at once"));
        assert!(clock.txn_id(now(wall), TxnShape::default()).is_some());
    }

    #[test]
    fn issued_values_stay_below_what_is_durable_when_the_wall_jumps() {
        let clock = clock();
        let upto = clock.reservation_due(now(10_000_000)).expect("due");
        clock.reserved(upto);
        let id = clock.txn_id(now(9_000_000_000), TxnShape::default()).expect("creeps on inside the reservation");
        assert!(id.hlc() <= upto);
    }

    #[test]
    fn a_restart_from_the_reservation_reissues_nothing() {
        let clock = clock();
        let upto = clock.reservation_due(now(10_000_000)).expect("due");
        clock.reserved(upto);
        let before = clock.txn_id(now(10_000_001), TxnShape::default()).expect("issued");
        let after = NodeClock::new(NodeId(1), Epoch(1), upto);
        after.reserved(after.reservation_due(now(5)).expect("due"));
        assert!(after.txn_id(now(5), TxnShape::default()).expect("issued") > before);
    }

    #[test]
    fn unique_after_passes_the_other_and_never_repeats() {
        let clock = clock();
        let far = Timestamp::new(Epoch(2), Hlc(99_000_000), 3, NodeId(9));
        let first = clock.unique_after(now(5), far);
        let second = clock.unique_after(now(5), far);
        assert!(far < first && first < second);
        assert_eq!(first.epoch(), Epoch(2));
    }
}
