//! The envelope: header of every message in both directions.
//!
//! *Shape*: version u8, flags u8, stream i16, opcode u8, length u32, body; big-endian. In answers the body starts with what the
//! flags announce: warnings, then the custom payload. *Source*: [CQL 4.1].

use crate::error::Error;
use crate::wire::Put;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 9;
/// Oldest version spoken here.
pub(crate) const VERSION_MIN: u8 = 4;
/// Newest version spoken here.
pub(crate) const VERSION_MAX: u8 = 5;

const RESPONSE: u8 = 0x80;

/// Flag bits of an envelope.
pub(crate) mod flag {
    pub(crate) const COMPRESSED: u8 = 0x01;
    pub(crate) const PAYLOAD: u8 = 0x04;
    pub(crate) const WARNINGS: u8 = 0x08;
}

/// What a message is.
pub(crate) mod opcode {
    pub(crate) const ERROR: u8 = 0x00;
    pub(crate) const STARTUP: u8 = 0x01;
    pub(crate) const READY: u8 = 0x02;
    pub(crate) const OPTIONS: u8 = 0x05;
    pub(crate) const SUPPORTED: u8 = 0x06;
    pub(crate) const QUERY: u8 = 0x07;
    pub(crate) const RESULT: u8 = 0x08;
    pub(crate) const PREPARE: u8 = 0x09;
    pub(crate) const EXECUTE: u8 = 0x0a;
    pub(crate) const REGISTER: u8 = 0x0b;
    pub(crate) const EVENT: u8 = 0x0c;
    pub(crate) const BATCH: u8 = 0x0d;
    pub(crate) const AUTH_RESPONSE: u8 = 0x0f;
}

/// Header of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) version: u8,
    pub(crate) flags: u8,
    pub(crate) stream: i16,
    pub(crate) opcode: u8,
    pub(crate) body_len: usize,
}

/// The stream cannot be read any further: say so on `stream`, then close.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fatal {
    pub(crate) stream: i16,
    pub(crate) error: Error,
}

impl Fatal {
    pub(crate) fn new(stream: i16, text: impl Into<String>) -> Self {
        Self { stream, error: Error::Protocol(text.into()) }
    }
}

impl Header {
    /// The header at the front of `input`; `None` if it is not complete yet.
    ///
    /// A version we do not speak is refused as soon as its stream id is in, since the rest of its header may be shorter than ours.
    pub(crate) fn peek(input: &[u8], spoken: Option<u8>) -> Result<Option<Self>, Fatal> {
        let Some(&[first, flags, high, low]) = input.first_chunk::<4>() else { return Ok(None) };
        let stream = i16::from_be_bytes([high, low]);
        let version = first & !RESPONSE;
        if !(VERSION_MIN..=VERSION_MAX).contains(&version) || first & RESPONSE != 0 {
            return Err(Fatal::new(stream, unsupported(first)));
        }
        if let Some(spoken) = spoken.filter(|spoken| *spoken != version) {
            let text =
                format!("message of version {version} on a connection that speaks {spoken}. {}", unsupported(first));
            return Err(Fatal::new(stream, text));
        }
        let Some(header) = input.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let body_len = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
        Ok(Some(Self { version, flags, stream, opcode: header[4], body_len }))
    }

    /// All bytes of the envelope.
    pub(crate) fn envelope_len(&self) -> usize {
        HEADER_BYTES + self.body_len
    }
}

/// Drivers look for the first words of this text, and gocql reads the numbers at its end.
fn unsupported(first: u8) -> String {
    let shown = first & !RESPONSE;
    format!(
        "Invalid or unsupported protocol version ({shown}); supported versions are (4/v4, 5/v5); \
         the lowest supported version is {VERSION_MIN} and the greatest is {VERSION_MAX}"
    )
}

/// What goes before the message in an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix<'a> {
    pub(crate) warnings: &'a [String],
    pub(crate) payload: &'a [(&'a str, &'a [u8])],
}

impl Prefix<'_> {
    pub(crate) const NONE: Prefix<'static> = Prefix { warnings: &[], payload: &[] };

    fn flags(&self) -> u8 {
        let warnings = if self.warnings.is_empty() { 0 } else { flag::WARNINGS };
        warnings | if self.payload.is_empty() { 0 } else { flag::PAYLOAD }
    }

    fn put(&self, out: &mut Vec<u8>) {
        if !self.warnings.is_empty() {
            out.put_string_list(self.warnings.iter().map(String::as_str));
        }
        if !self.payload.is_empty() {
            out.put_u16(self.payload.len() as u16);
            for (key, value) in self.payload {
                out.put_string(key);
                out.put_bytes(Some(value));
            }
        }
    }
}

/// Appends an answer whose message `write` produces, and fills in its length.
pub(crate) fn put_envelope(
    out: &mut Vec<u8>,
    (version, stream, opcode): (u8, i16, u8),
    prefix: Prefix<'_>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[version | RESPONSE, prefix.flags()]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(&[opcode, 0, 0, 0, 0]);
    prefix.put(out);
    write(out);
    let body_len = (out.len() - start - HEADER_BYTES) as u32;
    out[start + 5..start + HEADER_BYTES].copy_from_slice(&body_len.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_version_is_refused_on_its_own_stream() {
        for version in [0x42, 0x06, 0x02, 0x7f, 0x85, 0x16] {
            let fatal = Header::peek(&[version, 0, 0, 7], None).expect_err("refused");
            assert_eq!(fatal.stream, 7);
            let text = fatal.error.to_string();
            assert!(text.starts_with("Invalid or unsupported protocol version"), "{text}");
            assert!(text.ends_with("the lowest supported version is 4 and the greatest is 5"), "{text}");
        }
    }

    #[test]
    fn version_may_not_change_within_a_connection() {
        let options = [4, 0, 0, 1, 5, 0, 0, 0, 0];
        assert!(Header::peek(&options, Some(4)).expect("same").is_some());
        assert!(Header::peek(&options, Some(5)).is_err());
    }

    #[test]
    fn flags_announce_what_precedes_the_message() {
        let mut out = Vec::new();
        let warnings = ["w".to_owned()];
        let prefix = Prefix { warnings: &warnings, payload: &[("k", b"v")] };
        put_envelope(&mut out, (5, 3, opcode::RESULT), prefix, |body| body.put_i32(1));
        let body = [0, 1, 0, 1, b'w', 0, 1, 0, 1, b'k', 0, 0, 0, 1, b'v', 0, 0, 0, 1];
        assert_eq!(out[..9], [0x85, 0x0c, 0, 3, 8, 0, 0, 0, body.len() as u8]);
        assert_eq!(out[9..], body);
    }
}
