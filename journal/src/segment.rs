//! Segment files: name, header and batch marks.
//!
//! ```text
//! 0      8       12      20     28    36     68     72
//! | magic| format| number| base | salt| owner| crc32 |
//! ```
//! A batch mark is a record of kind 0xff without payload; its id holds the position known synced when it was written
//! (8 bytes), the position of the batch's start (8) and a tag (4) of both under the segment's salt.

use crate::record::{self, Head, Kind, RECORD_HEADER_SIZE};
use crate::{Error, Lsn};
use std::path::{Path, PathBuf};

/// Size of a segment's header, in bytes.
pub const SEGMENT_HEADER_SIZE: usize = 72;

/// Size of a batch mark, in bytes.
pub(crate) const MARK_SIZE: usize = RECORD_HEADER_SIZE;

const MAGIC: &[u8; 8] = b"accordJ\n";
const FORMAT: u32 = 1;
const CRC_AT: usize = 68;
const MARK_VERSION: u8 = 1;

/// What the start of a segment file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Numbers ascend without a gap.
    pub(crate) number: u64,
    /// Position of the first record.
    pub(crate) base: Lsn,
    pub(crate) salt: u64,
    pub(crate) owner: [u8; 32],
}

/// Why the start of a file is not a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadHeader {
    /// Too short, or not what was written: an unfinished create looks the same.
    Damaged(String),
    /// Checked, but of another format.
    Format(u32),
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER_SIZE] {
        let mut out = [0; SEGMENT_HEADER_SIZE];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&FORMAT.to_be_bytes());
        out[12..20].copy_from_slice(&self.number.to_be_bytes());
        out[20..28].copy_from_slice(&self.base.0.to_be_bytes());
        out[28..36].copy_from_slice(&self.salt.to_be_bytes());
        out[36..CRC_AT].copy_from_slice(&self.owner);
        let crc = crc32fast::hash(&out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_be_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let damaged = |text: &str| BadHeader::Damaged(text.to_owned());
        let header = bytes.first_chunk::<SEGMENT_HEADER_SIZE>().ok_or(damaged("segment header is incomplete"))?;
        let (body, crc) = header.split_last_chunk::<4>().ok_or(damaged("segment header is incomplete"))?;
        let (found, expected) = (u32::from_be_bytes(*crc), crc32fast::hash(body));
        if found != expected {
            return Err(BadHeader::Damaged(format!("segment header checksum {found:08x}, expected {expected:08x}")));
        }
        if !body.starts_with(MAGIC) {
            return Err(damaged("segment header does not start with the journal's magic"));
        }
        let format = number(body, 8, 4) as u32;
        if format != FORMAT {
            return Err(BadHeader::Format(format));
        }
        let mut owner = [0; 32];
        owner.copy_from_slice(&body[36..CRC_AT]);
        Ok(Self { number: number(body, 12, 8), base: Lsn(number(body, 20, 8)), salt: number(body, 28, 8), owner })
    }

    /// Refuses a header of another owner or number.
    pub(crate) fn check(&self, path: &Path, number: u64, owner: &[u8; 32]) -> Result<(), Error> {
        if self.owner != *owner {
            return Err(Error::Foreign {
                path: path.to_path_buf(),
                found: short_hex(&self.owner),
                expected: short_hex(owner),
            });
        }
        if self.number != number {
            let reason = format!("header carries segment number {}, the name says {number}", self.number);
            return Err(Error::Corrupt { path: path.to_path_buf(), offset: 12, position: self.base.0, reason });
        }
        Ok(())
    }
}

impl BadHeader {
    pub(crate) fn into_error(self, path: &Path, position: Lsn) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Damaged(reason) => Error::Corrupt { path, offset: 0, position: position.0, reason },
            Self::Format(format) => {
                Error::Unknown { path, what: "journal format", found: u64::from(format), known: "1" }
            }
        }
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn short_hex(owner: &[u8; 32]) -> String {
    owner[..20].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The start of one write: what was known synced by then, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) synced: Lsn,
    pub(crate) start: Lsn,
}

