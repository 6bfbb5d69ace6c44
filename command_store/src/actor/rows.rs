//! The rows of one store, in memory, and which of them no checkpoint has yet.

use protocol::{Bytes, Key, RowStore};
use rustc_hash::{FxHashMap, FxHashSet};

/// Partitions in memory.
#[derive(Debug, Default)]
pub struct Rows {
    rows: FxHashMap<Key, Bytes>,
    dirty: FxHashSet<Key>,
    bytes: usize,
}

impl Rows {
    /// Takes in a row that a checkpoint holds already.
    pub fn load(&mut self, key: Key, rows: Bytes) {
        self.set(key, Some(rows));
    }

    /// Size of keys and contents, without the map around them. *Units*: bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many partitions no checkpoint has yet.
    pub fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    fn set(&mut self, key: Key, rows: Option<Bytes>) {
        let key_bytes = key.partition.len();
        let before = match rows {
            Some(rows) => {
                self.bytes += key_bytes + rows.len();
                self.rows.insert(key, rows)
            }
            None => self.rows.remove(&key),
        };
        self.bytes -= before.map_or(0, |before| key_bytes + before.len());
    }

    /// How many partitions there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What was written since the last call, in key order; `None` is a row that is gone.
    pub fn take_dirty(&mut self) -> Vec<(Key, Option<Bytes>)> {
        let mut dirty: Vec<Key> = self.dirty.drain().collect();
        dirty.sort_unstable();
        dirty.into_iter().map(|key| (self.rows.get(&key).cloned(), key)).map(|(rows, key)| (key, rows)).collect()
    }
}

impl RowStore for Rows {
    fn get(&self, key: &Key) -> Option<Bytes> {
        self.rows.get(key).cloned()
    }

    fn put(&mut self, key: &Key, rows: Option<Bytes>) {
        if self.rows.get(key) == rows.as_ref() {
            // replay and late messages write again what is there: no work for a checkpoint
            return;
        }
        if !self.dirty.contains(key) {
            self.dirty.insert(key.clone());
        }
        self.set(key.clone(), rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::TableId;

    #[test]
    fn dirty_rows_are_handed_over_once_and_unchanged_ones_never() {
        let key = |n: u8| Key::new(3, TableId(1), &[n]);
        let bytes = |n: u8| Some(Bytes::copy_of(&[n]));
        let mut rows = Rows::default();
        rows.load(key(1), Bytes::copy_of(&[1]));
        rows.put(&key(1), bytes(1));
        assert!(rows.take_dirty().is_empty());
        let one = rows.bytes();
        rows.put(&key(1), None);
        assert_eq!((rows.bytes(), rows.dirty_count()), (0, 1));
        rows.put(&key(2), bytes(2));
        assert_eq!(rows.bytes(), one);
        let mut expected = vec![(key(1), None), (key(2), bytes(2))];
        expected.sort_unstable();
        assert_eq!(rows.take_dirty(), expected);
        assert!(rows.take_dirty().is_empty());
    }
}
