//! Keys of partitions as bytes of the row checkpoint: group, token, table, partition key; sorted as the ring is.

use protocol::{Key, TableId, Token};

const HEAD: usize = 1 + 8 + 4;

/// The bytes of `key`.
pub(crate) fn encode(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + key.partition.len());
    bytes.push(key.routing.group);
    bytes.extend_from_slice(&((key.routing.token.0 as u64) ^ (1 << 63)).to_be_bytes());
    bytes.extend_from_slice(&key.table.0.to_be_bytes());
    bytes.extend_from_slice(&key.partition);
    bytes
}

/// The key whose bytes these are; `None` if they are too few.
pub(crate) fn decode(bytes: &[u8]) -> Option<Key> {
    let (group, rest) = bytes.split_first()?;
    let (token, rest) = rest.split_first_chunk()?;
    let (table, partition) = rest.split_first_chunk()?;
    let token = Token((u64::from_be_bytes(*token) ^ (1 << 63)) as i64);
    Some(Key::with_token(*group, token, TableId(u32::from_be_bytes(*table)), partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_sort_as_the_ring_does() {
        let key = |token| Key::with_token(3, Token(token), TableId(70), b"customer");
        let mut last = Vec::new();
        for token in [i64::MIN, -5, 0, 7, i64::MAX] {
            let bytes = encode(&key(token));
            assert_eq!(decode(&bytes), Some(key(token)));
            assert!(last < bytes);
            last = bytes;
        }
        assert_eq!(decode(&[3; HEAD - 1]), None);
    }
}