impl Mark {
    fn id(self, salt: u64) -> [u8; 20] {
        let mut id = [0; 20];
        id[..8].copy_from_slice(&self.synced.0.to_be_bytes());
        id[8..16].copy_from_slice(&self.start.0.to_be_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&salt.to_be_bytes());
        hasher.update(&id[..16]);
        id[16..].copy_from_slice(&hasher.finalize().to_be_bytes());
        id
    }

    pub(crate) fn encode(self, salt: u64, out: &mut Vec<u8>) {
        let head = Head { length: 0, kind: Kind::MARK, version: MARK_VERSION, store: 0, id: self.id(salt) };
        record::encode(out, &head, &[]);
    }

    /// The mark in a checked record, if it is one of this segment.
    pub(crate) fn from_head(head: &Head, salt: u64) -> Option<Self> {
        let mark = Self { synced: Lsn(number(&head.id, 0, 8)), start: Lsn(number(&head.id, 8, 8)) };
        let is_mark = head.kind == Kind::MARK && head.version == MARK_VERSION && head.length == 0 && head.store == 0;
        (is_mark && head.id == mark.id(salt)).then_some(mark)
    }

    /// The highest synced position that any mark in `bytes` attests, at whatever offset it stands.
    pub(crate) fn highest_synced(bytes: &[u8], salt: u64) -> Option<Lsn> {
        const START: [u8; 6] = [0, 0, 0, 0, Kind::MARK, MARK_VERSION];
        bytes
            .windows(MARK_SIZE)
            .filter(|window| window.starts_with(&START))
            .filter_map(|window| Self::from_head(&record::decode(window).ok()?.0, salt))
            .map(|mark| mark.synced)
            .max()
    }
}

/// The file of a segment.
pub(crate) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("segment-{number:06}.log"))
}

/// The number in a segment's file name; `None` for other files.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("segment-")?.strip_suffix(".log")?;
    let plain = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> SegmentHeader {
        SegmentHeader { number: 17, base: Lsn(40960), salt: 0x0102_0304_0506_0708, owner: [0xab; 32] }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_bytes_on_disk_are_those_of_the_golden_file() {
        let mut mark = Vec::new();
        Mark { synced: Lsn(40000), start: Lsn(40960) }.encode(header().salt, &mut mark);
        let mut delta = Vec::new();
        let head = Head { length: 5, kind: 1, version: 2, store: 0x0304, id: *b"twenty bytes of id!!" };
        record::encode(&mut delta, &head, b"hello");
        let golden = include_str!("../tests/golden/journal.hex");
        let lines: Vec<&str> = golden.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, [hex(&header().encode()), hex(&mark), hex(&delta)]);
    }

    #[test]
    fn a_header_reads_back_and_damage_or_a_new_format_is_told_apart() {
        let bytes = header().encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header()));
        for at in 0..bytes.len() {
            let mut bad = bytes;
            bad[at] ^= 0x10;
            assert!(matches!(SegmentHeader::decode(&bad), Err(BadHeader::Damaged(_))), "byte {at}");
        }
        let mut newer = bytes;
        newer[11] = 2;
        let crc = crc32fast::hash(&newer[..CRC_AT]);
        newer[CRC_AT..].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(SegmentHeader::decode(&newer), Err(BadHeader::Format(2)));
    }

    #[test]
    fn a_mark_of_another_salt_is_none() {
        let mut bytes = vec![0x55; 13];
        Mark { synced: Lsn(9), start: Lsn(9) }.encode(1, &mut bytes);
        assert_eq!(Mark::highest_synced(&bytes, 1), Some(Lsn(9)));
        assert_eq!(Mark::highest_synced(&bytes, 2), None);
    }

    #[test]
    fn only_segment_names_have_numbers() {
        assert_eq!(number_of("segment-000017.log"), Some(17));
        assert_eq!(number_of("segment-1234567.log"), Some(1_234_567));
        for name in ["segment-17.log", "segment-+00017.log", "segment-000017.log.tmp", "LOCK", "segment-.log"] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn hostile_headers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = SegmentHeader::decode(&bytes);
            let _ = Mark::highest_synced(&bytes, 0);
        }
    }
}
