//! What a log directory holds: the reading half of opening it.

use crate::disk::{Disk, OpenMode, read_whole};
use crate::hlc::HlcReservation;
use crate::log::{Keepers, Placement};
use crate::record::{Head, Kind, known_kind};
use crate::scan::{Item, Scan};
use crate::segment::{self, BadHeader, Mark, SEGMENT_HEADER_SIZE, SegmentHeader};
use crate::{Error, Index, Lsn, Options, Warning};
use std::path::{Path, PathBuf};

/// A segment and its extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) number: u64,
    pub(crate) base: Lsn,
    /// Size of the file in bytes, without what is cut off.
    pub(crate) size: u64,
}

/// The last segment, which may need repair.
pub(crate) struct Last {
    pub(crate) bytes: Vec<u8>,
    pub(crate) salt: u64,
    /// Bytes from here on were never attested as synced.
    pub(crate) suspect_from: usize,
    pub(crate) is_torn: bool,
}

/// Everything found by reading all segments once.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) extents: Vec<Extent>,
    pub(crate) last: Option<Last>,
    /// A last segment whose creation never finished; to be removed.
    pub(crate) unfinished: Option<u64>,
    pub(crate) end: Lsn,
    pub(crate) index: Index,
    pub(crate) keepers: Keepers,
    pub(crate) hlc: Option<u64>,
    pub(crate) warnings: Vec<Warning>,
}

impl Survey {
    pub(crate) fn read(dir: &Path, options: &Options, disk: &dyn Disk) -> Result<Self, Error> {
        let mut numbers: Vec<u64> = disk
            .list(dir)
            .map_err(Error::io("list", dir))?
            .iter()
            .filter_map(|name| segment::number_of(name))
            .collect();
        numbers.sort_unstable();
        let mut survey = Self::default();
        for (nth, number) in numbers.iter().enumerate() {
            survey.read_segment(dir, options, disk, *number, nth + 1 == numbers.len())?;
        }
        Ok(survey)
    }

    fn read_segment(
        &mut self,
        dir: &Path,
        options: &Options,
        disk: &dyn Disk,
        number: u64,
        is_last: bool,
    ) -> Result<(), Error> {
        let path = segment::path(dir, number);
        // The cap on segment_size, not this start's setting: it may have been lowered since.
        let bytes = disk
            .open(&path, OpenMode::Read)
            .and_then(|file| read_whole(&*file, 1 << 30))
            .map_err(Error::io("read", &path))?;
        let may_be_unfinished = number == 1 || !self.extents.is_empty();
        let header = match SegmentHeader::decode(&bytes) {
            Ok(header) => header,
            Err(BadHeader::Damaged(_)) if is_last && may_be_unfinished && bytes.len() <= SEGMENT_HEADER_SIZE => {
                // Nothing is written behind a header before it is synced, and the segment before it is kept until then.
                self.unfinished = Some(number);
                self.warnings.push(Warning::UnfinishedSegment { path });
                return Ok(());
            }
            Err(bad) => return Err(bad.into_error(&path, self.end)),
        };
        header.check(&path, number, &options.owner)?;
        self.check_follows(&path, &header)?;
        self.read_items(path, &header, bytes, is_last)
    }

    fn check_follows(&mut self, path: &Path, header: &SegmentHeader) -> Result<(), Error> {
        let Some(before) = self.extents.last() else {
            self.end = header.base;
            self.index.forget_below(header.number);
            return Ok(());
        };
        let reason = if header.number != before.number + 1 {
            format!("segment {:06} is missing before it", before.number + 1)
        } else if header.base != self.end {
            format!("segment begins at position {}, the one before ends at {}", header.base, self.end)
        } else {
            return Ok(());
        };
        Err(Error::Corrupt { path: path.to_path_buf(), offset: 0, position: self.end.0, reason })
    }

    fn read_items(
        &mut self,
        path: PathBuf,
        header: &SegmentHeader,
        bytes: Vec<u8>,
        is_last: bool,
    ) -> Result<(), Error> {
        let mut scan = Scan::start(header);
        let mut marks: Vec<(usize, Mark)> = Vec::new();
        let mut is_torn = false;
        loop {
            match scan.step(&bytes) {
                Ok(None) => break,
                Ok(Some(Item::Mark { offset, mark })) => marks.push((offset, mark)),
                Ok(Some(Item::Record { offset, head, payload })) => {
                    self.take(&path, header.number, offset, &head, payload)?;
                }
                Err(reason) => {
                    self.judge(&path, header, &scan, &bytes, &reason, is_last)?;
                    is_torn = true;
                    break;
                }
            }
        }
        self.end = scan.position();
        self.extents.push(Extent { number: header.number, base: header.base, size: scan.offset() as u64 });
        if is_last {
            let synced = marks.iter().map(|(_, mark)| mark.synced).max().unwrap_or_default();
            // The first mark there, not the one that attests: a mark in between may itself not be durable.
            let suspect_from = marks.iter().find(|(_, mark)| mark.start >= synced).map_or(0, |(offset, _)| *offset);
            self.last = Some(Last { bytes, salt: header.salt, suspect_from, is_torn });
        }
        Ok(())
    }

    fn take(&mut self, path: &Path, number: u64, offset: usize, head: &Head, payload: &[u8]) -> Result<(), Error> {
        let kind = known_kind(head, path)?;
        if kind == Kind::HLC_RESERVATION {
            let refuse = Error::Unknown {
                path: path.to_path_buf(),
                what: "clock reservation version",
                found: u64::from(head.version),
                known: "1",
            };
            let reservation = HlcReservation::decode(head.version, payload).ok_or(refuse)?;
            self.hlc = self.hlc.max(Some(reservation.upto));
        }
        if kind.is_indexed() {
            let placement = Placement { store: head.store, id: head.id, segment: number, offset: offset as u32 };
            self.index.insert(&placement);
        } else {
            self.keepers.note(kind, head, number);
        }
        Ok(())
    }

    /// Tells a torn tail from rot: damage is rot if a later batch says that it was synced, or if a later segment exists.
    fn judge(
        &mut self,
        path: &Path,
        header: &SegmentHeader,
        scan: &Scan,
        bytes: &[u8],
        reason: &str,
        is_last: bool,
    ) -> Result<(), Error> {
        let (offset, position) = (scan.offset(), scan.position());
        let tail = bytes.get(offset..).unwrap_or_default();
        let synced = Mark::highest_synced(tail, header.salt).filter(|synced| *synced > position);
        let reason = match synced {
            _ if !is_last => format!("{reason}; later segments exist"),
            Some(synced) => format!("{reason}; a later batch says that all up to {synced} was durable"),
            None => {
                let (path, offset, lost) = (path.to_path_buf(), offset as u64, tail.len() as u64);
                self.warnings.push(Warning::TornTail { path, offset, lost, reason: reason.to_owned() });
                return Ok(());
            }
        };
        Err(Error::Corrupt { path: path.to_path_buf(), offset: offset as u64, position: position.0, reason })
    }
}
