//! Segments of protocol v5, uncompressed: a checksummed wrapping around envelopes.
//!
//! *Shape*: three bytes little-endian (17 bits payload length, one bit "self-contained"), CRC24 of those, payload, CRC32.

use crate::error::Error;
use crate::frame;

const HEADER_BYTES: usize = 6;
const TRAILER_BYTES: usize = 4;
const PAYLOAD_MAX: usize = (1 << 17) - 1;
const SELF_CONTAINED: u32 = 1 << 17;
const CRC24_POLYNOMIAL: u32 = 0x0197_4f0b;
const CRC24_INITIAL: u32 = 0x0087_5060;
const CRC32_PREFIX: [u8; 4] = [0xfa, 0x2d, 0x55, 0xca];

/// Wraps whole envelopes, back to back in `envelopes`, into segments: small ones share one, a large one is split.
pub(crate) fn pack(mut envelopes: &[u8], out: &mut Vec<u8>) {
    out.reserve(envelopes.len() + HEADER_BYTES + TRAILER_BYTES);
    while !envelopes.is_empty() {
        let whole = whole_prefix(envelopes);
        if whole > 0 {
            put(&envelopes[..whole], true, out);
            envelopes = &envelopes[whole..];
            continue;
        }
        // Not one fits: the first is larger than a segment and travels alone, in parts.
        let first = frame::length(envelopes).unwrap_or(envelopes.len()).min(envelopes.len());
        for part in envelopes[..first].chunks(PAYLOAD_MAX) {
            put(part, false, out);
        }
        envelopes = &envelopes[first..];
    }
}

/// Bytes of the longest run of whole envelopes at the front that fits in one segment.
fn whole_prefix(envelopes: &[u8]) -> usize {
    let mut end = 0;
    while let Some(length) = frame::length(&envelopes[end..]) {
        if end + length > PAYLOAD_MAX || end + length > envelopes.len() {
            break;
        }
        end += length;
    }
    end
}

fn put(payload: &[u8], self_contained: bool, out: &mut Vec<u8>) {
    let header = payload.len() as u32 | if self_contained { SELF_CONTAINED } else { 0 };
    let header = &header.to_le_bytes()[..3];
    out.extend_from_slice(header);
    out.extend_from_slice(&crc24(header).to_le_bytes()[..3]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(payload).to_le_bytes());
}

/// One segment cut off a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) self_contained: bool,
    /// Bytes of the stream it took.
    pub(crate) used: usize,
}

/// Cuts one segment off the front of `buffer`; `None` while it is incomplete.
///
/// *Errors*: [`Error::Stream`] if a checksum does not match; nothing after it can be trusted.
pub(crate) fn cut(buffer: &[u8]) -> Result<Option<Segment<'_>>, Error> {
    let Some(head) = buffer.get(..HEADER_BYTES) else { return Ok(None) };
    let claimed = u32::from_le_bytes([head[3], head[4], head[5], 0]);
    if crc24(&head[..3]) != claimed {
        return Err(Error::Stream { reason: format!("segment header checksum {claimed:06x} does not match") });
    }
    let header = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    let length = header as usize & PAYLOAD_MAX;
    let used = HEADER_BYTES + length + TRAILER_BYTES;
    let Some(rest) = buffer.get(HEADER_BYTES..used) else { return Ok(None) };
    let (payload, trailer) = rest.split_at(length);
    let claimed = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
    if crc32(payload) != claimed {
        return Err(Error::Stream { reason: format!("segment payload checksum {claimed:08x} does not match") });
    }
    Ok(Some(Segment { payload, self_contained: header & SELF_CONTAINED != 0, used }))
}

fn crc24(bytes: &[u8]) -> u32 {
    let mut crc = CRC24_INITIAL;
    for byte in bytes {
        crc ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x0100_0000 != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
        }
    }
    crc
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&CRC32_PREFIX);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(body_bytes: usize) -> Vec<u8> {
        let mut raw = vec![0x85, 0, 0, 1, 8];
        raw.extend_from_slice(&u32::try_from(body_bytes).unwrap().to_be_bytes());
        raw.extend((0..body_bytes).map(|i| i as u8));
        raw
    }

    fn unpack(mut raw: &[u8]) -> Vec<(usize, bool)> {
        let mut seen = Vec::new();
        while let Some(segment) = cut(raw).expect("good checksums") {
            seen.push((segment.payload.len(), segment.self_contained));
            raw = &raw[segment.used..];
        }
        assert!(raw.is_empty());
        seen
    }

    #[test]
    fn checksums_match_the_published_vectors() {
        assert_eq!(crc24(&[0x09, 0x00, 0x02]).to_le_bytes()[..3], [0xa4, 0xc8, 0xc1]);
        assert_eq!(crc24(&[0xff, 0xff, 0x01]).to_le_bytes()[..3], [0x38, 0x91, 0xfe]);
        assert_eq!(crc32(&[0x85, 0, 0, 0, 2, 0, 0, 0, 0]).to_le_bytes(), [0x4f, 0x5a, 0x5d, 0x99]);
    }

    #[test]
    fn small_envelopes_share_a_segment_and_a_large_one_is_split() {
        let large = PAYLOAD_MAX + 10;
        let raw = [envelope(3), envelope(4), envelope(large), envelope(1)].concat();
        let mut out = Vec::new();
        pack(&raw, &mut out);
        assert_eq!(unpack(&out), [(25, true), (PAYLOAD_MAX, false), (19, false), (10, true)]);
    }

    #[test]
    fn an_envelope_of_exactly_the_limit_is_self_contained() {
        let mut out = Vec::new();
        pack(&envelope(PAYLOAD_MAX - 9), &mut out);
        assert_eq!(unpack(&out), [(PAYLOAD_MAX, true)]);
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let mut out = Vec::new();
        pack(&envelope(20), &mut out);
        for bit in 0..out.len() * 8 {
            let mut damaged = out.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(cut(&damaged).is_err(), "bit {bit}");
        }
    }
}
