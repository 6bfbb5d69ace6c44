//! The seam to stored rows.

use crate::bytes::Bytes;
use crate::key::Key;
use crate::semantics::Semantics;
use crate::timestamp::Timestamp;

/// Partitions of one store, opaque. The machine asks by effects; a shell or the simulator stands behind them with one of these.
pub trait RowStore {
    /// What `key` holds.
    fn get(&self, key: &Key) -> Option<Bytes>;

    /// Replaces what `key` holds; `None` removes it.
    fn put(&mut self, key: &Key, rows: Option<Bytes>);

    /// Applies the writes of a transaction executing at `at`, in key order.
    fn apply(&mut self, semantics: &dyn Semantics, at: Timestamp, writes: &[(Key, Bytes)]) {
        for (key, write) in writes {
            let before = self.get(key);
            let after = semantics.apply(key, at, write, before.as_deref());
            self.put(key, after.map(Bytes::from));
        }
    }
}
