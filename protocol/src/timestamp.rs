//! The one total order of the protocol: timestamps, transaction ids and ballots.
//!
//! *Source*: [SPEC 1.1, 1.2, 1.4].

use crate::id::NodeId;
use crate::txn::{Cardinality, Domain, FastPathKind, TxnKind};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A configuration epoch. 48 bits on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(pub u64);

/// A hybrid logical clock reading.
///
/// *Units*: microseconds since the Unix epoch where the wall clock is ahead, otherwise a count above the last reading. 63 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Hlc(pub u64);

/// A unique point of the protocol's logical time.
///
/// *Shape*: ordered by epoch, then hlc, then identity flags, then node; equality is the same four. The high flag byte is always
/// zero, so the order of the values is the order of their 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    epoch: u64,
    hlc: u64,
    /// flags in bits 32..40, node in bits 0..32
    identity: u64,
}

/// Number of bytes of a [`Timestamp`] on wire and disk: epoch 6, hlc 8, flags 2, node 4, all big-endian.
pub const TIMESTAMP_BYTES: usize = 20;

const EPOCH_MAX: u64 = (1 << 48) - 1;
const HLC_MAX: u64 = (1 << 63) - 1;

/// The bytes are not a timestamp of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadTimestamp {
    /// A bit of the high flag byte is set; those bits are reserved and never travel.
    ReservedFlag(u8),
    /// The hlc uses its 64th bit.
    HlcTooLarge(u64),
}

impl fmt::Display for BadTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedFlag(bits) => write!(f, "timestamp has reserved flag bits {bits:#04x} set"),
            Self::HlcTooLarge(hlc) => write!(f, "timestamp hlc {hlc} does not fit 63 bits"),
        }
    }
}

impl Timestamp {
    /// Smaller than every issued timestamp.
    pub const NONE: Self = Self { epoch: 0, hlc: 0, identity: 0 };
    /// Larger than every issued timestamp.
    pub const MAX: Self = Self { epoch: EPOCH_MAX, hlc: HLC_MAX, identity: 0xff_ffff_ffff };

    /// Builds a timestamp; `flags` is the identity byte.
    ///
    /// *Panics*: if epoch or hlc exceed their 48 and 63 bits, which no clock of ours reaches.
    pub const fn new(epoch: Epoch, hlc: Hlc, flags: u8, node: NodeId) -> Self {
        assert!(epoch.0 <= EPOCH_MAX && hlc.0 <= HLC_MAX);
        Self { epoch: epoch.0, hlc: hlc.0, identity: (flags as u64) << 32 | node.0 as u64 }
    }

    /// The epoch in which it was issued.
    pub const fn epoch(self) -> Epoch {
        Epoch(self.epoch)
    }

    /// The clock reading.
    pub const fn hlc(self) -> Hlc {
        Hlc(self.hlc)
    }

    /// The identity flag byte.
    pub const fn flags(self) -> u8 {
        (self.identity >> 32) as u8
    }

    /// The node that issued it.
    pub const fn node(self) -> NodeId {
        NodeId(self.identity as u32)
    }

    /// The larger by (hlc, flags, node), its epoch raised to the larger epoch of the two.
    ///
    /// Never takes the hlc of one and the node of the other: the result must stay unique. *Source*: [SPEC 1.1].
    pub fn merge_max(self, other: Self) -> Self {
        let (larger, smaller) =
            if (self.hlc, self.identity) >= (other.hlc, other.identity) { (self, other) } else { (other, self) };
        Self { epoch: larger.epoch.max(smaller.epoch), ..larger }
    }

    /// The 20-byte form.
    pub fn to_bytes(self) -> [u8; TIMESTAMP_BYTES] {
        let mut bytes = [0; TIMESTAMP_BYTES];
        bytes[..6].copy_from_slice(&self.epoch.to_be_bytes()[2..]);
        bytes[6..14].copy_from_slice(&self.hlc.to_be_bytes());
        bytes[15] = self.flags();
        bytes[16..].copy_from_slice(&self.node().0.to_be_bytes());
        bytes
    }

