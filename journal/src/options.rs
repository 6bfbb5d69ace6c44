//! Settings of the log.

use crate::Error;
use crate::segment::{MARK_SIZE, SEGMENT_HEADER_SIZE};
use std::time::Duration;

/// When a position is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// After the fdatasync that covers it; all that is queued shares one.
    Group,
    /// At once after the write, with an fdatasync per interval: a power cut loses what was answered since the last one.
    /// For comparison with systems that answer before syncing; the replay carries a warning to print at start.
    Periodic {
        /// Time between syncs.
        interval: Duration,
    },
}

/// Settings of a log directory.
#[derive(Clone, Debug)]
pub struct Options {
    /// Digest of cluster and node; a directory with another one is refused.
    pub owner: [u8; 32],
    /// A random number, fresh at each start; keeps client bytes from posing as batch marks.
    pub salt: u64,
    /// Largest size of a segment file, in bytes; it also bounds a record. 1 KiB to 1 GiB, default 32 MiB.
    pub segment_size: u32,
    /// Bytes that may wait for the disk, default 64 MiB.
    pub pending_max: usize,
    /// Cap on the bytes of all live segments, default 8 GiB.
    pub max_bytes: u64,
    /// Reads that may wait for the reader thread, default 1024.
    pub reads_max: usize,
    /// When positions are published.
    pub sync: SyncMode,
}

impl Options {
    /// Defaults for the node with this digest.
    pub fn new(owner: [u8; 32], salt: u64) -> Self {
        Self {
            owner,
            salt,
            segment_size: 32 << 20,
            pending_max: 64 << 20,
            max_bytes: 8 << 30,
            reads_max: 1024,
            sync: SyncMode::Group,
        }
    }

    /// The largest record, header included, in bytes.
    pub fn record_max(&self) -> usize {
        (self.segment_size as usize).saturating_sub(SEGMENT_HEADER_SIZE + MARK_SIZE)
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        let refuse = |key, reason: String| Err(Error::Setting { section: "journal", key, reason });
        if !(1 << 10..=1 << 30).contains(&self.segment_size) {
            return refuse("segment_size", format!("{} bytes; choose 1KiB to 1GiB", self.segment_size));
        }
        if self.pending_max < self.record_max() {
            return refuse("pending_max", format!("{} bytes cannot hold one record", self.pending_max));
        }
        if self.max_bytes < 2 * u64::from(self.segment_size) {
            return refuse("max_bytes", format!("{} bytes; choose at least two segments", self.max_bytes));
        }
        if self.max_bytes / u64::from(self.segment_size) >= u64::from(u16::MAX / 2) {
            return refuse("segment_size", "max_bytes needs more than 32766 segments; choose larger ones".into());
        }
        if self.reads_max == 0 {
            return refuse("reads_max", "0; choose at least 1".into());
        }
        match self.sync {
            SyncMode::Periodic { interval } if interval.is_zero() => {
                refuse("sync_interval", "0; choose a time or sync = \"group\"".into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_nonsense_names_its_key() {
        let good = Options::new([0; 32], 0);
        assert!(good.validate().is_ok());
        let refused = |options: Options| options.validate().expect_err("refused").to_string();
        assert!(refused(Options { segment_size: 10, ..good.clone() }).contains("segment_size"));
        assert!(refused(Options { pending_max: 10, ..good.clone() }).contains("pending_max"));
        assert!(refused(Options { max_bytes: 10, ..good.clone() }).contains("max_bytes"));
        assert!(refused(Options { segment_size: 1 << 10, ..good.clone() }).contains("32766"));
        let sync = SyncMode::Periodic { interval: Duration::ZERO };
        assert!(refused(Options { sync, ..good }).contains("sync_interval"));
    }
}
