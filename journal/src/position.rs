//! Positions in the log.

use std::fmt;

/// A place in the log: how many record bytes were ever appended before and including a record.
///
/// Counts whole records (header and payload) over the life of the directory, never file headers or batch marks, so the
/// appending thread can number its records without asking the writer. `Lsn::ZERO` is before every record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The position before the first record.
    pub const ZERO: Self = Self(0);

    /// The position `bytes` further on; saturates at the end of the number space.
    pub fn plus(self, bytes: usize) -> Self {
        Self(self.0.saturating_add(bytes as u64))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
