//! Clock reservations: a restarted node continues above every timestamp it may have handed out.

use crate::record::Kind;
use crate::{Batch, Error};

const VERSION: u8 = 1;

/// A promise that the clock stays at or below `upto` until a higher one is durable. Payload: 8 bytes, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HlcReservation {
    /// Highest value the clock may hand out, in its own unit.
    pub upto: u64,
}

impl HlcReservation {
    /// Adds the reservation to a batch.
    ///
    /// # Errors
    /// `RecordTooLarge` if the log's records are smaller than 40 bytes.
    pub fn push(self, batch: &mut Batch) -> Result<(), Error> {
        batch.push(Kind::HLC_RESERVATION, VERSION, 0, &[0; 20], &self.upto.to_be_bytes())
    }

    /// Reads a payload; `None` if it is of another version or size.
    pub(crate) fn decode(version: u8, payload: &[u8]) -> Option<Self> {
        let bytes: [u8; 8] = payload.try_into().ok()?;
        (version == VERSION).then_some(Self { upto: u64::from_be_bytes(bytes) })
    }
}
