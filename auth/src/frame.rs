//! Sealing and opening one peer frame.
//!
//! Layout, big-endian; the tag covers everything before it:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | magic `"ACPF"` |
//! | 2 | wire version |
//! | 8 | cluster id digest |
//! | 8 | epoch of the sender |
//! | 4, 4 | from, to |
//! | 8 | incarnation of the sender |
//! | 8 | sequence number, strictly rising within a link, first is 1 |
//! | 4 | number of messages |
//! | 4 | length of the payload |
//! | n | payload |
//! | 16 | HMAC-SHA256 under the link's key, cut to its first 16 bytes |
//!
//! [`Opener::open`] checks header, length, tag and sequence before it hands out a byte of the payload.

use hmac::Mac;

use crate::hkdf::{HmacSha256, keyed};
use crate::keys::Session;
use crate::{ClusterDigest, Error, Verified};

/// First bytes of every peer frame.
pub const MAGIC: [u8; 4] = *b"ACPF";
/// Bytes before the payload.
pub const HEADER_LEN: usize = 54;
/// Bytes after the payload.
pub const TAG_LEN: usize = 16;
/// A tag as it stands on the wire.
pub type Tag = [u8; TAG_LEN];

const COUNT_AT: usize = 46;
const LENGTH_AT: usize = 50;

/// Whole length in bytes of the frame that begins with `header`, as the header claims it. Nothing is checked yet.
pub fn claimed_len(header: &[u8; HEADER_LEN]) -> u64 {
    HEADER_LEN as u64 + u64::from(payload_len(header)) + TAG_LEN as u64
}

fn payload_len(header: &[u8; HEADER_LEN]) -> u32 {
    u32::from_be_bytes(field(header, LENGTH_AT))
}

fn field<const N: usize>(header: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    std::array::from_fn(|i| header[at + i])
}

/// The keyed MAC of one link, cloned for each tag; or none where tags are off.
#[derive(Clone)]
pub(crate) struct LinkKey(Option<HmacSha256>);

impl LinkKey {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(Some(keyed(key)))
    }

    pub(crate) const fn off() -> Self {
        Self(None)
    }

    pub(crate) fn tag(&self, covered: &[u8]) -> Tag {
        let mut tag = [0; TAG_LEN];
        if let Some(mac) = &self.0 {
            let full = mac.clone().chain_update(covered).finalize();
            tag.copy_from_slice(&full.as_bytes()[..TAG_LEN]);
        }
        tag
    }

    /// Compares in constant time; with tags off only the zero tag passes.
    pub(crate) fn is_tag(&self, covered: &[u8], tag: &Tag) -> bool {
        match &self.0 {
            Some(mac) => mac.clone().chain_update(covered).verify_truncated_left(tag).is_ok(),
            None => *tag == [0; TAG_LEN],
        }
    }
}

/// The fields both ends know beforehand; a frame carries them so that a stray one is named, not only refused.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    wire: u16,
    cluster: ClusterDigest,
    from: u32,
    to: u32,
    incarnation: u64,
}

impl Fixed {
    const fn new(cluster: ClusterDigest, session: &Session) -> Self {
        let Session { wire, from, to, .. } = *session;
        Self { wire, cluster, from: from.node, to: to.node, incarnation: from.incarnation }
    }
}

/// The sending end of one link: writes headers and tags, counts sequence numbers.
pub struct Sealer {
    fixed: Fixed,
    key: LinkKey,
    epoch: u64,
    seq: u64,
}

impl Sealer {
    pub(crate) const fn new(cluster: ClusterDigest, session: &Session, key: LinkKey) -> Self {
        Self { fixed: Fixed::new(cluster, session), key, epoch: 0, seq: 0 }
    }

