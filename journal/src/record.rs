//! The record on disk.
//!
//! ```text
//! 0       4     5        6      8    28     32
//! | length| kind| version| store| id | crc32 | payload (length bytes)
//! ```
//! Numbers are big-endian; the checksum covers bytes 0..28 and the payload. Golden bytes: `tests/golden/journal.hex`.

use crate::Error;

/// Size of a record's header, in bytes.
pub const RECORD_HEADER_SIZE: usize = 32;

const CRC_AT: usize = 28;

/// Whose record it is, in the 20-byte form of a transaction id; opaque here.
pub type RecordId = [u8; 20];

/// What a record is about. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(u8);

impl Kind {
    /// Changed fields of one command of one store.
    pub const COMMAND_DELTA: Self = Self(1);
    /// The clock may hand out values up to the one in the payload.
    pub const HLC_RESERVATION: Self = Self(2);
    /// A checkpoint was taken at the position in the payload.
    pub const CHECKPOINT_MARKER: Self = Self(3);
    /// Facts about the node itself; the newest per (store, id) counts.
    pub const NODE_META: Self = Self(4);
    /// An evicted CommandsForKey: rebuildable, never testimony.
    pub const CFK_SNAPSHOT: Self = Self(0x20);
    /// The batch mark: written by the log only.
    pub(crate) const MARK: u8 = 0xff;

    /// The kind with this number, if it may be appended: 1-4, 0x20, 0x40-0x5f (hardened cells).
    pub fn from_byte(byte: u8) -> Option<Self> {
        matches!(byte, 1..=4 | 0x20 | 0x40..=0x5f).then_some(Self(byte))
    }

    /// The number on disk.
    pub fn byte(self) -> u8 {
        self.0
    }

    /// Whether reads by (store, id) find it; the others are seen at replay only.
    pub fn is_indexed(self) -> bool {
        !matches!(self, Self::HLC_RESERVATION | Self::CHECKPOINT_MARKER | Self::NODE_META)
    }
}

/// The header of a record without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) version: u8,
    pub(crate) store: u16,
    pub(crate) id: RecordId,
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    Short { needed: usize, found: usize },
    Checksum { found: u32, expected: u32 },
}

impl Damage {
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Short { needed, found } => format!("record needs {needed} bytes, {found} are there"),
            Self::Checksum { found, expected } => format!("record checksum {found:08x}, expected {expected:08x}"),
        }
    }
}

impl Head {
    /// Header and payload, in bytes.
    pub(crate) fn size(&self) -> usize {
        RECORD_HEADER_SIZE + self.length as usize
    }

    fn bytes(&self) -> [u8; CRC_AT] {
        let mut out = [0; CRC_AT];
        out[..4].copy_from_slice(&self.length.to_be_bytes());
        out[4] = self.kind;
        out[5] = self.version;
        out[6..8].copy_from_slice(&self.store.to_be_bytes());
        out[8..].copy_from_slice(&self.id);
        out
    }

    /// Reads a header without judging it; `None` if fewer than 32 bytes are there.
    pub(crate) fn peek(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < RECORD_HEADER_SIZE {
            return None;
        }
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (store, rest_of_id) = rest.get(2..)?.split_first_chunk::<2>()?;
        Some(Self {
            length: u32::from_be_bytes(*length),
            kind: *rest.first()?,
            version: *rest.get(1)?,
            store: u16::from_be_bytes(*store),
            id: *rest_of_id.first_chunk::<20>()?,
        })
    }
}

fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

/// Appends one record; the caller has made sure that the payload is `head.length` bytes long.
pub(crate) fn encode(out: &mut Vec<u8>, head: &Head, payload: &[u8]) {
    let bytes = head.bytes();
    out.extend_from_slice(&bytes);
    out.extend_from_slice(&checksum(&bytes, payload).to_be_bytes());
    out.extend_from_slice(payload);
}

/// Reads the record at the start of `bytes` and checks it.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Head, &[u8]), Damage> {
    let short = |needed| Damage::Short { needed, found: bytes.len() };
    let head = Head::peek(bytes).ok_or(short(RECORD_HEADER_SIZE))?;
    let payload = bytes.get(RECORD_HEADER_SIZE..head.size()).ok_or(short(head.size()))?;
    let stored = bytes[CRC_AT..].first_chunk::<4>().ok_or(short(RECORD_HEADER_SIZE))?;
    let (found, expected) = (u32::from_be_bytes(*stored), checksum(&bytes[..CRC_AT], payload));
    if found != expected {
        return Err(Damage::Checksum { found, expected });
    }
    Ok((head, payload))
}

/// The kind of a checked record, or the refusal of one that a newer program wrote.
pub(crate) fn known_kind(head: &Head, path: &std::path::Path) -> Result<Kind, Error> {
    Kind::from_byte(head.kind).ok_or(Error::Unknown {
        path: path.to_path_buf(),
        what: "record kind",
        found: u64::from(head.kind),
        known: "1-4, 32, 64-95",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zeros_are_not_a_record() {
        for size in [0, 1, 31, 32, 64, 4096] {
            assert!(decode(&vec![0; size]).is_err(), "{size} zero bytes were taken for a record");
        }
    }

    #[test]
    fn kinds_that_are_not_assigned_are_refused() {
        let assigned: Vec<u8> = (0..=255).filter(|byte| Kind::from_byte(*byte).is_some()).collect();
        let expected: Vec<u8> = (1..=4).chain([0x20]).chain(0x40..=0x5f).collect();
        assert_eq!(assigned, expected);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(version: u8, store: u16, id: [u8; 20], payload: Vec<u8>, tail: Vec<u8>) {
            let head = Head { length: payload.len() as u32, kind: 1, version, store, id };
            let mut bytes = Vec::new();
            encode(&mut bytes, &head, &payload);
            prop_assert_eq!(bytes.len(), head.size());
            bytes.extend_from_slice(&tail);
            prop_assert_eq!(decode(&bytes), Ok((head, payload.as_slice())));
        }

        #[test]
        fn one_flipped_bit_is_seen(payload in prop::collection::vec(any::<u8>(), 0..200), at: prop::sample::Index, bit in 0..8) {
            let head = Head { length: payload.len() as u32, kind: 1, version: 0, store: 0, id: [7; 20] };
            let mut bytes = Vec::new();
            encode(&mut bytes, &head, &payload);
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