    /// Reads the 20-byte form.
    ///
    /// *Errors*: a reserved flag or an hlc out of range.
    pub fn from_bytes(bytes: &[u8; TIMESTAMP_BYTES]) -> Result<Self, BadTimestamp> {
        let mut epoch = [0; 8];
        epoch[2..].copy_from_slice(&bytes[..6]);
        let hlc = u64::from_be_bytes(bytes[6..14].try_into().expect("eight bytes"));
        let node = u32::from_be_bytes(bytes[16..].try_into().expect("four bytes"));
        if bytes[14] != 0 {
            return Err(BadTimestamp::ReservedFlag(bytes[14]));
        }
        if hlc > HLC_MAX {
            return Err(BadTimestamp::HlcTooLarge(hlc));
        }
        Ok(Self::new(Epoch(u64::from_be_bytes(epoch)), Hlc(hlc), bytes[15], NodeId(node)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `[epoch,hlc,flags,node]`
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{},{},{}]", self.epoch, self.hlc, self.flags(), self.node().0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{TIMESTAMP_BYTES} bytes of a timestamp")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Timestamp, E> {
                let bytes = bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))?;
                Timestamp::from_bytes(bytes).map_err(E::custom)
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// The identity of a transaction: the timestamp at which its coordinator hopes to execute it (t0).
///
/// The identity flags say kind, domain, cardinality and which fast and medium paths are allowed, so every replica and every
/// recovery derives the same quorums from the id alone. *Source*: [SPEC 1.2].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TxnId(Timestamp);

impl TxnId {
    /// Smaller than every issued id.
    pub const NONE: Self = Self(Timestamp::NONE);

    /// Builds an id from a fresh clock reading.
    pub fn new(epoch: Epoch, hlc: Hlc, node: NodeId, shape: TxnShape) -> Self {
        Self(Timestamp::new(epoch, hlc, shape.to_flags(), node))
    }

    /// The id as the timestamp it is.
    pub const fn as_timestamp(self) -> Timestamp {
        self.0
    }

    /// The smallest id whose timestamp is `timestamp`; refuses flags that name no kind.
    pub fn from_timestamp(timestamp: Timestamp) -> Option<Self> {
        TxnShape::from_flags(timestamp.flags()).map(|_| Self(timestamp))
    }

    /// The node that coordinates it at ballot zero.
    pub const fn node(self) -> NodeId {
        self.0.node()
    }

    /// The clock reading of its start.
    pub const fn hlc(self) -> Hlc {
        self.0.hlc()
    }

    /// The epoch of its coordination.
    pub const fn epoch(self) -> Epoch {
        self.0.epoch()
    }

    /// Everything its identity flags say.
    pub fn shape(self) -> TxnShape {
        TxnShape::from_flags(self.0.flags()).unwrap_or_default()
    }

    /// What kind of transaction it is.
    pub fn kind(self) -> TxnKind {
        self.shape().kind
    }

    /// Whether `self` must take `other` as a dependency where they share a key.
    pub fn witnesses(self, other: Self) -> bool {
        self.kind().witnesses(other.kind())
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `[epoch,hlc,flags(kind),node]`
impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.0;
        write!(f, "[{},{},{}({}),{}]", t.epoch, t.hlc, t.flags(), self.kind().letter(), t.node().0)
    }
}

/// The text is not a transaction id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTxnId(String);

impl fmt::Display for BadTxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a transaction id; expected [epoch,hlc,flags(kind),node]", self.0)
    }
}

impl std::str::FromStr for TxnId {
    type Err = BadTxnId;

    fn from_str(text: &str) -> Result<Self, BadTxnId> {
        let parse = || -> Option<Self> {
            let inner = text.strip_prefix('[')?.strip_suffix(']')?;
            let mut parts = inner.split(',');
            let epoch = parts.next()?.parse().ok().filter(|epoch| *epoch <= EPOCH_MAX)?;
            let hlc = parts.next()?.parse().ok().filter(|hlc| *hlc <= HLC_MAX)?;
            let flags = parts.next()?.split('(').next()?.parse().ok()?;
            let node = parts.next()?.parse().ok()?;
            let timestamp = Timestamp::new(Epoch(epoch), Hlc(hlc), flags, NodeId(node));
            parts.next().is_none().then_some(timestamp).and_then(Self::from_timestamp)
        };
        parse().ok_or_else(|| BadTxnId(text.to_owned()))
    }
}

