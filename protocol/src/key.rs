//! Where data lives: tokens, routing keys, keys and ranges.
//!
//! *Source*: [SPEC 1.6, 13.1 items 6 to 8], README section 4 "Placement".

use crate::bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A place on the Murmur3 ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub i64);

/// A table, numbered once and never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TableId(pub u32);

/// What decides shard and store: the replication group (= replication factor) and the token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct RoutingKey {
    /// Replication factor of the keyspace.
    pub group: u8,
    /// Place on the ring.
    pub token: Token,
}

/// One partition: the unit of conflict.
///
/// *Shape*: ordered by routing key, then table, then the bytes of the partition key. Two tables with the same partition key are
/// two keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Shard and store.
    pub routing: RoutingKey,
    /// The table.
    pub table: TableId,
    /// The serialized partition key.
    pub partition: Bytes,
}

impl Key {
    /// The key of `partition` in a table of replication group `group`.
    pub fn new(group: u8, table: TableId, partition: &[u8]) -> Self {
        Self::with_token(group, Token(murmur3(partition)), table, partition)
    }

    /// A key at a chosen place, for reserved keys and tests.
    pub fn with_token(group: u8, token: Token, table: TableId, partition: &[u8]) -> Self {
        Self { routing: RoutingKey { group, token }, table, partition: Bytes::copy_of(partition) }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}/{:?}@{}:{}", self.table.0, self.partition, self.routing.group, self.routing.token.0)
    }
}

/// A stretch of the ring within one group.
///
/// *Shape*: start excluded, end included, as tokens are counted by Cassandra; it never wraps (a wrapping arc is two ranges).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Range {
    /// The group.
    pub group: u8,
    /// Tokens above this one; `None` is "from the lowest".
    pub start: Option<Token>,
    /// Tokens up to and with this one.
    pub end: Token,
}

impl Range {
    /// Whether `routing` lies within.
    pub fn contains(&self, routing: RoutingKey) -> bool {
        routing.group == self.group && self.start.is_none_or(|start| start < routing.token) && routing.token <= self.end
    }
}

/// The Murmur3 token of a serialized partition key, as Cassandra computes it.
///
/// x64 128-bit variant, seed 0, first half; bytes of the tail are sign-extended (a quirk that must be kept so that token-aware
/// drivers find our replicas), and the lowest value maps to the highest. *Source*: [CQL 2].
pub fn murmur3(bytes: &[u8]) -> i64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (0u64, 0u64);
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        let k1 = u64::from_le_bytes(block[..8].try_into().expect("eight bytes"));
        let k2 = u64::from_le_bytes(block[8..].try_into().expect("eight bytes"));
        h1 = (h1 ^ mix1(k1)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ mix2(k2)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let tail = blocks.remainder();
    let fold =
        |part: &[u8]| part.iter().enumerate().fold(0u64, |k, (i, byte)| k ^ ((*byte as i8 as i64 as u64) << (8 * i)));
    if tail.len() > 8 {
        h2 ^= mix2(fold(&tail[8..]));
    }
    if !tail.is_empty() {
        h1 ^= mix1(fold(&tail[..tail.len().min(8)]));
    }
    finish(h1, h2, bytes.len() as u64)
}

fn finish(h1: u64, h2: u64, len: u64) -> i64 {
    let avalanche = |mut k: u64| {
        k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ k >> 33
    };
    let (h1, h2) = (h1 ^ len, h2 ^ len);
    let h1 = h1.wrapping_add(h2);
    let h2 = h2.wrapping_add(h1);
    let token = avalanche(h1).wrapping_add(avalanche(h2)) as i64;
    if token == i64::MIN { i64::MAX } else { token }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_cassandra() {
        assert_eq!(murmur3(&0i32.to_be_bytes()), -3485513579396041028);
        assert_eq!(murmur3(&1i32.to_be_bytes()), -4069959284402364209);
        assert_eq!(murmur3(&0i64.to_be_bytes()), 2945182322382062539);
        assert_eq!(murmur3(&(-1i64).to_be_bytes()), 7071048584287372947);
        assert_eq!(murmur3(b"a"), -8839064797231613815);
        assert_eq!(murmur3(b"123"), -7468325962851647638);
        assert_eq!(murmur3(b"0123456789abcdef"), 5467490433528156583);
        assert_eq!(murmur3(b"0123456789abcdefg"), -8200385122730116642);
        assert_eq!(murmur3(&[0xe9]), 7703788153147420217);
        assert_eq!(murmur3(&[0xff; 9]), 8434364767658694854);
        assert_eq!(murmur3(&[0, 4, 0, 0, 0, 1, 0, 0, 4, 0, 0, 0, 2, 0]), 4881097376275569167);
    }

    #[test]
    fn range_excludes_its_start_and_includes_its_end() {
        let range = Range { group: 3, start: Some(Token(10)), end: Token(20) };
        let at = |group, token| RoutingKey { group, token: Token(token) };
        assert!(!range.contains(at(3, 10)) && range.contains(at(3, 11)) && range.contains(at(3, 20)));
        assert!(!range.contains(at(3, 21)) && !range.contains(at(2, 15)));
    }
}
