use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use auth::Refused;

use crate::HandshakeFailure;

/// A number that only rises; read by status pages while tasks count.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the new value.
    pub(crate) fn add(&self, count: u64) -> u64 {
        self.0.fetch_add(count, Ordering::Relaxed).wrapping_add(count)
    }
}

/// What one outbound link did. *Units*: bytes include headers, tags and length prefixes.
#[derive(Debug, Default)]
pub struct LinkCounters {
    pub frames: Counter,
    pub bytes: Counter,
    pub messages: Counter,
    /// New work refused because the queue was full.
    pub refused_new: Counter,
    /// Other messages that did not fit the frame limit and were dropped.
    pub refused_full: Counter,
    /// Messages and bytes dropped because the peer was lost or could not be reached.
    pub dropped_messages: Counter,
    pub dropped_bytes: Counter,
    pub connects: Counter,
    /// Connections that ended other than by closing the link.
    pub losses: Counter,
    /// Attempts that did not reach the peer's port.
    pub unreachable: Counter,
    pub handshake_failures: HandshakeCounters,
}

/// What came from one peer.
#[derive(Debug, Default)]
pub struct InboundCounters {
    pub connections: Counter,
    /// Connections closed because the peer opened a newer one.
    pub replaced: Counter,
    pub frames: Counter,
    pub bytes: Counter,
    pub messages: Counter,
    /// Streams whose bytes were no frames, or frames beyond the limit.
    pub uncuttable: Counter,
    /// Well-sealed frames whose payload was no batch of messages.
    pub malformed: Counter,
    refused: [Counter; Refused::CAUSES.len()],
}

impl InboundCounters {
    pub(crate) fn count_refused(&self, refused: &Refused) {
        self.refused[refused.index()].add(1);
    }

    /// Frames refused, by the label of the cause.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Refused::CAUSES.into_iter().zip(self.refused.iter().map(Counter::get))
    }

    /// Frames refused for any cause.
    pub fn refused_total(&self) -> u64 {
        self.refused.iter().map(Counter::get).sum()
    }
}

/// What the listener saw.
#[derive(Debug, Default)]
pub struct ListenerCounters {
    pub accepted: Counter,
    /// Connections closed unheard because too many had not proved a key yet.
    pub turned_away: Counter,
    pub handshake_failures: HandshakeCounters,
    peers: BTreeMap<u32, InboundCounters>,
}

impl ListenerCounters {
    pub(crate) fn new(peers: impl Iterator<Item = u32>) -> Self {
        Self { peers: peers.map(|id| (id, InboundCounters::default())).collect(), ..Self::default() }
    }

    /// Counters of one configured peer.
    pub fn peer(&self, id: u32) -> Option<&InboundCounters> {
        self.peers.get(&id)
    }

    /// Counters of all configured peers, ascending by id.
    pub fn peers(&self) -> impl Iterator<Item = (u32, &InboundCounters)> {
        self.peers.iter().map(|(id, counters)| (*id, counters))
    }
}

/// Handshakes that failed, by cause.
#[derive(Debug, Default)]
pub struct HandshakeCounters([Counter; HandshakeFailure::CAUSES.len()]);

impl HandshakeCounters {
    /// Counts one and tells how many of its cause there were.
    pub(crate) fn count(&self, failure: &HandshakeFailure) -> u64 {
        self.0[failure.index()].add(1)
    }

    /// Number of failures for each label of [`HandshakeFailure::CAUSES`].
    pub fn by_cause(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        HandshakeFailure::CAUSES.into_iter().zip(self.0.iter().map(Counter::get))
    }

    /// Number of failures with this label; 0 for an unknown one.
    pub fn of(&self, cause: &str) -> u64 {
        self.by_cause().find(|(label, _)| *label == cause).map_or(0, |(_, count)| count)
    }
}
