//! Bytes of a socket to envelopes, and envelopes to bytes of a socket; bare at first, in segments after a version 5 handshake.

use crate::envelope::{Fatal, HEADER_BYTES, Header, Prefix, put_envelope};
use crate::segment::{SEGMENT_HEADER_BYTES, SEGMENT_TRAILER_BYTES, Segment, put_envelopes};

/// An envelope above the limit is still read past, up to this size; beyond it the connection is closed.
const SKIPPED_MAX: usize = 256 << 20;
/// Buffers that grew above this are given back once they are empty.
const KEPT_CAPACITY: usize = 64 << 10;

/// What was cut off the input.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Cut<'a> {
    /// A whole request.
    Envelope(Header, &'a [u8]),
    /// A request above the limit; its body is dropped as it arrives.
    TooLarge(Header),
}

/// The receiving half: takes bytes in any portions, gives envelopes.
#[derive(Debug)]
pub(crate) struct Input {
    raw: Vec<u8>,
    /// Bytes of `raw` already consumed.
    start: usize,
    segmented: bool,
    /// Payload of the current self-contained segment not yet cut; its trailer follows.
    segment_left: usize,
    /// Parts of an envelope larger than one segment.
    assembly: Vec<u8>,
    assembly_done: bool,
    /// Bytes of a too large envelope still to be dropped.
    skip: usize,
    envelope_max: usize,
    skipped_max: usize,
    /// The version of the first message, which all others must have.
    version: Option<u8>,
}

impl Input {
    /// Before the handshake: nothing above `envelope_max` is even read past.
    pub(crate) fn new(envelope_max: usize) -> Self {
        Self {
            raw: Vec::new(),
            start: 0,
            segmented: false,
            segment_left: 0,
            assembly: Vec::new(),
            assembly_done: false,
            skip: 0,
            envelope_max,
            skipped_max: 0,
            version: None,
        }
    }

    /// After the handshake: larger requests, and segments from the next byte on if `segmented`.
    pub(crate) fn open(&mut self, envelope_max: usize, segmented: bool) {
        (self.envelope_max, self.skipped_max, self.segmented) = (envelope_max, SKIPPED_MAX, segmented);
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start == self.raw.len() {
            self.raw.clear();
            self.raw.shrink_to(KEPT_CAPACITY);
            self.start = 0;
        } else if self.start > self.raw.len() / 2 {
            self.raw.drain(..self.start);
            self.start = 0;
        }
        self.raw.extend_from_slice(bytes);
    }

    /// *Units*: bytes received and not yet given out.
    pub(crate) fn buffered(&self) -> usize {
        let parts = if self.assembly_done { 0 } else { self.assembly.len() };
        self.raw.len() - self.start + parts
    }

    /// Whether a request has begun to arrive and is not all here.
    pub(crate) fn is_within_request(&self) -> bool {
        self.buffered() > 0 || self.skip > 0
    }