    /// The epoch the next frames carry.
    pub const fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// Appends one whole frame to `out`. `count` is the number of messages in `payload`.
    ///
    /// *Errors*: a payload that does not fit 32 bits of length; `out` is then unchanged.
    pub fn seal(&mut self, payload: &[u8], count: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        let start = out.len();
        let header = self.next_header(payload.len(), count)?;
        out.reserve(HEADER_LEN + payload.len() + TAG_LEN);
        out.extend_from_slice(&header);
        out.extend_from_slice(payload);
        let tag = self.key.tag(&out[start..]);
        out.extend_from_slice(&tag);
        Ok(())
    }

    /// Makes a frame of a buffer that holds [`HEADER_LEN`] spare bytes and then the payload: nothing is copied.
    ///
    /// *Errors*: as [`Sealer::seal`], or no room for the header; `frame` is then unchanged.
    pub fn seal_in_place(&mut self, frame: &mut Vec<u8>, count: u32) -> Result<(), Error> {
        let payload = frame.len().checked_sub(HEADER_LEN).ok_or(Error::NoHeaderRoom(frame.len()))?;
        let header = self.next_header(payload, count)?;
        frame[..HEADER_LEN].copy_from_slice(&header);
        let tag = self.key.tag(frame);
        frame.extend_from_slice(&tag);
        Ok(())
    }

    fn next_header(&mut self, payload: usize, count: u32) -> Result<[u8; HEADER_LEN], Error> {
        let length = u32::try_from(payload).map_err(|_| Error::PayloadTooLong(payload))?;
        self.seq = self.seq.checked_add(1).ok_or(Error::SequenceExhausted)?;
        let Fixed { wire, cluster, from, to, incarnation } = self.fixed;
        let mut header = [0; HEADER_LEN];
        header[..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&wire.to_be_bytes());
        header[6..14].copy_from_slice(&cluster.0);
        header[14..22].copy_from_slice(&self.epoch.to_be_bytes());
        header[22..26].copy_from_slice(&from.to_be_bytes());
        header[26..30].copy_from_slice(&to.to_be_bytes());
        header[30..38].copy_from_slice(&incarnation.to_be_bytes());
        header[38..COUNT_AT].copy_from_slice(&self.seq.to_be_bytes());
        header[COUNT_AT..LENGTH_AT].copy_from_slice(&count.to_be_bytes());
        header[LENGTH_AT..].copy_from_slice(&length.to_be_bytes());
        Ok(header)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("fixed", &self.fixed).field("seq", &self.seq).finish_non_exhaustive()
    }
}

/// What a checked frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    pub bytes: &'a [u8],
    /// Number of messages the sender put into `bytes`.
    pub count: u32,
}

/// The receiving end of one link.
pub struct Opener {
    fixed: Fixed,
    key: LinkKey,
    epoch_floor: u64,
    seq: u64,
}

impl Opener {
    pub(crate) const fn new(cluster: ClusterDigest, session: &Session, key: LinkKey) -> Self {
        Self { fixed: Fixed::new(cluster, session), key, epoch_floor: 0, seq: 0 }
    }

    /// Frames of an earlier epoch are refused from now on; those of later ones pass, a peer may learn first.
    pub const fn set_epoch_floor(&mut self, epoch: u64) {
        self.epoch_floor = epoch;
    }

    /// The node at the other end.
    pub const fn from(&self) -> u32 {
        self.fixed.from
    }

