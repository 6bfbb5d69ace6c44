//! Reads the log back in append order.

use crate::disk::{Disk, OpenMode, read_whole};
use crate::record::{Kind, RecordId, known_kind};
use crate::scan::{Item, Scan};
use crate::segment::{self, SegmentHeader};
use crate::survey::Extent;
use crate::{Error, Lsn};
use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Something a person should know about an open that went well; to be logged at WARN.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The last write before the stop was incomplete and was cut off.
    TornTail {
        /// The segment.
        path: PathBuf,
        /// Where it was cut, in bytes.
        offset: u64,
        /// How many bytes were cut off.
        lost: u64,
        /// Why they are no records.
        reason: String,
    },
    /// The last segment was being created at the stop and was removed.
    UnfinishedSegment {
        /// The segment.
        path: PathBuf,
    },
    /// Positions are published before they are durable.
    PeriodicSync {
        /// Time between syncs.
        interval: Duration,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornTail { path, offset, lost, reason } => write!(
                f,
                "{}: torn tail cut off at byte {offset} ({lost} bytes, never published as durable): {reason}",
                path.display()
            ),
            Self::UnfinishedSegment { path } => write!(f, "{}: unfinished new segment removed", path.display()),
            Self::PeriodicSync { interval } => write!(
                f,
                "journal sync = \"periodic\": answers leave before their records are durable; \
                 a power cut loses up to {interval:?} of them"
            ),
        }
    }
}

/// A record as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Log position after the record.
    pub position: Lsn,
    /// Number of its segment.
    pub segment: u64,
    /// Byte in the segment file.
    pub offset: u32,
    /// What it is about.
    pub kind: Kind,
    /// The payload's own version.
    pub version: u8,
    /// The command store.
    pub store: u16,
    /// The transaction, or what the kind says.
    pub id: RecordId,
    /// The opaque contents.
    pub payload: Vec<u8>,
}

/// Iterates all records found at open, in append order; one segment is in memory at a time.
///
/// Reading changes nothing: a clone, or a second open, yields the same. Finish before `forget_below` is called.
#[derive(Clone)]
pub struct Replay {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    segments: VecDeque<Extent>,
    current: Option<Current>,
    first: Lsn,
    from: Lsn,
    end: Lsn,
    hlc: Option<u64>,
    warnings: Vec<Warning>,
}

#[derive(Clone)]
struct Current {
    number: u64,
    path: PathBuf,
    bytes: Vec<u8>,
    scan: Scan,
}

impl Replay {
    pub(crate) fn new(
        dir: PathBuf,
        disk: Arc<dyn Disk>,
        extents: &[Extent],
        end: Lsn,
        hlc: Option<u64>,
        warnings: Vec<Warning>,
    ) -> Self {
        let first = extents.first().map_or(end, |extent| extent.base);
        let segments = extents.iter().cloned().collect();
        Self { dir, disk, segments, current: None, first, from: first, end, hlc, warnings }
    }

    /// The position below which nothing is kept any more; a checkpoint older than this cannot be caught up.
    pub fn first(&self) -> Lsn {
        self.first
    }

    /// The position after the last record.
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// The highest clock reservation in the log: the clock continues above it.
    pub fn hlc_reserved(&self) -> Option<u64> {
        self.hlc
    }

    /// What to log about the open.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Leaves out the records up to this position, without reading segments that lie wholly below it.
    pub fn skip_to(&mut self, position: Lsn) {
        self.from = self.from.max(position);
        while self.segments.get(1).is_some_and(|next| next.base <= self.from) {
            self.segments.pop_front();
        }
    }

    fn open_next(&mut self) -> Result<Option<Current>, Error> {
        let Some(extent) = self.segments.pop_front() else { return Ok(None) };
        let path = segment::path(&self.dir, extent.number);
        let bytes = self
            .disk
            .open(&path, OpenMode::Read)
            .and_then(|file| read_whole(&*file, 1 << 30))
            .map_err(Error::io("read", &path))?;
        let header = SegmentHeader::decode(&bytes).map_err(|bad| bad.into_error(&path, extent.base))?;
        Ok(Some(Current { number: extent.number, path, bytes, scan: Scan::start(&header) }))
    }

    fn advance(&mut self) -> Result<Option<Replayed>, Error> {
        loop {
            if self.current.is_none() {
                self.current = self.open_next()?;
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            if current.scan.position() >= self.end {
                return Ok(None);
            }
            match current.next_record()? {
                None => self.current = None,
                Some(record) if record.position <= self.from => {}
                Some(record) => return Ok(Some(record)),
            }
        }
    }
}

impl Current {
    fn next_record(&mut self) -> Result<Option<Replayed>, Error> {
        loop {
            let corrupt = |scan: &Scan, reason| Error::Corrupt {
                path: self.path.clone(),
                offset: scan.offset() as u64,
                position: scan.position().0,
                reason,
            };
            let before = self.scan;
            match self.scan.step(&self.bytes).map_err(|reason| corrupt(&before, reason))? {
                None => return Ok(None),
                Some(Item::Mark { .. }) => {}
                Some(Item::Record { offset, head, payload }) => {
                    return Ok(Some(Replayed {
                        position: self.scan.position(),
                        segment: self.number,
                        offset: offset as u32,
                        kind: known_kind(&head, &self.path)?,
                        version: head.version,
                        store: head.store,
                        id: head.id,
                        payload: payload.to_vec(),
                    }));
                }
            }
        }
    }
}

impl Iterator for Replay {
    type Item = Result<Replayed, Error>;

    /// The next record. After an error the iteration is over.
    fn next(&mut self) -> Option<Self::Item> {
        let step = self.advance();
        if step.is_err() {
            (self.current, self.segments) = (None, VecDeque::new());
        }
        step.transpose()
    }
}