    /// The next request; `None` if more bytes are needed.
    pub(crate) fn next(&mut self) -> Result<Option<Cut<'_>>, Fatal> {
        if self.segmented { self.next_in_segments() } else { self.next_bare() }
    }

    fn check(&mut self, header: Header) -> Result<bool, Fatal> {
        self.version = Some(header.version);
        if header.stream < 0 {
            return Err(Fatal::new(header.stream, "negative stream ids belong to the server: use 0 to 32767"));
        }
        if header.body_len <= self.envelope_max {
            return Ok(true);
        }
        if header.body_len > self.skipped_max {
            let (len, max) = (header.body_len, self.envelope_max);
            return Err(Fatal::new(header.stream, format!("message of {len} bytes; the limit here is {max} bytes")));
        }
        Ok(false)
    }

    fn next_bare(&mut self) -> Result<Option<Cut<'_>>, Fatal> {
        let dropped = self.skip.min(self.raw.len() - self.start);
        self.start += dropped;
        self.skip -= dropped;
        let Some(header) = Header::peek(&self.raw[self.start..], self.version)? else { return Ok(None) };
        if !self.check(header)? {
            self.start += HEADER_BYTES;
            self.skip = header.body_len;
            return Ok(Some(Cut::TooLarge(header)));
        }
        if self.raw.len() - self.start < header.envelope_len() {
            return Ok(None);
        }
        let body = self.start + HEADER_BYTES;
        self.start += header.envelope_len();
        Ok(Some(Cut::Envelope(header, &self.raw[body..self.start])))
    }

    fn next_in_segments(&mut self) -> Result<Option<Cut<'_>>, Fatal> {
        if self.assembly_done {
            self.assembly.clear();
            self.assembly.shrink_to(KEPT_CAPACITY);
            self.assembly_done = false;
        }
        while self.segment_left == 0 {
            let peeked = Segment::peek(&self.raw[self.start..]).map_err(|error| Fatal { stream: 0, error })?;
            let Some(segment) = peeked else { return Ok(None) };
            if !segment.self_contained {
                if let Some(header) = self.take_part(segment)? {
                    return Ok(Some(if self.assembly_done {
                        Cut::Envelope(header, &self.assembly[HEADER_BYTES..])
                    } else {
                        Cut::TooLarge(header)
                    }));
                }
                continue;
            }
            if self.skip > 0 || !self.assembly.is_empty() {
                return Err(Fatal::new(0, "self-contained segment amid the parts of an envelope"));
            }
            self.start += SEGMENT_HEADER_BYTES;
            self.segment_left = segment.payload_len;
            if segment.payload_len == 0 {
                self.start += SEGMENT_TRAILER_BYTES;
            }
        }
        self.cut_from_segment().map(Some)
    }

    fn cut_from_segment(&mut self) -> Result<Cut<'_>, Fatal> {
        let payload = &self.raw[self.start..self.start + self.segment_left];
        let header = Header::peek(payload, self.version)?;
        let header = header.filter(|header| header.envelope_len() <= payload.len());
        let header = header.ok_or_else(|| Fatal::new(0, "self-contained segment ends within an envelope"))?;
        let fits = self.check(header)?;
        let body = self.start + HEADER_BYTES;
        self.start += header.envelope_len();
        let end = self.start;
        self.segment_left -= header.envelope_len();
        if self.segment_left == 0 {
            self.start += SEGMENT_TRAILER_BYTES;
        }
        Ok(if fits { Cut::Envelope(header, &self.raw[body..end]) } else { Cut::TooLarge(header) })
    }

    /// Takes one part; a header means that the envelope is complete (`assembly_done`) or too large.
    fn take_part(&mut self, segment: Segment) -> Result<Option<Header>, Fatal> {
        let overrun = || Fatal::new(0, "segment holds more than the rest of its envelope");
        let payload = self.start + SEGMENT_HEADER_BYTES;
        let part = payload..payload + segment.payload_len;
        self.start += segment.len();
        if self.skip > 0 {
            self.skip = self.skip.checked_sub(segment.payload_len).ok_or_else(overrun)?;
            return Ok(None);
        }
        self.assembly.extend_from_slice(&self.raw[part]);
        let Some(header) = Header::peek(&self.assembly, self.version)? else { return Ok(None) };
        let left = header.envelope_len().checked_sub(self.assembly.len()).ok_or_else(overrun)?;
        if !self.check(header)? {
            self.skip = left;
            self.assembly.clear();
            return Ok(Some(header));
        }
        self.assembly_done = left == 0;
        Ok(self.assembly_done.then_some(header))
    }
}

/// The sending half: answers gather here and leave in one write.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Bytes for the socket, from `sent` on.
    ready: Vec<u8>,
    sent: usize,
    /// Envelopes still to be put into segments.
    open: Vec<u8>,
    segmented: bool,
}

impl Output {
    /// Appends one answer.
    pub(crate) fn put(&mut self, head: (u8, i16, u8), prefix: Prefix<'_>, write: impl FnOnce(&mut Vec<u8>)) {
        put_envelope(if self.segmented { &mut self.open } else { &mut self.ready }, head, prefix, write);
    }

    /// Everything put from now on travels in segments.
    pub(crate) fn use_segments(&mut self) {
        self.segmented = true;
    }

    /// Bytes not yet handed to the socket.
    pub(crate) fn pending(&self) -> usize {
        self.ready.len() - self.sent + self.open.len()
    }

    /// What the socket should take next.
    pub(crate) fn chunk(&mut self) -> &[u8] {
        if !self.open.is_empty() {
            put_envelopes(&mut self.ready, &self.open);
            self.open.clear();
            self.open.shrink_to(KEPT_CAPACITY);
        }
        &self.ready[self.sent..]
    }

