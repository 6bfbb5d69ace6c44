use std::ops::RangeInclusive;

use auth::{ClusterDigest, Party};

/// First bytes of a greeting.
const MAGIC: [u8; 4] = *b"ACHI";
/// Bytes of an encoded greeting.
pub(crate) const HELLO_LEN: usize = 49;

/// What each end says first.
///
/// *Shape*, big-endian: magic 4, wire_min u16, wire_max u16, suite u8, cluster digest 8, sender u32, addressee u32,
/// incarnation u64, nonce 16. Nothing in it is secret and nothing is believed before a tag that covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) wire: RangeInclusive<u16>,
    pub(crate) suite: u8,
    pub(crate) cluster: ClusterDigest,
    pub(crate) from: Party,
    pub(crate) to: u32,
    pub(crate) nonce: [u8; 16],
}

impl Hello {
    pub(crate) fn encode(&self) -> [u8; HELLO_LEN] {
        let mut out = [0; HELLO_LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&self.wire.start().to_be_bytes());
        out[6..8].copy_from_slice(&self.wire.end().to_be_bytes());
        out[8] = self.suite;
        out[9..17].copy_from_slice(&self.cluster.0);
        out[17..21].copy_from_slice(&self.from.node.to_be_bytes());
        out[21..25].copy_from_slice(&self.to.to_be_bytes());
        out[25..33].copy_from_slice(&self.from.incarnation.to_be_bytes());
        out[33..].copy_from_slice(&self.nonce);
        out
    }

    /// None if the bytes are no greeting.
    pub(crate) fn decode(bytes: &[u8; HELLO_LEN]) -> Option<Self> {
        if field(bytes, 0) != MAGIC {
            return None;
        }
        Some(Self {
            wire: u16::from_be_bytes(field(bytes, 4))..=u16::from_be_bytes(field(bytes, 6)),
            suite: bytes[8],
            cluster: ClusterDigest(field(bytes, 9)),
            from: Party {
                node: u32::from_be_bytes(field(bytes, 17)),
                incarnation: u64::from_be_bytes(field(bytes, 25)),
            },
            to: u32::from_be_bytes(field(bytes, 21)),
            nonce: field(bytes, 33),
        })
    }
}

fn field<const N: usize>(bytes: &[u8; HELLO_LEN], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// The highest version both ends speak; 0, which nobody speaks, if there is none.
pub(crate) fn common_version(one: &RangeInclusive<u16>, other: &RangeInclusive<u16>) -> u16 {
    let highest = *one.end().min(other.end());
    if one.contains(&highest) && other.contains(&highest) { highest } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn greeting_layout_is_pinned() {
        let hello = Hello {
            wire: 1..=3,
            suite: 1,
            cluster: ClusterDigest([9; 8]),
            from: Party { node: 1, incarnation: 0x11 },
            to: 2,
            nonce: [0xaa; 16],
        };
        let fixed =
            [&b"ACHI\0\x01\0\x03\x01"[..], &[9; 8], &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x11]].concat();
        assert_eq!(hello.encode()[..], [&fixed[..], &[0xaa; 16]].concat());
    }

    #[test]
    fn highest_common_version_is_taken() {
        assert_eq!(common_version(&(1..=3), &(2..=5)), 3);
        assert_eq!(common_version(&(1..=1), &(1..=1)), 1);
        assert_eq!(common_version(&(1..=2), &(3..=4)), 0);
        assert_eq!(common_version(&(3..=4), &(1..=2)), 0);
        let empty = RangeInclusive::new(5, 4);
        assert_eq!(common_version(&(1..=9), &empty), 0, "an empty range has nothing in common");
    }

    proptest! {
        #[test]
        fn what_decodes_encodes_to_itself(mut bytes: [u8; 32], tail: [u8; 17]) {
            bytes[..4].copy_from_slice(&MAGIC);
            let bytes: [u8; HELLO_LEN] = [&bytes[..], &tail].concat().try_into().unwrap();
            prop_assert_eq!(Hello::decode(&bytes).unwrap().encode(), bytes);
        }
    }

    #[test]
    fn other_magic_is_no_greeting() {
        assert_eq!(Hello::decode(&[0; HELLO_LEN]), None);
    }
}
