//! How a transaction ends for its client.

use crate::bytes::Blob;
use std::fmt;

/// The way a transaction was decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Path {
    /// F votes for its id in every shard.
    Fast,
    /// q votes for its id, and an Accept round.
    Medium,
    /// Accept and Commit rounds.
    Slow,
    /// A read without a durable record.
    Ephemeral,
    /// By somebody else, after its coordinator was overtaken.
    Recovery,
}

impl Path {
    /// As in metrics and in the custom payload.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Medium => "medium",
            Self::Slow => "slow",
            Self::Ephemeral => "ephemeral",
            Self::Recovery => "recovery",
        }
    }
}

/// Why a transaction never took and never will take effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NotApplied {
    /// Refused at the door: too much in flight.
    Overloaded,
    /// Durably invalidated.
    Invalidated,
    /// A replica refused to let it start, and it was durably invalidated.
    Rejected,
    /// Not enough replicas could be asked, and nothing was sent.
    Unavailable,
    /// Its keys belong to no shard of this cluster.
    Misplaced,
}

impl fmt::Display for NotApplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overloaded => "the node has too many transactions in flight; try again shortly",
            Self::Invalidated => "the transaction was invalidated and has no effect; it is safe to try again",
            Self::Rejected => {
                "the transaction came too late for a replica and was invalidated; it is safe to try again"
            }
            Self::Unavailable => "not enough replicas are reachable, and nothing was sent",
            Self::Misplaced => "the keyspace's replication factor is larger than the cluster",
        })
    }
}

/// What a client may be told. An unknown outcome is never folded into a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientOutcome {
    /// It took effect; here is what it returns.
    Applied {
        /// The result blob of the semantics.
        result: Blob,
        /// How it was decided.
        path: Path,
    },
    /// It never took and never will take effect.
    NotApplied(NotApplied),
    /// It may or may not have taken effect, now or later.
    Unknown,
}
