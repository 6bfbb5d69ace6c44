//! Walks the records of one segment's bytes.

use crate::Lsn;
use crate::record::{self, Head};
use crate::segment::{Mark, SEGMENT_HEADER_SIZE, SegmentHeader};

/// Where a walk stands; the bytes are handed to each step, so that the owner of both may keep them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    at: usize,
    position: Lsn,
    salt: u64,
}

pub(crate) enum Item<'a> {
    Mark { offset: usize, mark: Mark },
    Record { offset: usize, head: Head, payload: &'a [u8] },
}

impl Scan {
    pub(crate) fn start(header: &SegmentHeader) -> Self {
        Self { at: SEGMENT_HEADER_SIZE, position: header.base, salt: header.salt }
    }

    /// The next mark or record; the reason if what stands there is neither.
    pub(crate) fn step<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<Item<'a>>, String> {
        let rest = bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (head, payload) = record::decode(rest).map_err(record::Damage::reason)?;
        let offset = self.at;
        let item = if head.kind == record::Kind::MARK {
            let mark = Mark::from_head(&head, self.salt).ok_or("batch mark is not one of this segment")?;
            if mark.start != self.position {
                return Err(format!("batch mark starts at {}, the log is at {}", mark.start, self.position));
            }
            Item::Mark { offset, mark }
        } else {
            self.position = self.position.plus(head.size());
            Item::Record { offset, head, payload }
        };
        self.at += head.size();
        Ok(Some(item))
    }

    /// Byte of the next item.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Log position after the items so far.
    pub(crate) fn position(&self) -> Lsn {
        self.position
    }
}
