//! The order of values of a type, which decides how sets and maps lie on the wire.

use super::value::parts;
use client::ColumnType;
use std::cmp::Ordering;

/// Compares two values of a type by its own order.
pub(crate) fn compare(kind: &ColumnType, left: &[u8], right: &[u8]) -> Ordering {
    let known = match kind {
        kind if is_integer(kind) => integer(left).zip(integer(right)).map(|(left, right)| left.cmp(&right)),
        ColumnType::Double => float64(left).zip(float64(right)).map(|(left, right)| left.total_cmp(&right)),
        ColumnType::Float => float32(left).zip(float32(right)).map(|(left, right)| left.total_cmp(&right)),
        ColumnType::Decimal => decimal(left).zip(decimal(right)).map(|(left, right)| compare_decimals(left, right)),
        ColumnType::Uuid | ColumnType::Timeuuid => Some(uuid_key(left).cmp(&uuid_key(right))),
        _ => compare_parts(kind, left, right),
    };
    known.unwrap_or_else(|| left.cmp(right))
}

/// Whether a value of the type is a two's complement number.
pub(crate) fn is_integer(kind: &ColumnType) -> bool {
    use ColumnType::{Bigint, Counter, Int, Smallint, Time, Timestamp, Tinyint, Varint};
    matches!(kind, Bigint | Counter | Int | Smallint | Tinyint | Varint | Timestamp | Time)
}

/// A two's complement number of at most 16 bytes.
pub(crate) fn integer(raw: &[u8]) -> Option<i128> {
    if raw.is_empty() || raw.len() > 16 {
        return None;
    }
    let fill = if raw[0] & 0x80 == 0 { 0 } else { 0xff };
    let mut wide = [fill; 16];
    wide[16 - raw.len()..].copy_from_slice(raw);
    Some(i128::from_be_bytes(wide))
}

/// Scale and unscaled number of a decimal.
pub(crate) fn decimal(raw: &[u8]) -> Option<(i32, i128)> {
    let (scale, unscaled) = raw.split_first_chunk::<4>()?;
    Some((i32::from_be_bytes(*scale), integer(unscaled)?))
}

fn compare_decimals(left: (i32, i128), right: (i32, i128)) -> Ordering {
    let shift = |(scale, unscaled): (i32, i128), to: i32| {
        10i128.checked_pow(to.abs_diff(scale)).and_then(|power| unscaled.checked_mul(power)).unwrap_or(unscaled)
    };
    let scale = left.0.max(right.0);
    shift(left, scale).cmp(&shift(right, scale))
}

/// What double bytes say.
pub(crate) fn float64(raw: &[u8]) -> Option<f64> {
    raw.try_into().ok().map(f64::from_be_bytes)
}

/// What float bytes say.
pub(crate) fn float32(raw: &[u8]) -> Option<f32> {
    raw.try_into().ok().map(f32::from_be_bytes)
}

/// Version, time for version 1, then the bytes.
fn uuid_key(raw: &[u8]) -> (u8, u64, &[u8]) {
    let Some(head) = raw.first_chunk::<8>() else { return (0, 0, raw) };
    let version = head[6] >> 4;
    let word = u64::from_be_bytes(*head);
    let time = (word & 0x0fff) << 48 | (word >> 16 & 0xffff) << 32 | word >> 32;
    (version, if version == 1 { time } else { 0 }, raw)
}

fn compare_parts(kind: &ColumnType, left: &[u8], right: &[u8]) -> Option<Ordering> {
    let (left, right) = (parts(kind, left)?, parts(kind, right)?);
    let pairs = left.iter().zip(&right).map(|((kind, left), (_, right))| match (left, right) {
        (Some(left), Some(right)) => compare(kind, left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    });
    Some(pairs.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_come_first() {
        assert_eq!(compare(&ColumnType::Int, &[255; 4], &[0; 4]), Ordering::Less);
        assert_eq!(compare(&ColumnType::Varint, &[0xff, 0x00], &[0x80]), Ordering::Less);
    }

    #[test]
    fn decimals_compare_by_what_they_are_worth() {
        let (one_and_a_half, one) = ([0, 0, 0, 1, 15], [0, 0, 0, 2, 100]);
        assert_eq!(compare(&ColumnType::Decimal, &one_and_a_half, &one), Ordering::Greater);
    }

    #[test]
    fn lists_compare_by_elements_before_length() {
        let kind = ColumnType::List(Box::new(ColumnType::Tinyint));
        let (short, long) = ([0, 0, 0, 1, 0, 0, 0, 1, 2], [0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 9]);
        assert_eq!(compare(&kind, &short, &long), Ordering::Greater);
    }
}
