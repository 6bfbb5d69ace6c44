//! Records on their way to the log.

use crate::record::{self, Head, Kind, RECORD_HEADER_SIZE, RecordId};
use crate::{Error, Options};

/// Records encoded back to back, appended and numbered together. Not atomic: after a crash a prefix may be left.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    record_max: usize,
    largest: usize,
}

impl Batch {
    /// An empty batch for a log with these settings.
    pub fn new(options: &Options) -> Self {
        Self::with_record_max(options.record_max())
    }

    /// An empty batch whose records may have this many bytes, header included.
    pub fn with_record_max(record_max: usize) -> Self {
        Self { bytes: Vec::new(), record_max, largest: 0 }
    }

    /// Adds a record. `version` is the payload's own, handed back at replay.
    ///
    /// # Errors
    /// `RecordTooLarge` if no segment could hold it; the batch is unchanged.
    pub fn push(&mut self, kind: Kind, version: u8, store: u16, id: &RecordId, payload: &[u8]) -> Result<(), Error> {
        let size = payload.len().saturating_add(RECORD_HEADER_SIZE);
        let too_large = Error::RecordTooLarge { size, max: self.record_max };
        let Ok(length) = u32::try_from(payload.len()) else { return Err(too_large) };
        if size > self.record_max {
            return Err(too_large);
        }
        record::encode(&mut self.bytes, &Head { length, kind: kind.byte(), version, store, id: *id }, payload);
        self.largest = self.largest.max(size);
        Ok(())
    }

    /// Size in bytes, headers included.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The encoded records.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Size of the largest record, in bytes.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// Takes the records out and leaves the batch empty.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self::with_record_max(self.record_max);
        std::mem::replace(self, empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_over_the_maximum_is_refused_and_leaves_no_trace() {
        let mut batch = Batch::with_record_max(100);
        batch.push(Kind::COMMAND_DELTA, 1, 0, &[0; 20], &[1; 68]).expect("exactly the maximum");
        let before = batch.as_bytes().to_vec();
        let refused = batch.push(Kind::COMMAND_DELTA, 1, 0, &[0; 20], &[1; 69]);
        assert!(matches!(refused, Err(Error::RecordTooLarge { size: 101, max: 100 })), "{refused:?}");
        assert_eq!(batch.as_bytes(), before);
    }
}
