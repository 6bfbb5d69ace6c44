//! What a transaction is: its kind, who witnesses whom, and its opaque body.
//!
//! *Source*: [SPEC 1.2, 1.5].

use crate::bytes::Blob;
use serde::{Deserialize, Serialize};

/// Keys, or ranges of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Domain {
    /// A set of keys.
    #[default]
    Key = 0,
    /// A set of ranges (sync points).
    Range = 1,
}

/// How many keys a transaction has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Cardinality {
    /// Exactly one key.
    #[default]
    One = 0,
    /// Any number; ranges are always this.
    Any = 1,
}

/// Which fast quorum a transaction uses; fixed in its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum FastPathKind {
    /// The coordinator is no special voter.
    #[default]
    Unoptimised = 0,
    /// The coordinator votes first.
    PrivilegedWithoutDeps = 1,
    /// The coordinator votes first and its dependencies travel with its vote.
    PrivilegedWithDeps = 2,
}

impl FastPathKind {
    pub(crate) const fn from_ordinal(ordinal: u8) -> Option<Self> {
        match ordinal {
            0 => Some(Self::Unoptimised),
            1 => Some(Self::PrivilegedWithoutDeps),
            2 => Some(Self::PrivilegedWithDeps),
            _ => None,
        }
    }

    /// Whether the coordinator's own vote comes first and is told to everyone.
    pub fn is_privileged(self) -> bool {
        self != Self::Unoptimised
    }
}

/// The kind of a transaction. Ordinals are identity bits of the id and never change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum TxnKind {
    /// Reads keys, writes nothing.
    Read = 0,
    /// May read and write keys.
    #[default]
    Write = 1,
    /// Reads without a durable record.
    EphemeralRead = 2,
    /// Closes a range below its id.
    ExclusiveSyncPoint = 3,
    /// Makes a range visible below its id.
    VisibilitySyncPoint = 4,
}

impl TxnKind {
    pub(crate) const fn from_ordinal(ordinal: u8) -> Option<Self> {
        match ordinal {
            0 => Some(Self::Read),
            1 => Some(Self::Write),
            2 => Some(Self::EphemeralRead),
            3 => Some(Self::ExclusiveSyncPoint),
            4 => Some(Self::VisibilitySyncPoint),
            _ => None,
        }
    }

    /// Whether it closes or makes visible a range instead of touching rows.
    pub const fn is_sync_point(self) -> bool {
        matches!(self, Self::ExclusiveSyncPoint | Self::VisibilitySyncPoint)
    }

    /// Whether a transaction of this kind must take one of kind `other` as a dependency. *Source*: [SPEC 1.5].
    pub const fn witnesses(self, other: Self) -> bool {
        match other {
            Self::EphemeralRead => false,
            Self::Read => !matches!(self, Self::Read | Self::EphemeralRead),
            Self::Write => true,
            Self::ExclusiveSyncPoint | Self::VisibilitySyncPoint => self.is_sync_point(),
        }
    }

    /// One letter for logs.
    pub const fn letter(self) -> char {
        match self {
            Self::Read => 'R',
            Self::Write => 'W',
            Self::EphemeralRead => 'E',
            Self::ExclusiveSyncPoint => 'X',
            Self::VisibilitySyncPoint => 'V',
        }
    }
}

/// The definition of a transaction: what its coordinator wants done. Keys are in its [`crate::Route`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Txn {
    /// The body, meaningful to the injected [`crate::Semantics`] only.
    pub body: Blob,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_do_not_witness_reads() {
        assert!(!TxnKind::Read.witnesses(TxnKind::Read));
        assert!(TxnKind::Read.witnesses(TxnKind::Write));
        assert!(TxnKind::Write.witnesses(TxnKind::Read));
    }

    #[test]
    fn nobody_witnesses_an_ephemeral_read() {
        for ordinal in 0..5 {
            let kind = TxnKind::from_ordinal(ordinal).expect("five kinds");
            assert!(!kind.witnesses(TxnKind::EphemeralRead));
        }
    }

    #[test]
    fn only_sync_points_witness_sync_points() {
        assert!(TxnKind::ExclusiveSyncPoint.witnesses(TxnKind::VisibilitySyncPoint));
        assert!(!TxnKind::Write.witnesses(TxnKind::ExclusiveSyncPoint));
    }
}
