//! Segments of protocol version 5: what envelopes travel in once the handshake is done.
//!
//! *Shape* (uncompressed): header of 3 bytes, little-endian = payload length (17 bits), self-contained flag (bit 17), six zero
//! bits; CRC24 of the header (3 bytes); payload; CRC32 of the payload (4 bytes). The checks find damage, not malice.
//! *Source*: [CQL 4.2].

use crate::envelope::HEADER_BYTES;
use crate::error::Error;

/// Most bytes of payload one segment carries.
pub(crate) const PAYLOAD_MAX: usize = (1 << 17) - 1;
/// Bytes in front of the payload.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 6;
/// Bytes behind it.
pub(crate) const SEGMENT_TRAILER_BYTES: usize = 4;

const SELF_CONTAINED: u32 = 1 << 17;
const CRC24_POLYNOMIAL: u32 = 0x197_4f0b;
const CRC24_START: u32 = 0x87_5060;
const CRC32_START: [u8; 4] = [0xfa, 0x2d, 0x55, 0xca];

const CRC24_TABLE: [u32; 256] = crc24_table();

const fn crc24_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u32) << 16;
        let mut bit = 0;
        while bit < 8 {
            crc <<= 1;
            if crc & 0x100_0000 != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(CRC24_START, |crc, byte| {
        let index = ((crc >> 16) as u8 ^ byte) as usize;
        (crc << 8 ^ CRC24_TABLE[index]) & 0xff_ffff
    })
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&CRC32_START);
    hasher.update(bytes);
    hasher.finalize()
}

fn u24(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16
}

/// One segment found at the front of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    /// Bytes of payload, which starts after [`SEGMENT_HEADER_BYTES`].
    pub(crate) payload_len: usize,
    /// Whether it holds whole envelopes only; otherwise it holds a part of one.
    pub(crate) self_contained: bool,
}

impl Segment {
    /// All bytes of it on the wire.
    pub(crate) fn len(self) -> usize {
        SEGMENT_HEADER_BYTES + self.payload_len + SEGMENT_TRAILER_BYTES
    }

    /// The segment at the front of `input`, checked; `None` if it is not complete yet.
    pub(crate) fn peek(input: &[u8]) -> Result<Option<Self>, Error> {
        if input.len() < SEGMENT_HEADER_BYTES {
            return Ok(None);
        }
        let (header, expected) = (u24(input), u24(&input[3..]));
        let found = crc24(&input[..3]);
        if found != expected {
            return Err(Error::Protocol(format!("segment header: CRC24 {found:06x}, expected {expected:06x}")));
        }
        if header >> 18 != 0 {
            return Err(Error::Protocol(format!("segment header: reserved bits set in {header:06x}")));
        }
        let segment = Self { payload_len: header as usize & PAYLOAD_MAX, self_contained: header & SELF_CONTAINED != 0 };
        let end = SEGMENT_HEADER_BYTES + segment.payload_len;
        let Some(trailer) = input.get(end..end + SEGMENT_TRAILER_BYTES) else { return Ok(None) };
        let expected = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
        let found = crc32(&input[SEGMENT_HEADER_BYTES..end]);
        if found != expected {
            return Err(Error::Protocol(format!("segment payload: CRC32 {found:08x}, expected {expected:08x}")));
        }
        Ok(Some(segment))
    }
}

/// Appends one segment around `payload`, which is at most [`PAYLOAD_MAX`] bytes.
pub(crate) fn put_segment(out: &mut Vec<u8>, payload: &[u8], self_contained: bool) {
    debug_assert!(payload.len() <= PAYLOAD_MAX);
    let header = payload.len() as u32 | if self_contained { SELF_CONTAINED } else { 0 };
    let header = header.to_le_bytes();
    out.extend_from_slice(&header[..3]);
    out.extend_from_slice(&crc24(&header[..3]).to_le_bytes()[..3]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(payload).to_le_bytes());
}

