//! Bytes off a socket, cut into answers: bare envelopes in v4 and in the v5 handshake, segments after it.

use crate::error::Error;
use crate::frame::{self, Envelope};
use crate::segment;

/// Room made for each read.
const READ_BYTES: usize = 64 << 10;

/// Receive buffer of a connection.
///
/// *Shape*: `raw` is what came off the socket, `envelopes` what came out of segments; both are read from their offset.
#[derive(Debug)]
pub(crate) struct Inbox {
    raw: Vec<u8>,
    raw_at: usize,
    envelopes: Vec<u8>,
    envelopes_at: usize,
    segmented: bool,
    body_max: usize,
}

impl Inbox {
    pub(crate) fn new(body_max: usize) -> Self {
        Self { raw: Vec::new(), raw_at: 0, envelopes: Vec::new(), envelopes_at: 0, segmented: false, body_max }
    }

    /// From here on the stream is segments.
    pub(crate) fn expect_segments(&mut self) {
        self.segmented = true;
    }

    /// Where the next read goes.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        compact(&mut self.raw, &mut self.raw_at);
        self.raw.reserve(READ_BYTES);
        &mut self.raw
    }

    /// The next whole answer; `None` until more bytes come.
    ///
    /// *Errors*: [`Error::Stream`]; the connection is of no more use.
    pub(crate) fn next(&mut self) -> Result<Option<Envelope>, Error> {
        if !self.segmented {
            return take(&self.raw, &mut self.raw_at, self.body_max);
        }
        loop {
            if let Some(envelope) = take(&self.envelopes, &mut self.envelopes_at, self.body_max)? {
                return Ok(Some(envelope));
            }
            if !self.unwrap_segment()? {
                return Ok(None);
            }
        }
    }

    fn unwrap_segment(&mut self) -> Result<bool, Error> {
        let Some(segment) = segment::cut(&self.raw[self.raw_at..])? else { return Ok(false) };
        compact(&mut self.envelopes, &mut self.envelopes_at);
        if segment.self_contained && !self.envelopes.is_empty() {
            let reason = "a self-contained segment came inside a split envelope".to_owned();
            return Err(Error::Stream { reason });
        }
        self.envelopes.extend_from_slice(segment.payload);
        self.raw_at += segment.used;
        Ok(true)
    }
}

fn take(buffer: &[u8], at: &mut usize, body_max: usize) -> Result<Option<Envelope>, Error> {
    let cut = frame::cut(&buffer[*at..], body_max)?;
    Ok(cut.map(|(envelope, used)| {
        *at += used;
        envelope
    }))
}

/// Drops what has been read.
fn compact(buffer: &mut Vec<u8>, at: &mut usize) {
    buffer.drain(..*at);
    *at = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(stream: u8, body_bytes: u32) -> Vec<u8> {
        let mut raw = vec![0x85, 0, 0, stream, 8];
        raw.extend_from_slice(&body_bytes.to_be_bytes());
        raw.resize(raw.len() + body_bytes as usize, stream);
        raw
    }

    fn drain(inbox: &mut Inbox) -> Vec<(i16, usize)> {
        let mut seen = Vec::new();
        while let Some(envelope) = inbox.next().expect("good stream") {
            seen.push((envelope.stream, envelope.body.len()));
        }
        seen
    }

    #[test]
    fn answers_come_out_whatever_the_read_sizes() {
        let envelopes = [answer(1, 5), answer(2, 300_000), answer(3, 0), answer(4, 7)].concat();
        let mut segments = Vec::new();
        segment::pack(&envelopes, &mut segments);
        for (bytes, segmented) in [(&envelopes, false), (&segments, true)] {
            for step in [7, 1000, bytes.len()] {
                let mut inbox = Inbox::new(1 << 20);
                if segmented {
                    inbox.expect_segments();
                }
                let mut seen = Vec::new();
                for part in bytes.chunks(step) {
                    inbox.buffer().extend_from_slice(part);
                    seen.extend(drain(&mut inbox));
                }
                assert_eq!(seen, [(1, 5), (2, 300_000), (3, 0), (4, 7)]);
            }
        }
    }

    #[test]
    fn an_envelope_over_the_limit_is_refused_inside_segments_too() {
        let mut segments = Vec::new();
        segment::pack(&answer(1, 300_000), &mut segments);
        let mut inbox = Inbox::new(1000);
        inbox.expect_segments();
        inbox.buffer().extend_from_slice(&segments);
        assert!(inbox.next().is_err());
    }
}