    /// Checks one whole frame and hands out its payload.
    ///
    /// *Errors*: the cause of the first check that failed; the link's state is then unchanged.
    pub fn open<'a>(&mut self, frame: &'a [u8]) -> Result<Verified<Payload<'a>>, Refused> {
        let found = frame.len();
        let Some((header, rest)) = frame.split_first_chunk::<HEADER_LEN>() else {
            return Err(Refused::Length { claimed: (HEADER_LEN + TAG_LEN) as u64, found });
        };
        self.check_fixed(header)?;
        let claimed = claimed_len(header);
        if claimed != found as u64 {
            return Err(Refused::Length { claimed, found });
        }
        let epoch = u64::from_be_bytes(field(header, 14));
        if epoch < self.epoch_floor {
            return Err(Refused::Epoch { found: epoch, floor: self.epoch_floor });
        }
        let seq = u64::from_be_bytes(field(header, 38));
        if seq <= self.seq {
            return Err(Refused::Replay { found: seq, last: self.seq });
        }
        // The claimed length was equal to what is there, so the tag is.
        let Some((bytes, tag)) = rest.split_last_chunk::<TAG_LEN>() else {
            return Err(Refused::Length { claimed, found });
        };
        if !self.key.is_tag(&frame[..found - TAG_LEN], tag) {
            return Err(Refused::BadTag);
        }
        self.seq = seq;
        let count = u32::from_be_bytes(field(header, COUNT_AT));
        Ok(Verified::new(Payload { bytes, count }, self.fixed.from, epoch))
    }

    fn check_fixed(&self, header: &[u8; HEADER_LEN]) -> Result<(), Refused> {
        let Fixed { wire, cluster, from, to, incarnation } = self.fixed;
        if field(header, 0) != MAGIC {
            return Err(Refused::BadMagic);
        }
        let found = u16::from_be_bytes(field(header, 4));
        if found != wire {
            return Err(Refused::Version { found, expected: wire });
        }
        let found = ClusterDigest(field(header, 6));
        if found != cluster {
            return Err(Refused::Cluster { found, expected: cluster });
        }
        let found = u32::from_be_bytes(field(header, 22));
        if found != from {
            return Err(Refused::WrongSender { found, expected: from });
        }
        let found = u32::from_be_bytes(field(header, 26));
        if found != to {
            return Err(Refused::WrongReceiver { found, expected: to });
        }
        let found = u64::from_be_bytes(field(header, 30));
        if found != incarnation {
            return Err(Refused::Incarnation { found, expected: incarnation });
        }
        Ok(())
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").field("fixed", &self.fixed).field("seq", &self.seq).finish_non_exhaustive()
    }
}

/// Why a frame was refused. It is then dropped as if the network had lost it; the sender is told nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("does not begin with the magic of a peer frame")]
    BadMagic,
    #[error("wire version {found}, the link agreed on {expected}")]
    Version { found: u16, expected: u16 },
    #[error("cluster digest {found}, this cluster's is {expected}")]
    Cluster { found: ClusterDigest, expected: ClusterDigest },
    #[error("epoch {found} is older than the oldest accepted, {floor}")]
    Epoch { found: u64, floor: u64 },
    #[error("says it comes from node {found}, the link is node {expected}'s")]
    WrongSender { found: u32, expected: u32 },
    #[error("is meant for node {found}, this is node {expected}")]
    WrongReceiver { found: u32, expected: u32 },
    #[error("incarnation {found:016x}, the link was opened by {expected:016x}")]
    Incarnation { found: u64, expected: u64 },
    #[error("sequence number {found} after {last}: a replay")]
    Replay { found: u64, last: u64 },
    #[error("tag does not match: altered on the way, or sealed with another key")]
    BadTag,
    #[error("frame of {found} bytes claims {claimed}")]
    Length { claimed: u64, found: usize },
}

impl Refused {
    /// Labels of the causes, in the order of [`Refused::index`].
    pub const CAUSES: [&'static str; 10] = [
        "bad_magic",
        "version",
        "cluster",
        "epoch",
        "wrong_sender",
        "wrong_receiver",
        "incarnation",
        "replay",
        "bad_tag",
        "length",
    ];

    /// Position of the cause in [`Refused::CAUSES`], for counters.
    pub const fn index(&self) -> usize {
        match self {
            Self::BadMagic => 0,
            Self::Version { .. } => 1,
            Self::Cluster { .. } => 2,
            Self::Epoch { .. } => 3,
            Self::WrongSender { .. } => 4,
            Self::WrongReceiver { .. } => 5,
            Self::Incarnation { .. } => 6,
            Self::Replay { .. } => 7,
            Self::BadTag => 8,
            Self::Length { .. } => 9,
        }
    }

    /// Label of the cause, for counters and status pages.
    pub const fn cause(&self) -> &'static str {
        Self::CAUSES[self.index()]
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
