//! The envelope: nine bytes of header and a body, the same in v4 (where it is called a frame) and v5.

use crate::error::Error;

/// Protocol version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    V4,
    V5,
}

impl Version {
    /// The number on the wire, without the response bit.
    pub fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V5 => 5,
        }
    }

    /// The version of a number, if this client speaks it.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            4 => Some(Self::V4),
            5 => Some(Self::V5),
            _ => None,
        }
    }
}

pub(crate) const HEADER_BYTES: usize = 9;
const RESPONSE: u8 = 0x80;

/// Bits of the header's flags.
pub(crate) mod flag {
    pub(crate) const COMPRESSED: u8 = 0x01;
    pub(crate) const TRACING: u8 = 0x02;
    pub(crate) const PAYLOAD: u8 = 0x04;
    pub(crate) const WARNINGS: u8 = 0x08;
}

/// Opcodes of the requests we send and the answers we take.
pub(crate) mod opcode {
    pub(crate) const ERROR: u8 = 0x00;
    pub(crate) const STARTUP: u8 = 0x01;
    pub(crate) const READY: u8 = 0x02;
    pub(crate) const AUTHENTICATE: u8 = 0x03;
    pub(crate) const OPTIONS: u8 = 0x05;
    pub(crate) const SUPPORTED: u8 = 0x06;
    pub(crate) const QUERY: u8 = 0x07;
    pub(crate) const RESULT: u8 = 0x08;
    pub(crate) const PREPARE: u8 = 0x09;
    pub(crate) const EXECUTE: u8 = 0x0a;
    pub(crate) const AUTH_RESPONSE: u8 = 0x0f;
    pub(crate) const AUTH_SUCCESS: u8 = 0x10;
}

/// A whole answer as it came: header fields we need and the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) flags: u8,
    pub(crate) stream: i16,
    pub(crate) opcode: u8,
    pub(crate) body: Vec<u8>,
}

/// Starts a request envelope in an empty buffer; the length and the stream id are filled in later.
pub(crate) fn begin(version: Version, flags: u8, opcode: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(&[version.number(), flags, 0, 0, opcode, 0, 0, 0, 0]);
    out
}

/// Writes the body length of an envelope begun with [`begin`].
///
/// *Errors*: [`Error::TooLong`] beyond `body_max`.
pub(crate) fn finish(out: &mut [u8], body_max: usize) -> Result<(), Error> {
    let length = out.len() - HEADER_BYTES;
    if length > body_max {
        return Err(Error::TooLong { what: "request body", length, max: body_max });
    }
    let length = u32::try_from(length).map_err(|_| Error::TooLong { what: "request body", length, max: body_max })?;
    out[5..HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Puts the stream id into a finished envelope.
pub(crate) fn set_stream(envelope: &mut [u8], stream: i16) {
    envelope[2..4].copy_from_slice(&stream.to_be_bytes());
}

/// Length of the envelope at the front of `buffer`, header included; `None` while the header is incomplete.
pub(crate) fn length(buffer: &[u8]) -> Option<usize> {
    let field: [u8; 4] = buffer.get(5..HEADER_BYTES)?.try_into().ok()?;
    Some(HEADER_BYTES + u32::from_be_bytes(field) as usize)
}

/// Cuts one answer off the front of `buffer`; `None` while it is incomplete.
///
/// *Errors*: [`Error::Stream`] for a request, a version we do not speak, a compressed body or a body over `body_max`.
pub(crate) fn cut(buffer: &[u8], body_max: usize) -> Result<Option<(Envelope, usize)>, Error> {
    let Some(total) = length(buffer) else { return Ok(None) };
    let version = buffer[0];
    if version & RESPONSE == 0 || Version::from_number(version & !RESPONSE).is_none() {
        return Err(Error::Stream { reason: format!("version byte 0x{version:02x} is no answer of version 4 or 5") });
    }
    if buffer[1] & flag::COMPRESSED != 0 && version == RESPONSE | 4 {
        return Err(Error::Stream { reason: "compressed answer, but no compression was agreed".to_owned() });
    }
    if total - HEADER_BYTES > body_max {
        let length = total - HEADER_BYTES;
        return Err(Error::Stream { reason: format!("answer of {length} bytes exceeds the limit of {body_max}") });
    }
    let Some(body) = buffer.get(HEADER_BYTES..total) else { return Ok(None) };
    let stream = i16::from_be_bytes([buffer[2], buffer[3]]);
    Ok(Some((Envelope { flags: buffer[1], stream, opcode: buffer[4], body: body.to_vec() }, total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(version: u8, length: u32, body: &[u8]) -> Vec<u8> {
        let mut raw = vec![version, 0, 0x12, 0x34, 8];
        raw.extend_from_slice(&length.to_be_bytes());
        raw.extend_from_slice(body);
        raw
    }

    #[test]
    fn an_answer_is_cut_only_when_whole() {
        let raw = answer(0x84, 3, b"abc");
        for cut_at in 0..raw.len() {
            assert_eq!(cut(&raw[..cut_at], 100).expect("incomplete is no error"), None);
        }
        let (envelope, used) = cut(&raw, 100).expect("well formed").expect("whole");
        assert_eq!((envelope.stream, envelope.opcode, envelope.body.as_slice(), used), (0x1234, 8, &b"abc"[..], 12));
    }

    #[test]
    fn a_huge_length_is_refused_before_it_is_buffered() {
        assert!(matches!(cut(&answer(0x84, 0x7fff_ffff, b""), 1 << 24), Err(Error::Stream { .. })));
    }

    #[test]
    fn a_request_or_an_unknown_version_is_no_answer() {
        assert!(cut(&answer(0x04, 0, b""), 10).is_err());
        assert!(cut(&answer(0x86, 0, b""), 10).is_err());
    }

    #[test]
    fn a_begun_envelope_gets_its_length_and_stream() {
        let mut out = begin(Version::V5, flag::PAYLOAD, opcode::QUERY);
        out.extend_from_slice(b"xy");
        finish(&mut out, 10).expect("short enough");
        set_stream(&mut out, 258);
        assert_eq!(out, [5, 4, 1, 2, 7, 0, 0, 0, 2, b'x', b'y']);
        assert!(finish(&mut out, 1).is_err());
    }
}