    /// The socket took `len` bytes of the chunk.
    pub(crate) fn advance(&mut self, len: usize) {
        self.sent += len;
        if self.sent == self.ready.len() {
            self.ready.clear();
            self.ready.shrink_to(KEPT_CAPACITY);
            self.sent = 0;
        } else if self.sent > KEPT_CAPACITY {
            self.ready.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::opcode;
    use proptest::prelude::*;

    fn request(version: u8, stream: i16, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![version, 0];
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.push(opcode::QUERY);
        bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    /// Stream id and body of a request; no body if it was too large.
    type Found = (i16, Option<Vec<u8>>);

    /// All requests cut from `wire`, fed in portions of the given sizes, over and over.
    fn feed(input: &mut Input, mut wire: &[u8], portions: &[usize]) -> Result<Vec<Found>, Fatal> {
        let mut found = Vec::new();
        for portion in portions.iter().cycle() {
            let (head, tail) = wire.split_at((*portion).clamp(1, wire.len()));
            input.push(head);
            wire = tail;
            while let Some(cut) = input.next()? {
                found.push(match cut {
                    Cut::Envelope(header, body) => (header.stream, Some(body.to_vec())),
                    Cut::TooLarge(header) => (header.stream, None),
                });
            }
            if wire.is_empty() {
                return Ok(found);
            }
        }
        Ok(found)
    }

    fn wire_of(version: u8, bodies: &[Vec<u8>]) -> Vec<u8> {
        let bare: Vec<u8> = bodies.iter().enumerate().flat_map(|(i, body)| request(version, i as i16, body)).collect();
        if version == 4 {
            return bare;
        }
        let mut wire = Vec::new();
        put_envelopes(&mut wire, &bare);
        wire
    }

    fn opened(version: u8, envelope_max: usize) -> Input {
        let mut input = Input::new(64);
        input.open(envelope_max, version >= 5);
        input
    }

    proptest! {
        #[test]
        fn any_portions_give_the_same_requests(
            version in 4u8..=5,
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..400), 1..12),
            portions in proptest::collection::vec(1usize..300, 1..8),
        ) {
            let found = feed(&mut opened(version, 1 << 20), &wire_of(version, &bodies), &portions).expect("valid");
            let expected: Vec<_> = bodies.into_iter().enumerate().map(|(i, body)| (i as i16, Some(body))).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn garbage_never_panics(version in 4u8..=5, wire in proptest::collection::vec(any::<u8>(), 1..600), by in 1usize..50) {
            let _ = feed(&mut opened(version, 100), &wire, &[by]);
            let mut led = vec![version, 0, 0, 1, 7];
            led.extend_from_slice(&wire);
            let _ = feed(&mut opened(4, 100), &led, &[by]);
        }
    }

    #[test]
    fn large_request_in_parts_of_one_byte_arrives_whole() {
        let bodies = [vec![1; 10], vec![9; 300_000], vec![2; 10]];
        for version in [4, 5] {
            let found = feed(&mut opened(version, 1 << 20), &wire_of(version, &bodies), &[1]).expect("valid");
            assert_eq!(found.len(), 3);
            assert_eq!(found[1].1.as_ref().map(Vec::len), Some(300_000));
        }
    }

    #[test]
    fn too_large_request_is_named_and_skipped() {
        let bodies = [vec![1; 10], vec![9; 300_000], vec![2; 10]];
        for version in [4, 5] {
            let found = feed(&mut opened(version, 1000), &wire_of(version, &bodies), &[70_000]).expect("skipped");
            assert_eq!(found.iter().map(|f| f.1.is_some()).collect::<Vec<_>>(), [true, false, true]);
        }
    }

    #[test]
    fn length_above_the_limit_before_the_handshake_is_fatal() {
        let mut input = Input::new(64 << 10);
        let fatal = feed(&mut input, &[4, 0, 0, 1, 1, 0x7f, 0xff, 0xff, 0xff], &[9]).expect_err("fatal");
        assert_eq!(fatal.stream, 1);
    }

    #[test]
    fn segments_may_not_interleave_with_the_parts_of_an_envelope() {
        let mut wire = wire_of(5, &[vec![9; 300_000]]);
        wire.truncate(wire.len() - (300_009 - 2 * 131_071) - 10);
        wire.extend(wire_of(5, &[vec![1; 3]]));
        assert!(feed(&mut opened(5, 1 << 20), &wire, &[50_000]).is_err());
    }

    #[test]
    fn answers_leave_bare_until_segments_are_used() {
        let mut output = Output::default();
        output.put((5, 0, opcode::READY), Prefix::NONE, |_| {});
        output.use_segments();
        output.put((5, 1, opcode::RESULT), Prefix::NONE, |body| body.push(1));
        output.put((5, 2, opcode::RESULT), Prefix::NONE, |body| body.push(2));
        let chunk = output.chunk().to_vec();
        assert_eq!(chunk[..9], [0x85, 0, 0, 0, 2, 0, 0, 0, 0]);
        let segment = Segment::peek(&chunk[9..]).expect("valid").expect("whole");
        assert_eq!((segment.payload_len, segment.len()), (20, chunk.len() - 9));
        output.advance(10);
        assert_eq!(output.chunk(), &chunk[10..]);
        output.advance(chunk.len() - 10);
        assert_eq!(output.pending(), 0);
    }
}
