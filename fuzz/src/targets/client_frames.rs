//! F1: the stream of a client. Cut at any borders it gives the same requests; what is held is bounded by what arrived.
//!
//! *Shape* of an input: a byte that says how the rest becomes the stream, then the rest. 0: as it is. 1: a version 5 greeting,
//! then as it is. 2: that greeting, then segments with valid checksums: two bytes of length, a byte whose lowest bit is the
//! self-contained flag, the payload.

use super::Dice;
use crate::{Outcome, Target, spent_by};
use cql_server::fuzzing::{Decoded, decode_stream, put_valid_segment};

/// See the module.
pub const TARGET: Target = Target { name: "client_frames", run, seeds, dictionary: DICTIONARY, input_max: 200_000 };

/// STARTUP { CQL_VERSION: 3.0.0 } of version 5.
const GREETING: &[u8] = b"\x05\0\0\x01\x01\0\0\0\x16\0\x01\0\x0bCQL_VERSION\0\x053.0.0";

const DICTIONARY: &[&[u8]] = &[
    b"\x04\0\0\x01\x05\0\0\0\0",
    b"\x05\0\0\x01\x05\0\0\0\0",
    b"\x04\0\0\x02\x07\0\0\0\x08\0\0\0\x01q\0\x01\0",
    b"\x04\x04\0\x02\x07",
    b"\0\x01\0\x05trace",
    b"CQL_VERSION",
    b"COMPRESSION",
    b"SCHEMA_CHANGE",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xfe",
    b"\xff\xff\xff\xfd",
    b"\x01\xff\xff",
    b"\0\xff\xff",
    b"\xed\xa0\x80",
];

fn stream_of(input: &[u8]) -> Vec<u8> {
    let mut dice = Dice::new(input);
    match dice.byte() % 3 {
        0 => dice.rest().to_vec(),
        1 => [GREETING, dice.rest()].concat(),
        _ => {
            let mut wire = GREETING.to_vec();
            while !dice.is_empty() {
                let (len, flags) = (dice.u16() << (dice.byte() % 3), dice.byte());
                dice = Dice::new(put_valid_segment(&mut wire, dice.rest(), len, flags & 1 == 1));
            }
            wire
        }
    }
}

fn run(input: &[u8]) -> Outcome {
    let wire = stream_of(input);
    let (whole, spent) = spent_by(|| decode_stream(&wire, &[]));
    // Every request is printed, values byte by byte, and a stream of empty segments is longer than it looks.
    assert!(spent.peak <= 4096 * wire.len() + (64 << 10), "{} bytes held for {} on the wire", spent.peak, wire.len());
    let seed = input.iter().fold(1usize, |hash, byte| hash.wrapping_mul(31).wrapping_add((*byte).into()));
    for portions in [&[1][..], &[1 + seed % 7, 1 + seed % 4099], &[9, 1 + seed % 70_000, 3]] {
        if portions == [1] && wire.len() > 4096 {
            continue;
        }
        let parts = decode_stream(&wire, portions);
        assert_eq!(parts.requests, whole.requests, "requests differ in portions of {portions:?}");
        assert_eq!(parts.fatal, whole.fatal, "the end differs in portions of {portions:?}");
        assert!(whole.fatal.is_some() || parts.buffered == whole.buffered, "held input differs");
        assert!(parts.buffered <= wire.len());
    }
    class_of(&whole)
}

fn class_of(decoded: &Decoded) -> Outcome {
    // The last request says most: its kind if it was understood, the beginning of the refusal if not.
    let last = decoded.requests.last().map_or("", String::as_str);
    let last = last.split_once(" } ").map_or(last, |(_, request)| request);
    let shown = if last.starts_with("Ok(") { last.split([' ', '{']).next().unwrap_or_default() } else { last };
    let (count, fatal) = (Outcome::letter(decoded.requests.len()), decoded.fatal.as_deref().unwrap_or("open"));
    Outcome::of(&format!("{count} {fatal:.70} {shown:.40}").replace('"', " "))
}

fn envelope(version: u8, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![version, 0, 0, 1, opcode];
    bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let startup = b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
    let query = b"\0\0\0\x08SELECT 1\0\x01\x25\0\x02\0\0\0\x01\x07\xff\xff\xff\xff\0\0\x13\x88\0\0\0\0\0\0\0\x09";
    let named = b"\0\0\0\x01q\0\x01\x41\0\x01\0\x01a\xff\xff\xff\xfe";
    let execute = b"\0\x10abcdefghijklmnop\0\x01\x03\0\x01\0\0\0\x04\0\0\0\x07";
    let execute_five = b"\0\x10abcdefghijklmnop\0\x02id\0\x01\0\0\0\x03\0\x01\0\0\0\x04\0\0\0\x07";
    let four: Vec<u8> = [
        envelope(4, 5, b""),
        envelope(4, 1, startup),
        envelope(4, 0x0b, b"\0\x02\0\x0dSCHEMA_CHANGE\0\x0dSTATUS_CHANGE"),
        envelope(4, 9, b"\0\0\0\x08SELECT 1"),
        envelope(4, 7, query),
        envelope(4, 7, named),
        envelope(4, 0x0a, execute),
        envelope(4, 0x0d, b"batch"),
        envelope(4, 0x0f, b"token"),
        envelope(4, 0x77, b""),
    ]
    .concat();
    let five = [envelope(5, 9, b"\0\0\0\x01q\0\0\0\x01\0\x01k"), envelope(5, 0x0a, execute_five)].concat();
    let segment = |payload: &[u8], shift: u8, flags: u8| {
        let mut bytes = ((payload.len() >> shift) as u16).to_be_bytes().to_vec();
        bytes.extend_from_slice(&[shift, flags]);
        bytes.extend_from_slice(payload);
        bytes
    };
    let large = envelope(5, 7, &[b"\0\x01\0\0".as_slice(), &[b'x'; 140_000], b"\0\x01\0\0\0\0"].concat());
    let parts: Vec<u8> = large.chunks(65_532).flat_map(|part| segment(part, (part.len() > 60_000).into(), 0)).collect();
    let mut wire = Vec::new();
    put_valid_segment(&mut wire, &five, five.len(), true);
    let too_large = b"\x04\0\0\x01\x07\x02\0\0\0".to_vec();
    vec![
        [&[0][..], &four].concat(),
        [&[0][..], &envelope(4, 1, startup), &too_large].concat(),
        b"\0\x42\0\0\x07\x05\0\0\0\0".to_vec(),
        b"\0\x04\0\0\x01\x01\x7f\xff\xff\xff".to_vec(),
        [&[1][..], &wire].concat(),
        [&[2][..], &segment(&five, 0, 1)].concat(),
        [&[2][..], &parts].concat(),
        [&[2][..], &segment(b"", 0, 1), &segment(&five, 0, 1), &segment(&large[..30], 0, 0)].concat(),
    ]
}
