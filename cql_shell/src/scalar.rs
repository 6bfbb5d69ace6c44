//! A value that has no parts, read from its bytes.

use std::net::IpAddr;

use client::ColumnType;

use crate::{calendar, number, parts};

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    /// Text, to be quoted where literals are.
    Text(&'a str),
    /// A number's digits.
    Number(String),
    Boolean(bool),
    /// `NaN`, `Infinity` or `-Infinity`.
    NotFinite(&'static str),
    /// Quoted in a literal: dates, times, addresses.
    Quoted(String),
    /// Not quoted in a literal: blobs, UUIDs, durations.
    Bare(String),
}

/// Reads a value of a type without parts; `None` if the bytes are no such value or the type has parts.
pub(crate) fn read<'a>(kind: &ColumnType, raw: &'a [u8]) -> Option<Scalar<'a>> {
    use ColumnType as Type;
    Some(match kind {
        Type::Text | Type::Ascii => Scalar::Text(std::str::from_utf8(raw).ok()?),
        Type::Bigint | Type::Counter => Scalar::Number(i64::from_be_bytes(fixed(raw)?).to_string()),
        Type::Int => Scalar::Number(i32::from_be_bytes(fixed(raw)?).to_string()),
        Type::Smallint => Scalar::Number(i16::from_be_bytes(fixed(raw)?).to_string()),
        Type::Tinyint => Scalar::Number(i8::from_be_bytes(fixed(raw)?).to_string()),
        Type::Varint => Scalar::Number(number::varint(raw)?),
        Type::Decimal => Scalar::Number(number::decimal(raw)?),
        Type::Double => {
            let value = f64::from_be_bytes(fixed(raw)?);
            float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), || format!("{value:?}"))
        }
        Type::Float => {
            let value = f32::from_be_bytes(fixed(raw)?);
            float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), || format!("{value:?}"))
        }
        Type::Boolean => Scalar::Boolean(fixed::<1>(raw)?[0] != 0),
        Type::Timestamp => Scalar::Quoted(calendar::timestamp(i64::from_be_bytes(fixed(raw)?))),
        // day 0 is 2^31 days before 1970
        Type::Date => Scalar::Quoted(calendar::date(i64::from(u32::from_be_bytes(fixed(raw)?)) - (1 << 31))),
        Type::Time => Scalar::Quoted(calendar::time(i64::from_be_bytes(fixed(raw)?))?),
        Type::Inet => Scalar::Quoted(address(raw)?.to_string()),
        Type::Uuid | Type::Timeuuid => Scalar::Bare(uuid(fixed(raw)?)),
        Type::Duration => {
            let (months, days, nanoseconds) = parts::duration(raw)?;
            Scalar::Bare(calendar::duration(months, days, nanoseconds))
        }
        Type::Blob | Type::Custom(_) => Scalar::Bare(blob(raw)),
        _ => return None,
    })
}

/// `0x` and hexadecimal digits.
pub(crate) fn blob(raw: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('?');
    let digits = raw.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    "0x".chars().chain(digits).collect()
}

fn fixed<const N: usize>(raw: &[u8]) -> Option<[u8; N]> {
    raw.try_into().ok()
}

fn float(is_nan: bool, is_infinite: bool, is_negative: bool, text: impl Fn() -> String) -> Scalar<'static> {
    match (is_nan, is_infinite, is_negative) {
        (true, ..) => Scalar::NotFinite("NaN"),
        (_, true, false) => Scalar::NotFinite("Infinity"),
        (_, true, true) => Scalar::NotFinite("-Infinity"),
        _ => Scalar::Number(text()),
    }
}

fn address(raw: &[u8]) -> Option<IpAddr> {
    fixed::<4>(raw).map(IpAddr::from).or_else(|| fixed::<16>(raw).map(IpAddr::from))
}

fn uuid(raw: [u8; 16]) -> String {
    let number = u128::from_be_bytes(raw);
    let group = |shift: u32, width: u32| number >> shift & ((1 << (width * 4)) - 1);
    let (a, b, c, d, e) = (group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12));
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ColumnType as Type;

    #[test]
    fn every_scalar_type_is_read() {
        let bare = |text: &str| Some(Scalar::Bare(text.to_owned()));
        let quoted = |text: &str| Some(Scalar::Quoted(text.to_owned()));
        let number = |text: &str| Some(Scalar::Number(text.to_owned()));
        assert_eq!(read(&Type::Text, "é".as_bytes()), Some(Scalar::Text("é")));
        assert_eq!(read(&Type::Bigint, &[255; 8]), number("-1"));
        assert_eq!(read(&Type::Counter, &5i64.to_be_bytes()), number("5"));
        assert_eq!(read(&Type::Int, &[0, 0, 1, 0]), number("256"));
        assert_eq!(read(&Type::Smallint, &[1, 0]), number("256"));
        assert_eq!(read(&Type::Tinyint, &[255]), number("-1"));
        assert_eq!(read(&Type::Varint, &[1, 0]), number("256"));
        assert_eq!(read(&Type::Decimal, &[0, 0, 0, 1, 15]), number("1.5"));
        assert_eq!(read(&Type::Double, &1.5f64.to_be_bytes()), number("1.5"));
        assert_eq!(read(&Type::Double, &1e300f64.to_be_bytes()), number("1e300"));
        assert_eq!(read(&Type::Float, &0.1f32.to_be_bytes()), number("0.1"));
        assert_eq!(read(&Type::Float, &f32::NAN.to_be_bytes()), Some(Scalar::NotFinite("NaN")));
        assert_eq!(read(&Type::Double, &f64::NEG_INFINITY.to_be_bytes()), Some(Scalar::NotFinite("-Infinity")));
        assert_eq!(read(&Type::Boolean, &[1]), Some(Scalar::Boolean(true)));
        assert_eq!(read(&Type::Timestamp, &[0; 8]), quoted("1970-01-01 00:00:00.000+0000"));
        assert_eq!(read(&Type::Date, &[0x80, 0, 0, 0]), quoted("1970-01-01"));
        assert_eq!(read(&Type::Time, &[0; 8]), quoted("00:00:00.000000000"));
        assert_eq!(read(&Type::Inet, &[127, 0, 0, 1]), quoted("127.0.0.1"));
        assert_eq!(read(&Type::Inet, &[0; 16]), quoted("::"));
        let digits: [u8; 16] = std::array::from_fn(|at| at as u8 * 0x11);
        assert_eq!(read(&Type::Timeuuid, &digits), bare("00112233-4455-6677-8899-aabbccddeeff"));
        assert_eq!(read(&Type::Duration, &[2, 4, 6]), bare("1mo2d3ns"));
        assert_eq!(read(&Type::Blob, &[0xab, 1]), bare("0xab01"));
        assert_eq!(read(&Type::Custom("x".to_owned()), &[]), bare("0x"));
    }

    #[test]
    fn bytes_of_another_length_are_no_value() {
        for kind in [Type::Int, Type::Bigint, Type::Boolean, Type::Uuid, Type::Inet, Type::Date, Type::Double] {
            assert_eq!(read(&kind, &[1, 2, 3]), None, "{kind:?}");
        }
        assert_eq!(read(&Type::Text, &[0xff]), None);
        assert_eq!(read(&Type::Time, &[255; 8]), None);
    }
}
