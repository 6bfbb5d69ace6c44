//! The decoders of the port as plain calls, for the fuzz targets; no part of the interface.

use crate::codec::{Cut, Input};
use crate::config::PortConfig;
use crate::request::Request;
use crate::segment::{PAYLOAD_MAX, put_segment};

/// What a stream of bytes from a client came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// One line per request: its header, and the request or its error.
    pub requests: Vec<String>,
    /// Why the stream cannot be read any further, if it cannot.
    pub fatal: Option<String>,
    /// *Units*: bytes received and neither given out nor dropped.
    pub buffered: usize,
}

/// Decodes `wire` as the port does, `STARTUP` included, in portions of the given sizes, repeated; in one if there are none.
pub fn decode_stream(wire: &[u8], portions: &[usize]) -> Decoded {
    let config = PortConfig::default();
    let mut input = Input::new(config.greeting_max_bytes);
    let mut decoded = Decoded { requests: Vec::new(), fatal: None, buffered: 0 };
    let mut sizes = portions.iter().copied().chain(portions.is_empty().then_some(wire.len())).cycle();
    let mut rest = wire;
    while !rest.is_empty() && decoded.fatal.is_none() {
        let (portion, later) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
        rest = later;
        input.push(portion);
        take_requests(&mut input, config.envelope_max_bytes, &mut decoded);
    }
    decoded.buffered = input.buffered();
    decoded
}

fn take_requests(input: &mut Input, envelope_max: usize, decoded: &mut Decoded) {
    loop {
        let opens = match input.next() {
            Ok(None) => return,
            Ok(Some(Cut::Envelope(header, body))) => {
                let request = Request::decode(&header, body).map(|(request, _)| request);
                decoded.requests.push(format!("{header:?} {request:?}"));
                matches!(request, Ok(Request::Startup(_))).then_some(header.version)
            }
            Ok(Some(Cut::TooLarge(header))) => {
                decoded.requests.push(format!("{header:?} is too large"));
                None
            }
            Err(fatal) => {
                decoded.fatal = Some(format!("{fatal:?}"));
                return;
            }
        };
        if let Some(version) = opens {
            input.open(envelope_max, version >= 5);
        }
    }
}

/// Appends a segment of protocol version 5 with valid checksums around the beginning of `payload`; returns the rest.
pub fn put_valid_segment<'p>(wire: &mut Vec<u8>, payload: &'p [u8], len: usize, self_contained: bool) -> &'p [u8] {
    let (part, rest) = payload.split_at(len.min(payload.len()).min(PAYLOAD_MAX));
    put_segment(wire, part, self_contained);
    rest
}
