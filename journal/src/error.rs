//! What can go wrong in this room.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An error of the journal or of the row checkpoint; the text says what, where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file call failed.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// What was attempted, as a verb phrase.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Bytes that were once durable are not what was written.
    #[error(
        "{path}: damage at byte {offset} (position {position}): {reason}; \
         the store must not vote from this log: set the data directory aside and rebuild it from its peers",
        path = path.display()
    )]
    Corrupt {
        /// The segment file.
        path: PathBuf,
        /// Byte in that file.
        offset: u64,
        /// Log position reached before the damage.
        position: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// The log belongs to another cluster or node.
    #[error(
        "{path}: this log was written by another cluster or node (owner {found}, this node is {expected}); \
         point data_dir at this node's own directory, or move the foreign one away",
        path = path.display()
    )]
    Foreign {
        /// The segment file that says so.
        path: PathBuf,
        /// First bytes of the digest in the file, hex.
        found: String,
        /// First bytes of this node's digest, hex.
        expected: String,
    },
    /// The file was written by a newer program.
    #[error("{path}: {what} {found} is unknown to this program (it knows {known}); start a newer accordd", path = path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What carries the number: a format, a record kind.
        what: &'static str,
        /// The number found.
        found: u64,
        /// What is understood.
        known: &'static str,
    },
    /// The kind byte is not one that may be appended.
    #[error("record kind {0:#04x} is not assigned; use one of 0x01-0x04, 0x20, 0x40-0x5f")]
    KindNotAssigned(u8),
    /// The record does not fit into a segment.
    #[error(
        "record of {size} bytes with its header is over the maximum of {max}; raise [journal] segment_size or split the transaction"
    )]
    RecordTooLarge {
        /// Header and payload, in bytes.
        size: usize,
        /// The largest that fits, in bytes.
        max: usize,
    },
    /// Too much waits for the disk already.
    #[error(
        "journal queue is full: {pending} bytes wait for the disk, {more} more would pass the maximum of {max}; shed load and try again"
    )]
    Full {
        /// Bytes appended and not yet written out.
        pending: usize,
        /// Bytes of the refused batch.
        more: usize,
        /// [`Options::pending_max`](crate::Options::pending_max).
        max: usize,
    },
    /// Too many reads wait already.
    #[error("journal reader is full: {max} reads wait; try again")]
    ReadsFull {
        /// [`Options::reads_max`](crate::Options::reads_max).
        max: usize,
    },
    /// The live log has reached its cap.
    #[error(
        "journal holds {live} live bytes, the cap [journal] max_bytes is {max}; checkpoint and forget, or raise the cap"
    )]
    OverCapacity {
        /// Bytes in live segments.
        live: u64,
        /// The cap.
        max: u64,
    },
    /// A write or sync failed before; nothing is accepted until a restart.
    #[error(
        "refused, since an earlier write or sync failed: {0}; restart the node, it comes back from what is durable"
    )]
    Poisoned(Arc<str>),
    /// The thread behind the handle has ended.
    #[error("the {0} thread has ended; restart the node")]
    Closed(&'static str),
    /// A setting makes no sense.
    #[error("[{section}] {key}: {reason}")]
    Setting {
        /// Section of the configuration.
        section: &'static str,
        /// Key in it.
        key: &'static str,
        /// What is wrong and what is right.
        reason: String,
    },
    /// Another process holds the data directory.
    #[error("{path}: the data directory is in use by {holder}; stop that process or choose another data_dir", path = path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as far as the file tells.
        holder: String,
    },
    /// The row store failed or is damaged.
    #[error("{dir}: row store: {source}; set it aside and rebuild it from the journal or from peers", dir = dir.display())]
    Rows {
        /// The sled directory.
        dir: PathBuf,
        /// What sled said.
        source: sled::Error,
    },
    /// Too many row changes wait already.
    #[error("row checkpoint is full: {pending} bytes wait, {more} more would pass the maximum of {max}; try again")]
    RowsFull {
        /// Bytes handed over and not yet applied.
        pending: usize,
        /// Bytes of the refused order.
        more: usize,
        /// [`RowOptions::pending_max`](crate::RowOptions::pending_max).
        max: usize,
    },
    /// The checkpoint marker cannot be believed.
    #[error("{path}: checkpoint marker: {reason}; remove the marker and rebuild the rows", path = path.display())]
    Marker {
        /// The marker file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Wraps the answer of a file call: `.map_err(Error::io("read", path))`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn rows(dir: &Path) -> impl FnOnce(sled::Error) -> Self {
        let dir = dir.to_path_buf();
        move |source| Self::Rows { dir, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_says_what_where_and_what_to_do() {
        let error = Error::Corrupt {
            path: PathBuf::from("data/segment-000017.log"),
            offset: 40960,
            position: 7,
            reason: "checksum 1 expected 2".into(),
        };
        let text = error.to_string();
        for part in ["segment-000017.log", "byte 40960", "checksum 1 expected 2", "set the data directory aside"] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
    }
}