/// Appends whole envelopes as segments: as many to a self-contained segment as fit, a larger one alone and in parts.
pub(crate) fn put_envelopes(out: &mut Vec<u8>, envelopes: &[u8]) {
    let (mut start, mut end) = (0, 0);
    while end < envelopes.len() {
        let len = envelope_len(&envelopes[end..]);
        if end - start + len > PAYLOAD_MAX && end > start {
            put_segment(out, &envelopes[start..end], true);
            start = end;
        }
        end += len;
        if len > PAYLOAD_MAX {
            envelopes[start..end].chunks(PAYLOAD_MAX).for_each(|part| put_segment(out, part, false));
            start = end;
        }
    }
    if end > start {
        put_segment(out, &envelopes[start..end], true);
    }
}

/// Length of the envelope at the front of bytes we wrote ourselves.
fn envelope_len(envelopes: &[u8]) -> usize {
    let body = u32::from_be_bytes([envelopes[5], envelopes[6], envelopes[7], envelopes[8]]);
    HEADER_BYTES + body as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(body: usize) -> Vec<u8> {
        let mut bytes = vec![0x85, 0, 0, 0, 8];
        bytes.extend_from_slice(&(body as u32).to_be_bytes());
        bytes.resize(HEADER_BYTES + body, 7);
        bytes
    }

    fn segments(mut wire: &[u8]) -> Vec<Segment> {
        let mut found = Vec::new();
        while let Some(segment) = Segment::peek(wire).expect("valid") {
            found.push(segment);
            wire = &wire[segment.len()..];
        }
        assert!(wire.is_empty());
        found
    }

    #[test]
    fn checks_match_the_known_vectors() {
        assert_eq!(crc24(&[0x09, 0x00, 0x02]).to_le_bytes()[..3], [0xa4, 0xc8, 0xc1]);
        assert_eq!(crc24(&[0xff, 0xff, 0x01]).to_le_bytes()[..3], [0x38, 0x91, 0xfe]);
        let ready = [0x85, 0, 0, 0, 2, 0, 0, 0, 0];
        assert_eq!(crc32(&ready).to_le_bytes(), [0x4f, 0x5a, 0x5d, 0x99]);
        let mut out = Vec::new();
        put_envelopes(&mut out, &ready);
        assert_eq!(out[..6], [0x09, 0x00, 0x02, 0xa4, 0xc8, 0xc1]);
    }

    #[test]
    fn envelopes_share_a_segment_up_to_its_limit() {
        let mut envelopes = envelope(100);
        envelopes.extend(envelope(PAYLOAD_MAX - 109 - HEADER_BYTES));
        let mut out = Vec::new();
        put_envelopes(&mut out, &envelopes);
        assert_eq!(segments(&out), [Segment { payload_len: PAYLOAD_MAX, self_contained: true }]);
        envelopes.extend(envelope(0));
        out.clear();
        put_envelopes(&mut out, &envelopes);
        assert_eq!(segments(&out).iter().map(|s| s.payload_len).collect::<Vec<_>>(), [PAYLOAD_MAX, 9]);
    }

    #[test]
    fn large_envelope_travels_alone_and_in_parts() {
        let mut envelopes = envelope(5);
        envelopes.extend(envelope(300_000));
        envelopes.extend(envelope(5));
        let mut out = Vec::new();
        put_envelopes(&mut out, &envelopes);
        let found: Vec<_> = segments(&out).iter().map(|s| (s.payload_len, s.self_contained)).collect();
        let last = 300_009 - 2 * PAYLOAD_MAX;
        assert_eq!(found, [(14, true), (PAYLOAD_MAX, false), (PAYLOAD_MAX, false), (last, false), (14, true)]);
    }

    #[test]
    fn any_flipped_bit_is_found() {
        let mut wire = Vec::new();
        put_envelopes(&mut wire, &envelope(20));
        for bit in 0..wire.len() * 8 {
            let mut damaged = wire.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Segment::peek(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn half_a_segment_is_no_segment_yet() {
        let mut wire = Vec::new();
        put_envelopes(&mut wire, &envelope(20));
        for len in 0..wire.len() {
            assert_eq!(Segment::peek(&wire[..len]), Ok(None));
        }
    }
}