impl Serialize for TxnId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TxnId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let timestamp = Timestamp::deserialize(deserializer)?;
        Self::from_timestamp(timestamp).ok_or_else(|| D::Error::custom("transaction id of unknown kind"))
    }
}

/// What the identity flags of a [`TxnId`] say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxnShape {
    /// Keys or ranges.
    pub domain: Domain,
    /// Read, write and so on.
    pub kind: TxnKind,
    /// Exactly one key, or any number.
    pub cardinality: Cardinality,
    /// Which fast quorum applies.
    pub fast_path: FastPathKind,
    /// Whether the medium path may be taken (and UNSTABLE marks are used).
    pub medium_path: bool,
}

impl TxnShape {
    const fn to_flags(self) -> u8 {
        self.domain as u8
            | (self.kind as u8) << 1
            | (self.cardinality as u8) << 4
            | (self.fast_path as u8) << 5
            | (self.medium_path as u8) << 7
    }

    fn from_flags(flags: u8) -> Option<Self> {
        Some(Self {
            domain: if flags & 1 == 0 { Domain::Key } else { Domain::Range },
            kind: TxnKind::from_ordinal(flags >> 1 & 7)?,
            cardinality: if flags & 0x10 == 0 { Cardinality::One } else { Cardinality::Any },
            fast_path: FastPathKind::from_ordinal(flags >> 5 & 3)?,
            medium_path: flags & 0x80 != 0,
        })
    }
}

/// A Paxos-style ballot. [`Ballot::ZERO`] belongs to the original coordinator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ballot(Timestamp);

impl Ballot {
    /// The original coordinator's ballot.
    pub const ZERO: Self = Self(Timestamp::NONE);

    /// Above every issued ballot: the ballot of decided facts, which no promise holds up.
    pub const MAX: Self = Self(Timestamp::MAX);

    /// A ballot of a recovery, from a fresh clock reading.
    pub const fn new(epoch: Epoch, hlc: Hlc, node: NodeId) -> Self {
        Self(Timestamp::new(epoch, hlc, 0, node))
    }

    /// The ballot as the timestamp it is.
    pub const fn as_timestamp(self) -> Timestamp {
        self.0
    }

    /// Whether it is the original coordinator's.
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl fmt::Debug for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() { f.write_str("b0") } else { write!(f, "b{}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: u64, hlc: u64, flags: u8, node: u32) -> Timestamp {
        Timestamp::new(Epoch(epoch), Hlc(hlc), flags, NodeId(node))
    }

    #[test]
    fn epoch_dominates_hlc() {
        assert!(at(1, 900, 0, 1) < at(2, 1, 0, 1));
    }

    #[test]
    fn merge_max_keeps_the_winner_whole_and_raises_its_epoch() {
        assert_eq!(at(1, 900, 2, 7).merge_max(at(2, 5, 0, 9)), at(2, 900, 2, 7));
    }

    #[test]
    fn ballot_zero_loses_to_any() {
        assert!(Ballot::ZERO < Ballot::new(Epoch(0), Hlc(1), NodeId(0)));
    }

    #[test]
    fn reserved_flag_byte_is_refused() {
        let mut bytes = at(1, 2, 3, 4).to_bytes();
        bytes[14] = 4;
        assert_eq!(Timestamp::from_bytes(&bytes), Err(BadTimestamp::ReservedFlag(4)));
    }

    #[test]
    fn golden_bytes_of_a_timestamp() {
        let bytes = at(0x0102_0304_0506, 0x1112_1314_1516_1718, 0x21, 0x3132_3334).to_bytes();
        let golden =
            [1, 2, 3, 4, 5, 6, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0x21, 0x31, 0x32, 0x33, 0x34];
        assert_eq!(bytes, golden);
    }

    #[test]
    fn txn_id_prints_and_parses_back() {
        let shape = TxnShape { kind: TxnKind::Write, medium_path: true, ..TxnShape::default() };
        let id = TxnId::new(Epoch(1), Hlc(77), NodeId(3), shape);
        assert_eq!(id.to_string(), "[1,77,130(W),3]");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("[1,2,3]".parse::<TxnId>().is_err());
    }

    #[test]
    fn unknown_kinds_are_no_ids() {
        assert_eq!(TxnId::from_timestamp(at(1, 1, 0b1110, 1)), None);
    }
}
